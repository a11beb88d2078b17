// SPDX-License-Identifier: Apache-2.0
// Ends of channels: opening, closing, deaths, and requests that are given up.
#include "msg/channel_world.hpp"

using namespace onesea::msg;
using namespace onesea::msg::test;

TEST(channel, ends_meet_in_the_order_of_their_opening_whoever_comes_first)
{
    world w(2);
    member &a = w.ranks[0], &b = w.ranks[1];
    std::vector<sea_channel> to, from;
    for (int i = 0; i < 3; ++i) to.push_back(b.table.open(0, false));
    w.settle();
    EXPECT_EQ(3u, a.table.strangers());
    for (int i = 0; i < 3; ++i) from.push_back(a.table.open(1, true));
    EXPECT_EQ(0u, a.table.strangers());
    for (unsigned i : {2u, 0u, 1u}) {
        auto sent = message(8, i);
        std::vector<std::byte> buffer(8);
        b.receive(to[i], buffer, nullptr);
        a.send(from[i], sent);
        w.settle();
        EXPECT_EQ(sent, buffer);
    }
}

TEST(channel, closing_waits_for_earlier_messages_and_for_the_other_end)
{
    pair p;
    auto small = message(10, 1), big = message(4000, 2);
    auto first = p.a.send(p.from, small), second = p.a.send(p.from, big), closing = p.a.close(p.from);
    p.all.settle();
    EXPECT_EQ(1, p.a.status(closing));
    std::vector<std::byte> buffer(4000);
    p.b.receive(p.to, buffer, nullptr);
    p.b.receive(p.to, buffer, nullptr);
    auto late = p.b.receive(p.to, buffer, nullptr);
    p.all.settle();
    EXPECT_EQ(SEA_OK, p.a.status(first));
    EXPECT_EQ(SEA_OK, p.a.status(second));
    EXPECT_EQ(SEA_ERR_STATE, p.b.status(late)) << "no message is left";
    EXPECT_EQ(1, p.a.status(closing));
    auto other = p.b.close(p.to);
    p.all.settle();
    EXPECT_EQ(SEA_OK, p.a.status(closing));
    EXPECT_EQ(SEA_OK, p.b.status(other));
    EXPECT_EQ(0u, p.a.table.ends() + p.b.table.ends());
}

TEST(channel, a_receiver_that_closes_ends_what_is_still_to_be_sent)
{
    pair p;
    auto small = message(10, 1), big = message(4000, 2);
    auto here = p.a.send(p.from, small), never = p.a.send(p.from, big);
    p.all.settle();
    auto closing = p.b.close(p.to);
    p.all.settle();
    auto late = p.a.send(p.from, small);
    EXPECT_EQ(SEA_OK, p.a.status(here));
    EXPECT_EQ(SEA_ERR_STATE, p.a.status(never));
    EXPECT_EQ(SEA_ERR_STATE, p.a.status(late));
    EXPECT_EQ(1, p.b.status(closing));
    p.a.close(p.from);
    p.all.settle();
    EXPECT_EQ(SEA_OK, p.b.status(closing));
    EXPECT_EQ(0u, p.a.table.ends() + p.b.table.ends());
}

TEST(channel, a_long_message_that_meets_the_close_of_its_receiver_is_refused)
{
    pair p;
    p.all.settle();
    auto big = message(4000, 2);
    const auto sent = p.a.send(p.from, big), closing = p.b.close(p.to);
    p.all.settle();
    EXPECT_EQ(SEA_ERR_STATE, p.a.status(sent));
    p.a.close(p.from);
    p.all.settle();
    EXPECT_EQ(SEA_OK, p.b.status(closing));
    EXPECT_EQ(0u, p.a.table.ends() + p.b.table.ends());
}

