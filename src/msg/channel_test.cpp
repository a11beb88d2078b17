// SPDX-License-Identifier: Apache-2.0
// Messages of channels: their order, how they meet receives, and how a sender is held back.
#include "msg/channel_world.hpp"

using namespace onesea::msg;
using namespace onesea::msg::test;

TEST(channel, short_and_long_messages_arrive_in_the_order_sent)
{
    pair p;
    std::vector<std::vector<std::byte>> sent, buffers;
    for (unsigned i = 0; i < 40; ++i) sent.push_back(message(i % 3 ? i * 10 : 900 + i * 400, i));
    for (unsigned i = 0; i < 40; ++i) buffers.emplace_back(20000, std::byte(0xee));
    std::vector<sea_received> told(40);
    std::vector<std::uint64_t> ops;
    for (auto &m : sent) ops.push_back(p.a.send(p.from, m));
    for (unsigned i = 0; i < 40; ++i) p.b.receive(p.to, buffers[i], &told[i]);
    p.all.settle();
    for (unsigned i = 0; i < 40; ++i) {
        EXPECT_EQ(SEA_OK, p.a.status(ops[i]));
        EXPECT_EQ(sent[i].size(), told[i].bytes);
        EXPECT_EQ(0u, told[i].discarded);
        EXPECT_EQ(0, std::memcmp(sent[i].data(), buffers[i].data(), sent[i].size()));
        EXPECT_EQ(std::byte(0xee), buffers[i][sent[i].size()]) << "the tail is untouched";
    }
}

TEST(channel, a_message_longer_than_its_buffer_is_cut_and_told)
{
    pair p;
    for (std::size_t bytes : {100, 5000}) {
        auto sent = message(bytes, 3);
        std::vector<std::byte> buffer(60, std::byte(0));
        sea_received told{};
        p.a.send(p.from, sent);
        p.b.receive(p.to, buffer, &told);
        p.all.settle();
        EXPECT_EQ(60u, told.bytes);
        EXPECT_EQ(bytes - 60, told.discarded);
        EXPECT_EQ(0, std::memcmp(sent.data(), buffer.data(), 60));
    }
}

TEST(channel, a_long_message_into_no_buffer_is_thrown_away_whole)
{
    pair p;
    auto sent = message(5000, 3);
    std::vector<std::byte> none;
    sea_received told{};
    auto op = p.a.send(p.from, sent);
    p.b.receive(p.to, none, &told);
    p.all.settle();
    EXPECT_EQ(SEA_OK, p.a.status(op));
    EXPECT_EQ(5000u, told.discarded);
}

TEST(channel, a_sender_that_outruns_the_receiver_is_held_back)
{
    pair p;
    auto small = message(10, 1), big = message(1000, 2);
    std::vector<std::uint64_t> ops;
    for (int i = 0; i < 500; ++i) ops.push_back(p.a.send(p.from, small));
    p.all.settle();
    auto done = [&] { return std::count_if(ops.begin(), ops.end(), [&](auto o) { return p.a.status(o) == SEA_OK; }); };
    EXPECT_EQ(std::ptrdiff_t(room_messages), done());
    std::vector<std::byte> buffer(2000);
    for (int i = 0; i < 500; ++i) p.b.receive(p.to, buffer, nullptr);
    p.all.settle();
    EXPECT_EQ(500, done());
    ops.clear();
    for (int i = 0; i < 500; ++i) ops.push_back(p.a.send(p.from, big));
    p.all.settle();
    EXPECT_GE(done(), std::ptrdiff_t(room_messages / 2));
    EXPECT_LE(done() * 1000, std::ptrdiff_t(room_bytes));
}

