// SPDX-License-Identifier: Apache-2.0
#include "../src/locks.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <string>

TEST(dsm_locks, a_number_out_of_range_is_refused_and_named)
{
    dsm::locks all;
    for (int wrong : {-1, DSM_LOCKS}) {
        EXPECT_EQ(all.take(wrong), DSM_ERR_LOCK);
        EXPECT_NE(std::string(dsm_last_error()).find(std::to_string(wrong)), std::string::npos) << dsm_last_error();
        EXPECT_EQ(all.check_held(wrong), DSM_ERR_LOCK);
    }
}

TEST(dsm_locks, the_holder_cannot_take_it_again)
{
    dsm::locks all;
    EXPECT_EQ(all.take(3), DSM_OK);
    EXPECT_EQ(all.take(3), DSM_ERR_LOCK);
    EXPECT_EQ(all.take(4), DSM_OK);
    EXPECT_EQ(all.held(), (std::vector<int>{3, 4}));
    all.give(3);
    EXPECT_EQ(all.take(3), DSM_OK);
}

TEST(dsm_locks, only_the_thread_that_holds_it_is_its_holder)
{
    dsm::locks all;
    EXPECT_EQ(all.check_held(0), DSM_ERR_LOCK);
    ASSERT_EQ(all.take(0), DSM_OK);
    EXPECT_EQ(all.check_held(0), DSM_OK);
    std::thread([&] { EXPECT_EQ(all.check_held(0), DSM_ERR_LOCK); }).join();
}

TEST(dsm_locks, another_thread_waits_until_it_is_given)
{
    dsm::locks all;
    std::atomic<bool> given{false};
    ASSERT_EQ(all.take(7), DSM_OK);
    std::thread waiter([&] {
        EXPECT_EQ(all.take(7), DSM_OK);
        EXPECT_TRUE(given);
        all.give(7);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    given = true;
    all.give(7);
    waiter.join();
    EXPECT_TRUE(all.held().empty());
}
