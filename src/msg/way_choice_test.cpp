// SPDX-License-Identifier: Apache-2.0
#include "msg/way_choice.hpp"

#include <gtest/gtest.h>

namespace onesea::msg {
namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;

struct WayChoiceTest : testing::Test {
    way_choice choice;
    // How many of `messages` come by the kernel, if a message takes so long in each way.
    int by_kernel(int messages, std::size_t bytes, nanoseconds stage, nanoseconds kernel)
    {
        int n = 0;
        for (int i = 0; i < messages; ++i) {
            const way w = choice.choose(bytes);
            choice.took(w, bytes, w == way::stage ? stage : kernel);
            n += w == way::kernel;
        }
        return n;
    }
};

TEST_F(WayChoiceTest, takes_what_is_faster_and_tries_the_other_one_now_and_then)
{
    by_kernel(8, 256 * kib, 30'000, 20'000);
    const int kernel = by_kernel(640, 256 * kib, 30'000, 20'000);
    EXPECT_GE(kernel, 620);
    EXPECT_LT(kernel, 640);
}

TEST_F(WayChoiceTest, follows_when_the_processors_come_nearer_and_go_apart)
{
    for (int round = 0; round < 3; ++round) {
        by_kernel(700, 256 * kib, 30'000, 20'000);
        EXPECT_GE(by_kernel(64, 256 * kib, 30'000, 20'000), 62);
        by_kernel(700, 256 * kib, 10'000, 20'000);
        EXPECT_LE(by_kernel(64, 256 * kib, 10'000, 20'000), 2);
    }
}

TEST_F(WayChoiceTest, does_not_give_up_a_way_that_was_interrupted_once)
{
    by_kernel(100, 256 * kib, 30'000, 20'000);
    choice.took(way::kernel, 256 * kib, 10'000'000);
    EXPECT_GE(by_kernel(64, 256 * kib, 30'000, 20'000), 62);
}

TEST_F(WayChoiceTest, knows_lengths_apart)
{
    by_kernel(100, 256 * kib, 30'000, 20'000);
    by_kernel(100, 4 * mib, 300'000, 400'000);
    EXPECT_GE(by_kernel(64, 256 * kib, 30'000, 20'000), 62);
    EXPECT_LE(by_kernel(64, 4 * mib, 300'000, 400'000), 8);
}

TEST_F(WayChoiceTest, takes_the_stage_where_the_kernel_may_not_copy)
{
    for (int i = 0; i < 8; ++i)
        if (choice.choose(mib) == way::stage) choice.took(way::stage, mib, 300'000);
    for (int i = 0; i < 200; ++i) EXPECT_EQ(way::stage, choice.choose(mib));
}

TEST_F(WayChoiceTest, leaves_the_shortest_and_the_longest_to_the_stage)
{
    EXPECT_EQ(0, by_kernel(100, 64 * kib - 1, 30'000, 1));
    EXPECT_EQ(0, by_kernel(100, 8 * mib, 30'000, 1));
}

} // namespace
} // namespace onesea::msg
