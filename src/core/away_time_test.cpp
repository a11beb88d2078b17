// SPDX-License-Identifier: Apache-2.0
#include "core/away_time.hpp"

#include <gtest/gtest.h>

namespace {

using onesea::nanoseconds, onesea::core::away_time;

TEST(away_time, begins_short_and_grows_with_the_time_for_which_calls_have_been_coming)
{
    away_time away;
    nanoseconds now = 7'000'000'000, begin = now;
    nanoseconds before = away.next(now);
    EXPECT_EQ(before, away_time::shortest);
    while (before < away_time::longest) {
        now += before;
        const nanoseconds next = away.next(now);
        ASSERT_GE(next, before);
        ASSERT_TRUE(next == away_time::shortest || next <= (now - begin) / away_time::share);
        ASSERT_LT(now - begin, 100 * away_time::longest) << "it never becomes long";
        before = next;
    }
    EXPECT_EQ(away.next(now + 1'000'000'000), away_time::longest);
}

TEST(away_time, is_short_again_when_calls_stayed_out)
{
    away_time away;
    away.next(1'000'000'000);
    ASSERT_EQ(away.next(2'000'000'000), away_time::longest);
    away.reset();
    EXPECT_EQ(away.next(2'001'000'000), away_time::shortest);
}

} // namespace
