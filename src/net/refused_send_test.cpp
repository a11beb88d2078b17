// SPDX-License-Identifier: Apache-2.0
// A kernel that takes nothing more for a while: two transports over ports in virtual time, of which one refuses.
#include "net/virtual_pair.hpp"

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

struct refused_send : virtual_pair {
    const std::vector<std::byte> little = noise(2000), much = noise(150'000);

    void warm_up()
    {
        for (int i = 0; i < 20; ++i) {
            wait_for w;
            ends[0]->send(1, put(0, little, &w));
            ASSERT_TRUE(run([&] { return w.status != 1; }, now + second));
        }
        run([] { return false; }, now + 10 * millisecond);
    }
    // Ends when rank 0 has sent something more.
    nanoseconds time_until_it_sends()
    {
        const auto before = ports[0].sent;
        const auto begin = now;
        EXPECT_TRUE(run([&] { return ports[0].sent != before; }, now + second));
        return now - begin;
    }
};

} // namespace

TEST_F(refused_send, is_tried_again_soon_behind_others_before_anything_was_heard)
{
    wait_for w;
    ports[0].takes = 50;
    ends[0]->send(1, put(0, much, &w));
    ports[1].loses = true;
    ports[0].takes = ~0u;
    EXPECT_LE(time_until_it_sends(), retry_send);
    ports[1].loses = false;
    ASSERT_TRUE(run([&] { return w.status != 1; }, now + second));
}

// Rank 2 never answers. What waits for rank 1 was not tried while nothing was taken.
TEST_F(refused_send, lets_what_is_for_other_peers_wait_no_longer_than_itself)
{
    warm_up();
    wait_for first, to_another, second_one;
    ends[0]->send(1, put(0, little, &first));
    ports[0].takes = 0;
    ends[0]->send(2, put(0, little, &to_another));
    ASSERT_EQ(ports[0].refused, 1u);
    ends[0]->send(1, put(0, much, &second_one));
    ports[0].takes = ~0u;
    ports[1].loses = true; // no answer reminds rank 0 of it
    run([] { return false; }, now + retry_send);
    EXPECT_GT(ports[0].sent, 90u) << "all but what is for rank 2";
    ports[1].loses = false;
    ASSERT_TRUE(run([&] { return second_one.status != 1; }, now + second));
    ends[0]->peer_gone(2, true);
}

TEST_F(refused_send, is_tried_again_soon_where_it_was_a_probe)
{
    warm_up();
    nanoseconds times[2] = {};
    for (bool refuse : {false, true}) {
        wait_for w;
        const auto begin = now;
        ports[0].loses = true;
        ends[0]->send(1, put(0, little, &w));
        ports[0].loses = false;
        ports[0].takes = refuse ? 0 : ~0u;
        ASSERT_TRUE(run([&] { return !refuse || ports[0].refused > 0; }, now + second));
        ports[0].takes = ~0u;
        ASSERT_TRUE(run([&] { return w.status != 1; }, now + second));
        times[refuse] = now - begin;
        run([] { return false; }, now + 10 * millisecond);
    }
    EXPECT_LE(times[1], times[0] + 2 * retry_send);
}

// Somebody waits for what had been sent at leisure.
TEST_F(refused_send, is_tried_again_soon_where_it_was_a_question)
{
    warm_up();
    wait_for w;
    outgoing slow = put(0, little, &w);
    slow.bytes = 8;
    slow.at_leisure = true;
    const auto begin = now;
    ends[0]->send(1, slow);
    ports[0].takes = 0;
    ends[0]->hurry(1, false);
    ASSERT_EQ(ports[0].refused, 1u);
    ports[0].takes = ~0u;
    ASSERT_TRUE(run([&] { return w.status != 1; }, now + second));
    EXPECT_LT(now - begin, ack_delay);
}

// Nothing is under way, and the peer has been silent for long.
TEST_F(refused_send, is_tried_again_soon_where_it_was_a_question_to_a_silent_peer)
{
    warm_up();
    wait_for w;
    outgoing slow = put(0, little, &w);
    slow.bytes = 8;
    slow.at_leisure = true;
    ends[0]->send(1, slow);
    ASSERT_TRUE(run([&] { return w.status != 1; }, now + second));
    run([] { return false; }, now + second);
    ports[0].takes = 0;
    ends[0]->hurry(1, true);
    ASSERT_EQ(ports[0].refused, 1u);
    ports[0].takes = ~0u;
    EXPECT_LE(time_until_it_sends(), retry_send);
}

using sleeping_transport = refused_send;
TEST_F(sleeping_transport, tells_its_port_when_it_wakes)
{
    const auto before = ports[0].sleeps;
    ends[0]->arm(false);
    EXPECT_EQ(ports[0].sleeps, before);
    ends[0]->disarm();
    EXPECT_EQ(ports[0].sleeps, before + 1);
}