// Whether they are waited for when they come or not.
TEST(channel, a_sender_is_held_back_by_bytes_too)
{
    for (const bool waited_for : {false, true}) {
        pair p;
        p.a.longest = 8000;
        auto sent = message(8000, 1);
        std::vector<std::byte> buffer(8000);
        auto receive = [&](int n) {
            for (; n > 0; --n) p.b.receive(p.to, buffer, nullptr);
        };
        const std::size_t fit = room_bytes / 8000, half = (room_bytes / 2 + 7999) / 8000;
        if (waited_for) receive(int(half));
        std::vector<std::uint64_t> ops;
        for (int i = 0; i < 20; ++i) ops.push_back(p.a.send(p.from, sent));
        auto done = [&] {
            return std::size_t(std::ranges::count_if(ops, [&](auto o) { return p.a.status(o) == SEA_OK; }));
        };
        p.all.settle();
        if (!waited_for) {
            EXPECT_EQ(fit, done());
            receive(int(half) - 1);
            p.all.settle();
            EXPECT_EQ(fit, done()) << "it is told half of its room at a time";
            receive(1);
            p.all.settle();
        }
        EXPECT_EQ(fit + half, done());
        receive(20);
        p.all.settle();
        EXPECT_EQ(20u, done());
    }
}

TEST(channel, long_messages_take_room_as_short_ones_do)
{
    pair p;
    p.all.settle();
    auto small = message(10, 1), big = message(1001, 2);
    std::vector<std::uint64_t> ops;
    for (int i = 0; i < 200; ++i) ops.push_back(p.a.send(p.from, big));
    EXPECT_EQ(std::size_t(room_messages), (p.all.lines[{0, 1}].size())) << "offers under way";
    for (int i = 0; i < 200; ++i) ops.push_back(p.a.send(p.from, small));
    std::vector<std::byte> buffer(2000);
    for (int i = 0; i < 400; ++i) p.b.receive(p.to, buffer, nullptr);
    p.all.settle();
    for (const auto op : ops) ASSERT_EQ(SEA_OK, p.a.status(op));
}

TEST(channel, room_for_more_than_was_sent_is_not_believed)
{
    for (const std::array<std::uint64_t, 2> taken : {std::array<std::uint64_t, 2>{1, 0}, {0, 1000}}) {
        pair p;
        p.all.settle();
        p.a.table.receive(1, std::uint8_t(channel_note::room), 0, 0, std::as_bytes(std::span(taken)));
        auto small = message(10, 1);
        EXPECT_EQ(SEA_OK, p.a.status(p.a.send(p.from, small)));
    }
}

TEST(channel, what_is_sent_before_the_other_end_is_open_waits_for_it)
{
    for (const std::size_t bytes : {100, 5000}) {
        world w(2);
        member &a = w.ranks[0], &b = w.ranks[1];
        auto sent = message(bytes, 3);
        const auto op = a.send(a.table.open(1, true), sent);
        w.settle();
        EXPECT_EQ(1, a.status(op));
        std::vector<std::byte> buffer(bytes);
        const auto receive = b.receive(b.table.open(0, false), buffer, nullptr);
        w.settle();
        EXPECT_EQ(SEA_OK, a.status(op));
        EXPECT_EQ(SEA_OK, b.status(receive));
        EXPECT_EQ(sent, buffer);
    }
}

TEST(channel, tells_of_whom_its_requests_wait_for_something)
{
    pair p;
    std::vector<std::byte> buffer(10);
    std::set<int> ranks;
    p.b.table.awaited(ranks);
    EXPECT_TRUE(ranks.empty());
    p.b.receive(p.to, buffer, nullptr);
    p.b.table.awaited(ranks);
    EXPECT_EQ(std::set<int>{0}, ranks);
    auto small = message(10, 1);
    p.a.send(p.from, small);
    p.all.settle();
    ranks.clear();
    p.b.table.awaited(ranks);
    EXPECT_TRUE(ranks.empty());
}

TEST(channel, a_request_that_is_held_back_holds_those_behind_it)
{
    pair p;
    auto one = message(10, 1), two = message(10, 2);
    channel_request r;
    r.memory = one.data();
    r.bytes = one.size();
    const auto token = p.a.table.add(p.from, r);
    auto second = p.a.send(p.from, two);
    std::vector<std::byte> buffer(10);
    auto first_receive = p.b.receive(p.to, buffer, nullptr);
    p.all.settle();
    EXPECT_EQ(1, p.a.status(second));
    p.a.operations[++p.a.last].memory = one.data();
    p.a.table.started(p.from, token, p.a.last);
    p.all.settle();
    EXPECT_EQ(SEA_OK, p.a.status(second));
    EXPECT_EQ(SEA_OK, p.b.status(first_receive));
    EXPECT_EQ(one, buffer);
}

