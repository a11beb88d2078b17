// SPDX-License-Identifier: Apache-2.0
#include "core/start_rate.hpp"

#include <gtest/gtest.h>

using namespace onesea;
using onesea::core::start_rate;

// Looks at a program for ten milliseconds that starts an operation every `apart`; the dispatcher looks every `looks`.
static unsigned high_looks(nanoseconds apart, nanoseconds looks)
{
    start_rate rate;
    unsigned high = 0;
    for (nanoseconds now = looks; now < 10'000'000; now += looks) high += rate.is_high(now / apart, now);
    return high;
}

TEST(start_rate, is_high_when_more_than_one_operation_comes_in_a_gap)
{
    for (const nanoseconds looks : {start_rate::gap / 4, start_rate::gap, 10 * start_rate::gap}) {
        EXPECT_EQ(high_looks(start_rate::gap * 3 / 2, looks), 0u) << looks;
        EXPECT_GT(high_looks(start_rate::gap / 3, looks), 0u) << looks;
    }
}

TEST(start_rate, allows_some_at_once_after_a_rest)
{
    start_rate rate;
    std::uint64_t started = 0;
    for (nanoseconds now = 1'000'000; now < 20'000'000; now += start_rate::burst * start_rate::gap)
        EXPECT_FALSE(rate.is_high(started += start_rate::burst, now)) << now;
    EXPECT_TRUE(rate.is_high(started + start_rate::burst, 20'000'000));
}

TEST(start_rate, tells_whether_there_were_any)
{
    start_rate rate;
    EXPECT_FALSE(rate.is_high(3, 1'000'000));
    EXPECT_TRUE(rate.any());
    EXPECT_FALSE(rate.is_high(3, 1'000'001));
    EXPECT_FALSE(rate.any());
}
