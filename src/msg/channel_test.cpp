// SPDX-License-Identifier: Apache-2.0
// Tables of several ranks over queues that a dice empties: notes between two ranks keep their order, all else is
// chance.
#include "msg/channel_table.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace onesea::msg;

namespace {

struct world;

struct operation {
    int status = 1; // 1: goes on
    const void *memory = nullptr;
    int ends = 0;
};

struct member final : channel_courier {
    world &all;
    int me;
    channel_table table{*this};
    std::map<std::uint64_t, operation> operations;
    std::map<std::uint64_t, std::function<void()>> dependents; // run inside the end of an operation
    std::uint64_t last = 0;
    std::set<int> cut_off;

    member(world &w, int rank) : all(w), me(rank) {}
    std::size_t room(int) override { return 1000; }
    void tell(int rank, channel_note what, std::uint64_t index, std::uint64_t id,
              std::span<const std::byte> payload) override;
    void fetch(int rank, std::uint64_t send, void *to, std::size_t bytes, channel_fetch *f) override;
    void answer(int rank, std::uint64_t send, int status) override;
    void end(std::uint64_t id, int status, const std::string &) override
    {
        operation &op = operations.at(id);
        if (op.status != 1) return;
        op.status = status;
        ++op.ends;
        if (auto next = dependents.extract(id)) next.mapped()();
    }
    bool is_cut_off(int rank) override { return cut_off.contains(rank); }

    std::uint64_t run(sea_channel name, channel_request r)
    {
        start(name, table.add(name, r), r.memory);
        return last;
    }
    void start(sea_channel name, std::uint64_t token, const void *memory)
    {
        operations[++last].memory = memory;
        table.started(name, token, last);
    }
    // A close with another operation as its start condition.
    void close_after(std::uint64_t id, sea_channel name)
    {
        channel_request r;
        r.closes = true;
        dependents[id] = [this, name, token = table.add(name, r)] { start(name, token, nullptr); };
    }
    std::uint64_t send(sea_channel name, std::vector<std::byte> &data)
    {
        channel_request r;
        r.memory = data.data();
        r.bytes = data.size();
        return run(name, r);
    }
    std::uint64_t receive(sea_channel name, std::vector<std::byte> &buffer, sea_received *told)
    {
        channel_request r;
        r.memory = buffer.data();
        r.bytes = buffer.size();
        r.told = told;
        return run(name, r);
    }
    std::uint64_t close(sea_channel name)
    {
        channel_request r;
        r.closes = true;
        return run(name, r);
    }
    int status(std::uint64_t id) const { return operations.at(id).status; }
};

struct world {
    std::deque<member> ranks;
    std::map<std::pair<int, int>, std::deque<std::function<void()>>> lines;
    std::mt19937_64 dice;

    explicit world(int n, std::uint64_t seed = 1) : dice(seed)
    {
        for (int i = 0; i < n; ++i) ranks.emplace_back(*this, i);
    }
    bool step()
    {
        std::vector<std::deque<std::function<void()>> *> busy;
        for (auto &[key, line] : lines)
            if (!line.empty()) busy.push_back(&line);
        if (busy.empty()) return false;
        auto *line = busy[dice() % busy.size()];
        auto next = std::move(line->front());
        line->pop_front();
        next();
        return true;
    }
    void settle()
    {
        while (step()) {
        }
    }
};

void member::tell(int rank, channel_note what, std::uint64_t index, std::uint64_t id,
                  std::span<const std::byte> payload)
{
    std::vector<std::byte> copy(payload.begin(), payload.end());
    all.lines[{me, rank}].push_back([this, rank, what, index, id, copy = std::move(copy)] {
        all.ranks[std::size_t(rank)].table.receive(me, std::uint8_t(what), index, id, copy);
    });
}

void member::fetch(int rank, std::uint64_t send, void *to, std::size_t bytes, channel_fetch *f)
{
    all.lines[{me, me + 1000}].push_back([this, rank, send, to, bytes, f] { // in its own time
        std::memcpy(to, all.ranks[std::size_t(rank)].operations.at(send).memory, bytes);
        table.fetched(f, SEA_OK);
    });
}

void member::answer(int rank, std::uint64_t send, int status)
{
    all.lines[{me, rank}].push_back([this, rank, send, status] { all.ranks[std::size_t(rank)].end(send, status, {}); });
}

std::vector<std::byte> message(std::size_t bytes, unsigned seed)
{
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = std::byte(seed * 7 + i * 13);
    return data;
}

struct pair {
    world all;
    member &a, &b;
    sea_channel from, to;

    explicit pair(std::uint64_t seed = 1)
        : all(2, seed), a(all.ranks[0]), b(all.ranks[1]), from(a.table.open(1, true)), to(b.table.open(0, false))
    {
    }
};

} // namespace

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

TEST(channel, notes_that_make_no_sense_are_survived)
{
    pair p;
    p.all.settle();
    std::mt19937_64 dice(5);
    std::vector<std::byte> payload(24);
    for (int i = 0; i < 20000; ++i) {
        for (auto &b : payload) b = std::byte(dice() % 3);
        member &m = p.all.ranks[dice() % 2];
        m.table.receive(1 - m.me, std::uint8_t(dice() % 5), dice() % 3, dice() % 2 + 100000000,
                        std::span(payload).first(dice() % 25));
        p.all.lines.clear();
    }
}

// Random channels between four ranks: sends and receives of random sizes at random moments, then both ends are closed.
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
