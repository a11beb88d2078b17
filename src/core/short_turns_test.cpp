// SPDX-License-Identifier: Apache-2.0
#include "core/short_turns.hpp"

#include <gtest/gtest.h>
#include <thread>

using namespace onesea::core;

namespace {

constexpr std::uint64_t turn = 100'000;

// What a new thread of that policy has before and after its wish.
struct wished {
    scheduling before, after;

    explicit wished(int policy)
    {
        std::thread([&] {
            const sched_param no_priority = {};
            EXPECT_EQ(sched_setscheduler(0, policy, &no_priority), 0);
            EXPECT_TRUE(before.read());
            wish_for_turns_of(turn);
            EXPECT_TRUE(after.read());
        }).join();
    }
};

} // namespace

TEST(short_turns, are_given_by_kernels_that_know_them_and_change_nothing_else)
{
    const wished w(SCHED_OTHER);
    EXPECT_EQ(w.after.turn, w.before.turn ? turn : 0);
    EXPECT_EQ(w.after.nice, w.before.nice);
    EXPECT_EQ(w.after.policy, std::uint32_t(SCHED_OTHER));
}

TEST(short_turns, are_not_wished_for_by_threads_of_other_policies)
{
    const wished w(SCHED_BATCH);
    EXPECT_EQ(w.after.turn, w.before.turn);
    EXPECT_EQ(w.after.policy, std::uint32_t(SCHED_BATCH));
}

TEST(short_turns, leave_other_threads_as_they_are)
{
    scheduling before, after;
    ASSERT_TRUE(before.read());
    const wished w(SCHED_OTHER);
    ASSERT_TRUE(after.read());
    EXPECT_EQ(after.turn, before.turn);
}