namespace {

struct note {
    channel_note what;
    std::uint64_t index, id;
    std::vector<std::byte> payload;
};

note any_note(std::mt19937_64 &dice)
{
    note n{channel_note(dice() % 9), dice() % 3, dice() % 3 ? 100000000 + dice() % 2 : 0, {}};
    n.payload.resize(dice() % 25);
    for (auto &b : n.payload) b = std::byte(dice() % 3);
    return n;
}

bool is_of_the_channel(const member &to, const note &n)
{
    const bool by_receiver =
        n.what == channel_note::open || n.what == channel_note::room || n.what == channel_note::receiver_closed;
    return n.index == 0 && by_receiver == (to.me == 0);
}

// What the other end of the one channel might say; a room beyond what was sent is not.
bool makes_sense(const member &to, const note &n)
{
    if (!is_of_the_channel(to, n)) return false;
    std::uint64_t messages = 0;
    switch (n.what) {
    case channel_note::offer:
        return n.payload.size() == 8 && n.id != 0;
    case channel_note::room:
        if (n.payload.size() == 16) std::memcpy(&messages, n.payload.data(), 8);
        return n.payload.size() == 16 && messages < 1000;
    case channel_note::data:
    case channel_note::sender_closed:
    case channel_note::receiver_closed:
        return true;
    default:
        return false;
    }
}

} // namespace

// All that is said to them is that offers come to no end; the channel that there is goes on as if nothing had come.
TEST(channel, notes_that_make_no_sense_change_nothing)
{
    pair p;
    p.all.settle();
    std::mt19937_64 dice(5);
    auto first = message(10, 1), second = message(5000, 2);
    std::vector<std::byte> one(10), two(5000);
    const auto waits = p.b.receive(p.to, one, nullptr);
    for (int i = 0; i < 20000; ++i) {
        member &m = p.all.ranks[dice() % 2];
        const note n = any_note(dice);
        if (makes_sense(m, n)) continue;
        m.table.receive(1 - m.me, std::uint8_t(n.what), n.index, n.id, n.payload);
        const bool refused = n.what == channel_note::offer && !is_of_the_channel(m, n);
        for (const auto &[between, line] : p.all.lines)
            ASSERT_EQ(refused && between == std::pair(m.me, 1 - m.me) ? 1u : 0u, line.size()) << "note " << i;
        p.all.lines.clear();
    }
    EXPECT_EQ(1u, p.a.table.ends());
    EXPECT_EQ(1u, p.b.table.ends());
    EXPECT_EQ(2u, p.a.table.strangers()) << "positions 1 and 2, of which it has no sender";
    EXPECT_EQ(3u, p.b.table.strangers());
    EXPECT_EQ(1, p.b.status(waits));
    const auto sent = p.a.send(p.from, first), long_one = p.a.send(p.from, second);
    const auto last = p.b.receive(p.to, two, nullptr);
    p.a.close(p.from);
    p.b.close(p.to);
    p.all.settle();
    for (const auto op : {sent, long_one}) EXPECT_EQ(SEA_OK, p.a.status(op));
    for (const auto op : {waits, last}) EXPECT_EQ(SEA_OK, p.b.status(op));
    EXPECT_EQ(first, one);
    EXPECT_EQ(second, two);
    EXPECT_EQ(0u, p.a.table.ends() + p.b.table.ends());
}

