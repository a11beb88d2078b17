// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <gtest/gtest.h>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

using namespace onesea;

namespace {

struct entry {
    int value;
    const char *name, *text;
};

constexpr entry all[] = {
#define ENTRY(name, value, text) {name, #name, text},
    SEA_STATUS_MAP(ENTRY)
#undef ENTRY
};

} // namespace

TEST(error, every_status_has_its_own_number_name_and_meaning)
{
    std::set<int> values;
    std::set<std::string> texts;
    for (const auto &e : all) {
        EXPECT_TRUE(values.insert(e.value).second) << e.name;
        EXPECT_TRUE(texts.insert(e.text).second) << e.name;
        EXPECT_STREQ(sea_status_name(e.value), e.name);
        EXPECT_STREQ(sea_strerror(e.value), e.text);
    }
    EXPECT_EQ(SEA_OK, 0);
}

TEST(error, every_status_but_success_is_negative)
{
    for (const auto &e : all) EXPECT_TRUE(e.value < 0 || e.value == SEA_OK) << e.name;
}

TEST(error, numbers_that_are_no_status_are_survived)
{
    for (int unknown : {1, 42, -7, -1000, 2147483647, -2147483647 - 1}) {
        EXPECT_STREQ(sea_status_name(unknown), "SEA_ERR_UNKNOWN");
        EXPECT_STREQ(sea_strerror(unknown), "unknown status");
    }
}

// Arguments of a call are evaluated in any order.
TEST(error, the_text_before_the_last_one_stays)
{
    fail(SEA_ERR_RANK, "the first text, which is longer than a string keeps in itself");
    const char *first = sea_last_error();
    fail(SEA_ERR_RANK, "the second text, which is longer than that, too");
    EXPECT_STREQ(first, "the first text, which is longer than a string keeps in itself");
    EXPECT_STREQ(sea_last_error(), "the second text, which is longer than that, too");
}

TEST(error, fail_returns_the_status_and_keeps_the_text)
{
    EXPECT_EQ(fail(SEA_ERR_RANK, "there is no rank {}; the job has {}", 9, 4), SEA_ERR_RANK);
    EXPECT_STREQ(sea_last_error(), "there is no rank 9; the job has 4");
    EXPECT_EQ(set_error(SEA_ERR_MEMORY, "nothing left"), SEA_ERR_MEMORY);
    EXPECT_STREQ(sea_last_error(), "nothing left");
}

TEST(error, guarded_gives_what_the_body_returns)
{
    EXPECT_EQ(guarded("sea_call", [] { return int(SEA_OK); }), SEA_OK);
    EXPECT_EQ(guarded("sea_call", [] { return fail(SEA_ERR_RANK, "of the body"); }), SEA_ERR_RANK);
    EXPECT_STREQ(sea_last_error(), "of the body");
}

TEST(error, guarded_lets_no_exception_out_and_names_the_call)
{
    EXPECT_EQ(guarded("sea_call", []() -> int { throw std::bad_alloc(); }), SEA_ERR_MEMORY);
    EXPECT_STREQ(sea_last_error(), "sea_call: this process has no memory for the call");
    EXPECT_EQ(guarded("sea_call", []() -> int { throw std::length_error("too long"); }), SEA_ERR_MEMORY);
    EXPECT_STREQ(sea_last_error(), "sea_call: too long");
}

// A process that exits destroys what is thread_local before it calls the functions of atexit(), which may call us.
TEST(error, texts_are_kept_also_while_a_thread_ends)
{
    struct at_the_end {
        std::string *seen = nullptr;
        ~at_the_end()
        {
            for (const char *which : {"first", "second"}) {
                fail(SEA_ERR_RANK, "the {} text that is too long to lie inside a string", which);
                *seen += sea_last_error();
            }
        }
    };
    std::string seen;
    std::thread([&seen] {
        static thread_local at_the_end end; // before the text, so it is destroyed after it
        end.seen = &seen;
        fail(SEA_ERR_STATE, "an earlier text that is too long to lie inside a string");
    }).join();
    EXPECT_EQ(seen, "the first text that is too long to lie inside a string"
                    "the second text that is too long to lie inside a string");
}

TEST(error, each_thread_has_its_own_text)
{
    fail(SEA_ERR_INVALID, "of the first");
    std::thread([] {
        EXPECT_STREQ(sea_last_error(), "");
        fail(SEA_ERR_INVALID, "of the second");
        EXPECT_STREQ(sea_last_error(), "of the second");
    }).join();
    EXPECT_STREQ(sea_last_error(), "of the first");
}
