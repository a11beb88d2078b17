// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <gtest/gtest.h>
#include <thread>

TEST(clock, counts_nanoseconds_and_never_backwards)
{
    auto before = onesea::now_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    auto after = onesea::now_ns();
    EXPECT_GE(after - before, 2'000'000u);
    for (int i = 0; i < 10'000; ++i) {
        auto next = onesea::now_ns();
        ASSERT_GE(next, after);
        after = next;
    }
}

TEST(clock, a_time_below_zero_has_passed_unless_it_is_for_ever)
{
    using onesea::deadline_after;
    EXPECT_EQ(deadline_after(-1.0, 50), onesea::never);
    for (const double passed : {0.0, -0.0, -1e-9, -0.999, -1.001, -5.0, -1e300})
        EXPECT_EQ(deadline_after(passed, 50), 50u);
    EXPECT_EQ(deadline_after(2e-9, 50), 52u);
    EXPECT_EQ(deadline_after(3600, 50), 3'600'000'000'050u);
    EXPECT_EQ(deadline_after(1e300, 50), onesea::never);
}