// A receiver that wants so many messages and no more. The sender is told, though it has sent more than there is room
// for.
TEST(channel, a_close_behind_a_receive_is_carried_out_when_a_short_message_has_come)
{
    for (const int sent : {1, 200}) {
        pair p;
        auto small = message(10, 1);
        std::vector<std::byte> buffer(10);
        const auto received = p.b.receive(p.to, buffer, nullptr), closing = p.b.close(p.to);
        p.all.settle();
        std::vector<std::uint64_t> ops;
        for (int i = 0; i < sent; ++i) ops.push_back(p.a.send(p.from, small));
        const auto last = p.a.close(p.from);
        p.all.settle();
        EXPECT_EQ(SEA_OK, p.b.status(received));
        EXPECT_EQ(SEA_OK, p.b.status(closing));
        EXPECT_EQ(SEA_OK, p.a.status(ops.front()));
        EXPECT_EQ(sent > 1 ? SEA_ERR_STATE : SEA_OK, p.a.status(ops.back()));
        EXPECT_EQ(SEA_OK, p.a.status(last));
        EXPECT_EQ(0u, p.a.table.ends() + p.b.table.ends());
    }
}

// Random channels between four ranks: sends and receives of random sizes at random moments, then both ends are closed.
TEST(channel, random_traffic_by_seed_is_in_order_and_leaves_nothing)
{
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        world w(4, seed);
        struct one {
            member *a, *b;
            sea_channel from, to;
            std::deque<std::vector<std::byte>> sent, got;
            std::deque<sea_received> told;
            std::vector<std::uint64_t> sends, receives;
            std::uint64_t closed[2] = {0, 0};
        };
        std::deque<one> channels;
        auto below = [&](std::uint64_t n) { return w.dice() % n; };
        for (int i = 0; i < 6; ++i) {
            auto s = below(4), r = (s + 1 + below(3)) % 4;
            one &c = channels.emplace_back();
            c.a = &w.ranks[s];
            c.b = &w.ranks[r];
            if (below(2)) {
                c.from = c.a->table.open(int(r), true);
                c.to = c.b->table.open(int(s), false);
            } else {
                c.to = c.b->table.open(int(s), false);
                c.from = c.a->table.open(int(r), true);
            }
        }
        const std::size_t messages = 80;
        for (bool more = true; more;) {
            more = false;
            for (one &c : channels) {
                if (c.sent.size() < messages && below(2)) {
                    c.sent.push_back(message(below(2) ? below(1000) : below(9000), unsigned(c.sent.size())));
                    c.sends.push_back(c.a->send(c.from, c.sent.back()));
                }
                if (c.got.size() < messages && below(2)) {
                    c.got.emplace_back(below(9000));
                    c.told.push_back({});
                    c.receives.push_back(c.b->receive(c.to, c.got.back(), &c.told.back()));
                }
                if (c.sent.size() == messages && !c.closed[0] && below(2)) c.closed[0] = c.a->close(c.from);
                if (c.got.size() == messages && !c.closed[1] && below(2)) c.closed[1] = c.b->close(c.to);
                more |= !c.closed[0] || !c.closed[1];
                for (auto n = below(8); n > 0; --n) w.step();
            }
        }
        w.settle();
        for (one &c : channels) {
            for (std::size_t i = 0; i < messages; ++i) {
                ASSERT_EQ(SEA_OK, c.a->status(c.sends[i]));
                ASSERT_EQ(SEA_OK, c.b->status(c.receives[i]));
                const std::size_t fits = std::min(c.sent[i].size(), c.got[i].size());
                ASSERT_EQ(fits, c.told[i].bytes);
                ASSERT_EQ(c.sent[i].size() - fits, c.told[i].discarded);
                ASSERT_TRUE(std::equal(c.sent[i].begin(), c.sent[i].begin() + std::ptrdiff_t(fits), c.got[i].begin()));
            }
            ASSERT_EQ(SEA_OK, c.a->status(c.closed[0]));
            ASSERT_EQ(SEA_OK, c.b->status(c.closed[1]));
        }
        for (member &m : w.ranks) {
            ASSERT_EQ(0u, m.table.ends() + m.table.strangers());
            for (auto &[id, op] : m.operations) ASSERT_EQ(1, op.ends);
        }
    }
}
