// SPDX-License-Identifier: Apache-2.0
// A rank that has ended is forgotten, also where it was the last one that was looked for.
#include "net/virtual_pair.hpp"

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

struct gone_peer : virtual_pair {};

} // namespace

TEST_F(gone_peer, is_made_anew_when_something_is_sent_to_it)
{
    const std::vector<std::byte> little = noise(8);
    for (int i = 0; i < 3; ++i) {
        wait_for first, second_one;
        ends[0]->send(1, put(0, little, &first));
        ends[0]->send(1, put(0, little, &second_one));
        EXPECT_EQ(first.status, 1);
        ends[0]->peer_gone(1, false);
        EXPECT_EQ(first.status, SEA_ERR_DEAD);
        EXPECT_EQ(second_one.status, SEA_ERR_DEAD);
        EXPECT_TRUE(ends[0]->idle());
    }
}

// It has executed all, and its last acknowledgements are lost: its close says so.
TEST_F(gone_peer, that_closes_ends_what_was_sent_to_it)
{
    const std::vector<std::byte> little = noise(8);
    wait_for first, last;
    ends[0]->send(1, put(0, little, &first));
    ASSERT_TRUE(run([&] { return first.status != 1; }, now + second));
    ports[0].loses = true;
    ends[0]->send(1, put(0, little, &last));
    ends[1]->close();
    now += 20 * microsecond;
    ends[0]->poll(now);
    EXPECT_EQ(last.status, SEA_OK);
    EXPECT_TRUE(ends[0]->idle());
}

// Its link is in use then.
TEST_F(gone_peer, told_of_while_its_packets_are_taken_in_is_gone_when_that_is_over)
{
    const std::vector<std::byte> little = noise(8);
    wait_for all_lost[2], heard[2];
    for (bool cleanly : {false, true}) {
        wait_for &lost = all_lost[cleanly];
        ports[0].loses = true;
        ends[0]->send(1, put(0, little, &lost));
        ports[0].loses = false;
        int then = -1;
        sinks[0].on_frame = [&] {
            ends[0]->peer_gone(1, cleanly);
            then = lost.status;
        };
        ends[1]->send(0, put(0, little, &heard[cleanly]));
        now += 20 * microsecond;
        EXPECT_TRUE(ends[0]->poll(now));
        EXPECT_EQ(then, 1) << "it is still to be told";
        EXPECT_EQ(lost.status, cleanly ? SEA_OK : SEA_ERR_DEAD);
        EXPECT_TRUE(ends[0]->idle());
        sinks[0].on_frame = {};
    }
    ends[1]->peer_gone(0, true);
}

// By itself after a long silence, and the other one by what it then answers.
TEST_F(gone_peer, to_which_the_way_was_given_up_is_told_above_at_both_ends)
{
    const std::vector<std::byte> little = noise(8);
    wait_for first, lost, answered;
    ends[0]->send(1, put(0, little, &first));
    ASSERT_TRUE(run([&] { return first.status != 1; }, now + second));
    ports[0].loses = true;
    ends[0]->send(1, put(0, little, &lost));
    ASSERT_TRUE(run([&] { return lost.status != 1; }, now + 1000 * second));
    EXPECT_EQ(lost.status, SEA_ERR_LINK);
    EXPECT_EQ(sinks[0].cut_off, std::vector<int>{1});
    EXPECT_TRUE(sinks[1].cut_off.empty());
    ports[0].loses = false;
    ends[1]->send(0, put(0, little, &answered));
    ASSERT_TRUE(run([&] { return answered.status != 1; }, now + second));
    EXPECT_EQ(answered.status, SEA_ERR_LINK);
    EXPECT_EQ(sinks[1].cut_off, std::vector<int>{0});
}
