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

TEST_F(WayChoiceTest, takes_what_is_faster_and_tries_the_other_one_ever_more_rarely)
{
    for (const bool stage_is_faster : {false, true}) {
        const std::size_t bytes = stage_is_faster ? 4 * mib : 256 * kib; // they are known apart
        const nanoseconds stage = stage_is_faster ? 10'000 : 30'000, kernel = 20'000;
        by_kernel(8, bytes, stage, kernel);
        auto others = [&](int messages) {
            const int n = by_kernel(messages, bytes, stage, kernel);
            return stage_is_faster ? n : messages - n;
        };
        const int first = others(500), later = others(5000);
        EXPECT_GE(first, 12); // 4 tries of 4 messages: 16, 32, 64, 128 apart
        EXPECT_LE(first, 20);
        EXPECT_GE(later, 16);
        EXPECT_LE(later, 28);
    }
}

TEST_F(WayChoiceTest, follows_when_the_processors_come_nearer_and_go_apart)
{
    for (int round = 0; round < 3; ++round) {
        by_kernel(5000, 256 * kib, 30'000, 20'000);
        EXPECT_GE(by_kernel(64, 256 * kib, 30'000, 20'000), 60);
        by_kernel(5000, 256 * kib, 10'000, 20'000);
        EXPECT_LE(by_kernel(64, 256 * kib, 10'000, 20'000), 4);
    }
}

TEST_F(WayChoiceTest, does_not_give_up_a_way_that_was_interrupted_once)
{
    by_kernel(100, 256 * kib, 30'000, 20'000);
    choice.took(way::kernel, 256 * kib, 10'000'000);
    EXPECT_GE(by_kernel(64, 256 * kib, 30'000, 20'000), 60);
}

TEST_F(WayChoiceTest, does_not_count_the_first_messages_after_a_change)
{
    way last = way::stage;
    int in_a_row = 0, kernel = 0;
    for (int i = 0; i < 3000; ++i) { // the kernel is faster when what it copies lies in the caches of who copies
        const way w = choice.choose(4 * mib);
        in_a_row = w == last ? in_a_row + 1 : 1;
        last = w;
        choice.took(w, 4 * mib, w == way::stage ? 400'000 : in_a_row < 3 ? 500'000 : 300'000);
        kernel += w == way::kernel;
    }
    EXPECT_GE(kernel, 2900);
}

TEST_F(WayChoiceTest, knows_lengths_apart)
{
    by_kernel(100, 256 * kib, 30'000, 20'000);
    by_kernel(100, 4 * mib, 300'000, 400'000);
    by_kernel(100, 16 * mib, 2'000'000, 1'000'000);
    by_kernel(100, 32 * kib, 3'000, 4'000);
    EXPECT_GE(by_kernel(64, 256 * kib, 30'000, 20'000), 60);
    EXPECT_LE(by_kernel(64, 4 * mib, 300'000, 400'000), 8);
    EXPECT_GE(by_kernel(64, 16 * mib, 2'000'000, 1'000'000), 56);
    EXPECT_LE(by_kernel(64, 32 * kib, 3'000, 4'000), 8);
}

// Another thread chooses for its own message before this one's is there.
TEST_F(WayChoiceTest, knows_that_the_kernel_may_copy_also_if_that_is_told_late)
{
    for (int i = 0; i < 4; ++i) {
        choice.choose(mib);
        choice.took(way::stage, mib, 400'000);
    }
    for (int i = 0; i < 4; ++i) EXPECT_EQ(way::kernel, choice.choose(mib));
    EXPECT_EQ(way::stage, choice.choose(mib));
    for (int i = 0; i < 4; ++i) choice.took(way::kernel, mib, 200'000);
    EXPECT_GE(by_kernel(64, mib, 400'000, 200'000), 56); // the stage is tried twice: 16 and 32 messages apart
}

TEST_F(WayChoiceTest, believes_what_a_message_alone_took_only_while_nothing_better_is_known)
{
    for (int i = 0; i < 8; ++i)
        if (choice.choose(mib) == way::stage)
            choice.took(way::stage, mib, 300'000);
        else
            choice.is_open(way::kernel, mib, 350'000);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(way::stage, choice.choose(mib));
    by_kernel(100, mib, 300'000, 200'000);
    choice.is_open(way::kernel, mib, 350'000);
    EXPECT_GE(by_kernel(64, mib, 300'000, 200'000), 56);
}

TEST_F(WayChoiceTest, takes_the_stage_where_the_kernel_may_not_copy)
{
    for (int i = 0; i < 8; ++i)
        if (choice.choose(mib) == way::stage) choice.took(way::stage, mib, 300'000);
    for (int i = 0; i < 200; ++i) EXPECT_EQ(way::stage, choice.choose(mib));
}

} // namespace
} // namespace onesea::msg
