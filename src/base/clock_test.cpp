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
