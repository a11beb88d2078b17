// SPDX-License-Identifier: Apache-2.0
#include "../src/short_lock.hpp"

#include "two_priorities.hpp"

#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

using mmp::short_lock;
using proof::two_priorities;

TEST(mmp_short_lock, lets_one_of_many_threads_in_at_a_time)
{
    constexpr int threads = 5, times = 20000;
    short_lock lock;
    int sum = 0;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
            for (int i = 0; i < times; ++i) {
                const std::lock_guard guard(lock);
                sum = sum + 1;
            }
        });
    for (std::thread &t : all) t.join();
    EXPECT_EQ(sum, threads * times);
}

TEST(mmp_short_lock, is_handed_to_a_thread_of_higher_real_time_priority_on_the_same_processor)
{
    short_lock lock;
    const auto o = two_priorities().hand_over(lock);
    if (o == two_priorities::outcome::not_allowed) GTEST_SKIP() << "this user may not run anything in real time";
    EXPECT_EQ(o, two_priorities::outcome::passed);
}
