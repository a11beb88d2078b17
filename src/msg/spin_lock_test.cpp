// SPDX-License-Identifier: Apache-2.0
#include "msg/spin_lock.hpp"

#include "two_priorities.hpp"

#include <gtest/gtest.h>

using onesea::msg::spin_lock;
using proof::two_priorities;

TEST(SpinLockTest, is_handed_to_a_thread_of_higher_real_time_priority_on_the_same_processor)
{
    spin_lock lock;
    const auto o = two_priorities().hand_over(lock);
    if (o == two_priorities::outcome::not_allowed) GTEST_SKIP() << "this user may not run anything in real time";
    EXPECT_EQ(o, two_priorities::outcome::passed);
}