// Whatever the peer says meanwhile.
TEST(channel, a_close_waits_for_data_that_is_being_fetched)
{
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        pair p(seed);
        p.all.settle();
        auto small = message(10, 1), big = message(4000, 2);
        std::vector<std::byte> buffer(4000);
        const auto received = p.b.receive(p.to, buffer, nullptr), closing = p.b.close(p.to);
        const auto first = p.a.send(p.from, big), second = p.a.send(p.from, small), last = p.a.close(p.from);
        while (p.all.step()) ASSERT_TRUE(p.b.status(closing) == 1 || p.b.status(received) == SEA_OK);
        EXPECT_EQ(SEA_OK, p.b.status(received));
        EXPECT_EQ(big, buffer);
        EXPECT_EQ(SEA_OK, p.a.status(first));
        EXPECT_EQ(SEA_OK, p.a.status(second));
        EXPECT_EQ(SEA_OK, p.b.status(closing));
        EXPECT_EQ(SEA_OK, p.a.status(last));
        EXPECT_EQ(0u, p.a.table.ends() + p.b.table.ends());
    }
}

TEST(channel, opened_and_closed_before_the_sender_is_there)
{
    world w(2);
    member &a = w.ranks[0], &b = w.ranks[1];
    auto to = b.table.open(0, false);
    auto closing = b.close(to);
    w.settle();
    auto from = a.table.open(1, true);
    auto other = a.close(from);
    w.settle();
    EXPECT_EQ(SEA_OK, b.status(closing));
    EXPECT_EQ(SEA_OK, a.status(other));
    EXPECT_EQ(0u, a.table.ends() + b.table.ends() + a.table.strangers());
}

TEST(channel, a_close_that_starts_inside_the_end_of_a_receive_forgets_its_end_once)
{
    for (std::size_t bytes : {100, 5000}) {
        pair p;
        auto sent = message(bytes, 3);
        std::vector<std::byte> buffer(bytes);
        p.all.settle();
        const auto receive = p.b.receive(p.to, buffer, nullptr);
        p.b.close_after(receive, p.to);
        p.a.send(p.from, sent);
        const auto closing = p.a.close(p.from);
        p.all.settle();
        EXPECT_EQ(SEA_OK, p.b.status(receive));
        EXPECT_EQ(sent, buffer);
        EXPECT_EQ(SEA_OK, p.b.status(p.b.last)) << "the close";
        EXPECT_EQ(SEA_OK, p.a.status(closing));
        EXPECT_EQ(0u, p.a.table.ends() + p.b.table.ends());
    }
}

TEST(channel, the_death_of_the_sender_leaves_what_has_come_whole)
{
    pair p;
    auto small = message(10, 1), big = message(4000, 2);
    p.a.send(p.from, small);
    p.a.send(p.from, big);
    p.a.send(p.from, small);
    p.all.settle();
    p.b.table.gone(0, SEA_ERR_DEAD);
    std::vector<std::byte> buffer(4000);
    sea_received told{};
    auto first = p.b.receive(p.to, buffer, &told), second = p.b.receive(p.to, buffer, nullptr);
    EXPECT_EQ(SEA_OK, p.b.status(first));
    EXPECT_EQ(10u, told.bytes);
    EXPECT_EQ(SEA_ERR_DEAD, p.b.status(second)) << "not the third message in place of the second";
    EXPECT_EQ(SEA_ERR_DEAD, p.b.status(p.b.close(p.to)));
    EXPECT_EQ(0u, p.b.table.ends());
}

TEST(channel, the_death_of_the_receiver_ends_all_requests_of_the_sender)
{
    pair p;
    auto small = message(10, 1);
    std::vector<std::uint64_t> ops;
    for (int i = 0; i < 200; ++i) ops.push_back(p.a.send(p.from, small));
    auto closing = p.a.close(p.from);
    p.all.settle();
    p.a.table.gone(1, SEA_ERR_DEAD);
    EXPECT_EQ(SEA_OK, p.a.status(ops.front()));
    EXPECT_EQ(SEA_ERR_DEAD, p.a.status(ops.back()));
    EXPECT_EQ(SEA_ERR_DEAD, p.a.status(closing));
    EXPECT_EQ(0u, p.a.table.ends());
}

TEST(channel, what_a_rank_has_opened_is_forgotten_when_it_ends)
{
    world w(2);
    w.ranks[1].table.open(0, false);
    w.settle();
    EXPECT_EQ(1u, w.ranks[0].table.strangers());
    w.ranks[0].table.gone(1, SEA_ERR_DEAD);
    EXPECT_EQ(0u, w.ranks[0].table.strangers());
}

