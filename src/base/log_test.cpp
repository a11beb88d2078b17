// SPDX-License-Identifier: Apache-2.0
// The level is read once per process, so every case that needs one runs in a child of its own (death tests).
#include "base/log.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace onesea;

namespace {

[[noreturn]] void all_levels_with(const char *wanted)
{
    if (wanted)
        setenv("ONESEA_LOG", wanted, 1);
    else
        unsetenv("ONESEA_LOG");
    log(level::error, "first {}", 1);
    log(level::warn, "second {}", 2);
    log(level::info, "third {}", 3);
    log(level::debug, "fourth {}", 4);
    log(level::trace, "fifth {}", 5);
    std::_Exit(0);
}

class log_death_test : public testing::Test {
  protected:
    void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

} // namespace

TEST_F(log_death_test, shows_warnings_and_errors_unless_told_otherwise)
{
    EXPECT_EXIT(all_levels_with(nullptr), testing::ExitedWithCode(0),
                "^onesea error: first 1\nonesea warn: second 2\n$");
}

TEST_F(log_death_test, shows_what_the_level_asks_for)
{
    EXPECT_EXIT(all_levels_with("error"), testing::ExitedWithCode(0), "^onesea error: first 1\n$");
    EXPECT_EXIT(all_levels_with("debug"), testing::ExitedWithCode(0),
                "first 1\n.*second 2\n.*info: third 3\n.*debug: fourth 4\n$");
    EXPECT_EXIT(all_levels_with("trace"), testing::ExitedWithCode(0), "trace: fifth 5\n$");
}

TEST_F(log_death_test, reports_a_level_that_does_not_exist_and_uses_the_default)
{
    EXPECT_EXIT(all_levels_with("loud"), testing::ExitedWithCode(0),
                "^onesea warn: ONESEA_LOG is 'loud'; use error, warn, info, debug or trace\n"
                "onesea error: first 1\nonesea warn: second 2\n$");
}

TEST_F(log_death_test, names_the_rank_that_speaks)
{
    auto speak = [] {
        set_log_rank(3);
        log_line(level::error, "with a rank");
        set_log_rank(-1);
        log_line(level::error, "without");
        std::_Exit(0);
    };
    EXPECT_EXIT(speak(), testing::ExitedWithCode(0), "^onesea\\[3\\] error: with a rank\nonesea error: without\n$");
}