// A link that was given up is not made anew.
TEST(channel, an_end_opened_after_its_peer_became_unreachable_is_told_so)
{
    pair p;
    p.a.cut_off.insert(1);
    p.a.table.gone(1, SEA_ERR_LINK);
    const sea_channel late = p.a.table.open(1, true);
    auto small = message(10, 1);
    EXPECT_EQ(SEA_ERR_LINK, p.a.status(p.a.send(late, small)));
    EXPECT_EQ(SEA_ERR_LINK, p.a.status(p.a.close(late)));
}

TEST(channel, a_request_whose_condition_failed_or_that_was_withdrawn_is_passed_over)
{
    pair p;
    auto one = message(10, 1), two = message(10, 2);
    channel_request r;
    r.memory = one.data();
    r.bytes = one.size();
    const auto failed = p.a.table.add(p.from, r), late = p.a.table.add(p.from, r);
    const auto second = p.a.send(p.from, two);
    std::vector<std::byte> buffer(10);
    const auto receive = p.b.receive(p.to, buffer, nullptr);
    p.all.settle();
    p.a.table.cancelled(p.from, failed);
    p.all.settle();
    EXPECT_EQ(1, p.b.status(receive));
    p.a.table.withdraw(p.from, late);
    p.all.settle();
    EXPECT_EQ(SEA_OK, p.a.status(second)) << "its condition may never come true";
    EXPECT_EQ(SEA_OK, p.b.status(receive));
    EXPECT_EQ(two, buffer);
}

// Its call does not wait any longer. A close goes on: the peer may know of it.
TEST(channel, a_withdrawn_request_that_has_started_ends_and_takes_no_message)
{
    pair p;
    std::vector<std::byte> unused(10, std::byte(0xee)), buffer(10);
    channel_request r;
    r.memory = unused.data();
    r.bytes = unused.size();
    const auto token = p.b.table.add(p.to, r);
    p.b.start(p.to, token, unused.data());
    const auto withdrawn = p.b.last;
    EXPECT_EQ(1, p.b.status(withdrawn));
    p.b.table.withdraw(p.to, token);
    EXPECT_EQ(SEA_OK, p.b.status(withdrawn));
    auto small = message(10, 1);
    const auto sent = p.a.send(p.from, small), last = p.a.close(p.from), receive = p.b.receive(p.to, buffer, nullptr);
    r = {};
    r.closes = true;
    const auto close_token = p.b.table.add(p.to, r);
    p.b.table.withdraw(p.to, close_token);
    p.b.start(p.to, close_token, nullptr);
    p.all.settle();
    EXPECT_EQ(SEA_OK, p.a.status(sent));
    EXPECT_EQ(SEA_OK, p.b.status(receive));
    EXPECT_EQ(small, buffer);
    EXPECT_EQ(std::vector<std::byte>(10, std::byte(0xee)), unused);
    EXPECT_EQ(SEA_OK, p.a.status(last));
    EXPECT_EQ(SEA_OK, p.b.status(p.b.last));
    EXPECT_EQ(0u, p.a.table.ends() + p.b.table.ends());
}

TEST(channel, a_withdrawn_request_ends_when_its_condition_comes_true_whatever_has_become_of_the_channel)
{
    for (bool closed : {false, true}) {
        pair p;
        auto one = message(10, 1);
        channel_request r;
        r.memory = one.data();
        r.bytes = one.size();
        const auto before = p.a.table.add(p.from, r), late = p.a.table.add(p.from, r);
        p.a.table.withdraw(p.from, late);
        if (closed) {
            p.a.table.withdraw(p.from, before);
            p.a.close(p.from);
            p.b.close(p.to);
            p.all.settle();
            EXPECT_EQ(0u, p.a.table.ends() + p.b.table.ends());
        }
        p.a.start(p.from, late, one.data());
        EXPECT_EQ(SEA_OK, p.a.status(p.a.last));
    }
}

TEST(channel, a_close_whose_condition_failed_leaves_the_channel_open)
{
    pair p;
    channel_request r;
    r.closes = true;
    const auto token = p.a.table.add(p.from, r);
    EXPECT_EQ(nullptr, p.a.table.find(p.from));
    p.a.table.cancelled(p.from, token);
    EXPECT_NE(nullptr, p.a.table.find(p.from));
}
