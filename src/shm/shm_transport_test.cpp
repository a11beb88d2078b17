// SPDX-License-Identifier: Apache-2.0
#include "shm/shm_transport.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace onesea;
using namespace onesea::shm;

namespace {

struct heard {
    int source;
    frame head;
    std::vector<std::byte> payload;
};

struct recorder final : sink {
    std::vector<heard> all;
    std::function<void(int, const frame &)> also;
    std::function<void()> before_acknowledging;
    void about_to_acknowledge() override
    {
        if (before_acknowledging) before_acknowledging();
    }
    void receive(int source, const frame &head, std::span<const std::byte> payload) override
    {
        all.push_back({source, head, {payload.begin(), payload.end()}});
        if (also) also(source, head);
    }
};

struct told : delivery {
    int status = 99;
    told()
    {
        settled = [](delivery *d, int s) { static_cast<told *>(d)->status = s; };
    }
};

// Two ranks of one node in one process: the arena cannot tell.
class ShmTransportTest : public ::testing::Test {
  protected:
    void SetUp() override { make({}); }
    void make(const profile &tuning)
    {
        a_.reset();
        b_.reset();
        arena_plan plan;
        plan.tuning = tuning;
        plan.slots = 2;
        plan.spare = 2;
        plan.rank_capacity = 8;
        plan.heap_bytes = 1 << 20;
        int fd = -1;
        ASSERT_EQ(arena::create(plan, &arena_, &fd), 0);
        ::close(fd);
        for (unsigned s = 0; s < 2; ++s) {
            arena_.occupy(s, int(s), -1);
            arena_.slot_at(s).doorbell = eventfd(0, EFD_NONBLOCK);
            arena_.slot_at(s).pid = getpid();
        }
        a_.emplace(arena_, 0, false, at_a_);
        b_.emplace(arena_, 1, false, at_b_);
    }
    void TearDown() override
    {
        for (unsigned s = 0; s < 2; ++s) ::close(arena_.slot_at(s).doorbell);
    }
    void run()
    {
        for (int i = 0; i < 100000; ++i) {
            bool one = b_->poll(0), other = a_->poll(0);
            if (!one && !other) break;
        }
    }
    static outgoing message(const void *payload, std::size_t bytes, delivery *done)
    {
        outgoing m;
        m.head.type = frame_type::put;
        m.payload = payload;
        m.bytes = bytes;
        m.done = done;
        return m;
    }
    arena arena_;
    recorder at_a_, at_b_;
    std::optional<shm_transport> a_, b_;
};

TEST_F(ShmTransportTest, settles_a_message_when_it_was_executed_and_not_before)
{
    told t;
    a_->send(1, message("12345678", 8, &t));
    a_->poll(0);
    EXPECT_EQ(t.status, 99);
    EXPECT_FALSE(a_->idle());
    b_->poll(0);
    ASSERT_EQ(at_b_.all.size(), 1u);
    EXPECT_EQ(at_b_.all[0].source, 0);
    EXPECT_EQ(std::memcmp(at_b_.all[0].payload.data(), "12345678", 8), 0);
    a_->poll(0);
    EXPECT_EQ(t.status, SEA_OK);
    EXPECT_TRUE(a_->idle());
}

TEST_F(ShmTransportTest, cuts_long_payloads_and_keeps_order_when_the_ring_is_full)
{
    std::vector<std::byte> big(1 << 20);
    for (std::size_t i = 0; i < big.size(); ++i) big[i] = std::byte(i * 7);
    told t1, t2;
    auto m = message(big.data(), big.size(), &t1);
    m.borrow = true;
    m.head.position = 1000;
    a_->send(1, m);
    char small[9] = "behind..";
    a_->send(1, message(small, 8, &t2));
    std::memset(small, 0, 8); // it was copied
    run();
    EXPECT_EQ(t1.status, SEA_OK);
    EXPECT_EQ(t2.status, SEA_OK);
    std::uint64_t position = 1000;
    std::vector<std::byte> got;
    for (std::size_t i = 0; i + 1 < at_b_.all.size(); ++i) {
        EXPECT_EQ(at_b_.all[i].head.position, position);
        EXPECT_EQ(bool(at_b_.all[i].head.flags & frame_flags::last), i + 2 == at_b_.all.size());
        position += at_b_.all[i].payload.size();
        got.insert(got.end(), at_b_.all[i].payload.begin(), at_b_.all[i].payload.end());
    }
    EXPECT_EQ(got, big);
    EXPECT_EQ(std::memcmp(at_b_.all.back().payload.data(), "behind..", 8), 0);
}

// Bulk data through rings of every size, in pieces of every length.
TEST_F(ShmTransportTest, each_part_of_a_long_payload_is_progress_of_its_sender)
{
    std::vector<std::byte> big(1 << 20);
    told t;
    auto m = message(big.data(), big.size(), &t);
    m.borrow = true;
    a_->send(1, m);
    EXPECT_FALSE(a_->poll(0)) << "the ring is full";
    int rounds = 0;
    for (; b_->poll(0); ++rounds) EXPECT_TRUE(a_->poll(0)) << "after round " << rounds;
    EXPECT_GT(rounds, 8);
    EXPECT_EQ(t.status, SEA_OK);
    EXPECT_FALSE(a_->poll(0)) << "all of it has come";
}

TEST_F(ShmTransportTest, carries_long_payloads_whatever_was_tuned)
{
    std::vector<std::byte> big(3 << 20);
    for (std::size_t i = 0; i < big.size(); ++i) big[i] = std::byte(i * 7 + i / 251);
    for (std::uint32_t window : {16u << 10, 32u << 10, 1u << 20})
        for (std::uint32_t fragment : {1280u, 1281u, 8160u, 262112u}) {
            SCOPED_TRACE(testing::Message() << "window " << window << " fragment " << fragment);
            TearDown();
            profile tuning;
            tuning.of(path_kind::shm).window = window;
            tuning.of(path_kind::shm).fragment = fragment;
            make(tuning);
            at_b_.all.clear();
            told t;
            auto m = message(big.data(), big.size(), &t);
            m.borrow = true;
            a_->send(1, m);
            run();
            ASSERT_EQ(t.status, SEA_OK);
            std::vector<std::byte> got;
            for (const auto &one : at_b_.all) {
                EXPECT_LE(one.payload.size(), a_->max_frame(1));
                got.insert(got.end(), one.payload.begin(), one.payload.end());
            }
            EXPECT_TRUE(got == big);
            EXPECT_EQ(at_b_.all[0].payload.size(), a_->tuning(1).fragment) << "what programs are told";
        }
}

TEST_F(ShmTransportTest, a_notice_arrives_before_its_cause_settles_even_if_the_way_back_is_full)
{
    std::vector<std::byte> filler(1 << 18);
    auto fill = message(filler.data(), filler.size(), nullptr);
    fill.borrow = true;
    b_->send(0, fill); // more than the ring to a holds
    told t;
    bool noticed = false, noticed_first = false;
    at_b_.also = [&](int source, const frame &) {
        outgoing notice;
        notice.head.type = frame_type::done;
        notice.notice = true;
        b_->send(source, notice);
    };
    at_a_.also = [&](int, const frame &f) { noticed |= f.type == frame_type::done; };
    a_->send(1, message("x", 1, &t));
    for (int i = 0; i < 1000 && t.status == 99; ++i) {
        b_->poll(0);
        a_->poll(0);
        if (t.status != 99) noticed_first = noticed;
    }
    EXPECT_EQ(t.status, SEA_OK);
    EXPECT_TRUE(noticed_first);
}

// Else what it points at stays for as long, and there is ever more of it.
TEST_F(ShmTransportTest, settles_what_was_executed_though_the_way_back_is_never_empty)
{
    std::vector<std::byte> filler(1 << 16);
    std::deque<told> sent;
    auto flood = [&](shm_transport &from, int to) {
        auto m = message(filler.data(), filler.size(), &sent.emplace_back());
        m.borrow = true;
        from.send(to, m);
    };
    const std::size_t under_way = 40; // 2.5 MB each way
    for (std::size_t i = 0; i < under_way / 2; ++i) flood(*a_, 1), flood(*b_, 0);
    for (int i = 0; i < 20000; ++i) {
        b_->poll(0);
        a_->poll(0);
        if (at_a_.all.size() * 8192 < filler.size() || at_b_.all.size() * 8192 < filler.size()) continue;
        at_a_.all.clear();
        at_b_.all.clear();
        flood(*a_, 1), flood(*b_, 0);
    }
    const auto settled =
        std::size_t(std::count_if(sent.begin(), sent.end(), [](const told &t) { return t.status != 99; }));
    EXPECT_GT(sent.size(), 10 * under_way);
    EXPECT_LT(sent.size() - settled, 3 * under_way);
}

// It is queued when all of what came at once has been executed, behind what that has led to. Of many lengths some leave
// no room for it in the ring.
TEST_F(ShmTransportTest, a_notice_arrives_before_its_cause_settles_though_it_is_made_late)
{
    std::vector<std::byte> filler((1 << 18) + (1 << 16));
    for (std::size_t bytes = 1 << 18; bytes <= filler.size(); bytes += 40) {
        auto fill = message(filler.data(), bytes, nullptr);
        fill.borrow = true;
        bool noticed = false, noticed_first = false, owed = false;
        at_b_.also = [&](int, const frame &) {
            b_->send(0, fill); // more than the ring holds
            owed = true;
        };
        at_b_.before_acknowledging = [&] {
            if (!std::exchange(owed, false)) return;
            outgoing notice;
            notice.head.type = frame_type::done;
            notice.notice = true;
            b_->send(0, notice);
        };
        at_a_.also = [&](int, const frame &f) { noticed |= f.type == frame_type::done; };
        told t;
        a_->send(1, message("x", 1, &t));
        for (int i = 0; i < 1000 && t.status == 99; ++i) {
            b_->poll(0);
            a_->poll(0);
            if (t.status != 99) noticed_first = noticed;
        }
        ASSERT_EQ(t.status, SEA_OK);
        ASSERT_TRUE(noticed_first);
    }
}

TEST_F(ShmTransportTest, rings_the_doorbell_of_who_sleeps_and_of_nobody_else)
{
    std::uint64_t count = 0;
    a_->send(1, message("x", 1, nullptr));
    EXPECT_LT(::read(arena_.slot_at(1).doorbell, &count, 8), 0);
    EXPECT_FALSE(b_->arm(true)); // there is work
    b_->disarm();
    run();
    EXPECT_TRUE(b_->arm(true));
    a_->send(1, message("y", 1, nullptr));
    EXPECT_EQ(::read(arena_.slot_at(1).doorbell, &count, 8), 8);
    b_->disarm();
}

TEST_F(ShmTransportTest, an_atomic_wakes_only_who_waits_for_memory)
{
    auto offset = b_->heap_of(1)->allocate(8);
    std::uint64_t count = 0, old = 0;
    ASSERT_TRUE(b_->arm(false));
    a_->atomic(1, offset, SEA_ATOMIC_ADD, 8, 1, 0, &old);
    EXPECT_LT(::read(arena_.slot_at(1).doorbell, &count, 8), 0);
    b_->disarm();
    ASSERT_TRUE(b_->arm(true));
    a_->atomic(1, offset, SEA_ATOMIC_ADD, 8, 1, 0, &old);
    EXPECT_EQ(::read(arena_.slot_at(1).doorbell, &count, 8), 8);
    b_->disarm();
}

TEST_F(ShmTransportTest, a_store_wakes_who_waits_for_memory_and_has_it_in_its_heap)
{
    std::uint64_t count = 0, elsewhere = 0;
    const auto rung = [&](unsigned slot) { return ::read(arena_.slot_at(slot).doorbell, &count, 8) == 8; };
    EXPECT_TRUE(a_->arm(true) && b_->arm(false));
    a_->wake_owner(arena_.heap_data(1)); // b does not wait for memory
    EXPECT_TRUE(b_->arm(true));
    for (const void *memory : {static_cast<const void *>(arena_.heap_data(0)), static_cast<const void *>(&elsewhere),
                               static_cast<const void *>(&arena_.slot_at(1)), static_cast<const void *>(nullptr)})
        a_->wake_owner(memory);
    EXPECT_FALSE(rung(0) || rung(1));
    a_->wake_owner(arena_.heap_data(1) + (1 << 20) - 8);
    EXPECT_TRUE(rung(1) && !rung(0));
    EXPECT_EQ(arena_.occupy(2, 2, 0), 0); // it comes later
    arena_.slot_at(2).doorbell = eventfd(0, EFD_NONBLOCK);
    arena_.slot_at(2).sleeping = asleep_for_memory;
    a_->wake_owner(arena_.heap_data(2) + 8);
    EXPECT_TRUE(rung(2) && !rung(1));
    ::close(arena_.slot_at(2).doorbell);
}

TEST_F(ShmTransportTest, a_bell_that_the_agent_rang_is_quiet_afterwards)
{
    std::uint64_t one = 1;
    ASSERT_TRUE(b_->arm(true));
    ASSERT_EQ(::write(arena_.slot_at(1).doorbell, &one, 8), 8);
    b_->was_woken();
    EXPECT_LT(::read(arena_.slot_at(1).doorbell, &one, 8), 0);
}

TEST_F(ShmTransportTest, settles_with_dead_what_a_dead_rank_did_not_execute)
{
    told t, u;
    a_->send(1, message("x", 1, &t));
    a_->peer_gone(1, false);
    EXPECT_EQ(t.status, SEA_ERR_DEAD);
    a_->send(1, message("x", 1, &u));
    EXPECT_EQ(u.status, SEA_ERR_DEAD);
    EXPECT_TRUE(at_b_.all.empty());
}

TEST_F(ShmTransportTest, a_message_to_a_dead_rank_that_was_never_heard_settles_with_dead)
{
    told t;
    a_->peer_gone(1, false);
    a_->send(1, message("x", 1, &t));
    EXPECT_EQ(t.status, SEA_ERR_DEAD);
}

// In a job that replaces its ranks every newcomer hears of all that have ended.
TEST_F(ShmTransportTest, the_end_of_a_rank_that_was_never_heard_touches_no_page)
{
    auto touched = [&] {
        bool any = false;
        for (auto [from, to] : {std::pair(0u, 1u), std::pair(1u, 0u)}) {
            const auto at = reinterpret_cast<std::uintptr_t>(&arena_.ring(from, to));
            const auto page = std::uintptr_t(sysconf(_SC_PAGESIZE));
            unsigned char is_there = 0;
            EXPECT_EQ(mincore(reinterpret_cast<void *>(at / page * page), page, &is_there), 0);
            any |= is_there & 1;
        }
        return any;
    };
    ASSERT_FALSE(touched());
    a_->peer_gone(1, false);
    EXPECT_FALSE(touched());
    a_->send(1, message("x", 1, nullptr));
    b_->send(0, message("x", 1, nullptr));
    EXPECT_TRUE(touched());
}

TEST_F(ShmTransportTest, what_a_rank_sent_before_its_end_is_taken_in_when_that_is_told)
{
    for (bool heard_before : {false, true}) {
        make({});
        at_b_.all.clear();
        if (heard_before) {
            a_->send(1, message("x", 1, nullptr));
            b_->poll(0);
        }
        a_->send(1, message("y", 1, nullptr));
        b_->peer_gone(0, false);
        EXPECT_EQ(at_b_.all.size(), heard_before ? 2u : 1u);
    }
}

TEST_F(ShmTransportTest, reaches_heaps_directly_and_refuses_what_is_not_allocated)
{
    auto offset = b_->heap_of(1)->allocate(100);
    std::uint64_t value = 7, old = 0;
    EXPECT_EQ(a_->put(1, offset + 8, &value, 8), SEA_OK);
    EXPECT_EQ(a_->atomic(1, offset + 8, SEA_ATOMIC_ADD, 8, 5, 0, &old), SEA_OK);
    EXPECT_EQ(old, 7u);
    EXPECT_EQ(a_->get(1, offset + 8, &value, 8), SEA_OK);
    EXPECT_EQ(value, 12u);
    EXPECT_EQ(a_->put(1, offset + 121, &value, 8), SEA_ERR_ADDRESS);
    EXPECT_EQ(a_->put(1, 0, &value, 8), SEA_ERR_ADDRESS);
    EXPECT_EQ(a_->atomic(1, offset + 128, SEA_ATOMIC_ADD, 8, 5, 0, &old), SEA_ERR_ADDRESS);
}

TEST_F(ShmTransportTest, reaches_registered_memory_and_respects_read_only)
{
    char memory[32] = "registered";
    auto open = b_->own_segments().add(memory, sizeof memory, 0);
    auto closed = b_->own_segments().add(memory, sizeof memory, SEA_READ_ONLY);
    char got[11] = {};
    EXPECT_EQ(a_->get(1, closed, got, 10), SEA_OK);
    EXPECT_STREQ(got, "registered");
    EXPECT_EQ(a_->put(1, open, "R", 1), SEA_OK);
    EXPECT_EQ(memory[0], 'R');
    EXPECT_EQ(a_->put(1, closed, "r", 1), SEA_ERR_ACCESS);
    EXPECT_EQ(a_->put(1, open + 32, "r", 1), SEA_ERR_ADDRESS);
}

TEST_F(ShmTransportTest, reaches_raw_space_only_while_it_is_open)
{
    std::uint64_t word = 5, value = 7, back = 0, old = 0;
    const std::uint64_t own = raw_space | reinterpret_cast<std::uint64_t>(&word);
    std::byte *heap = arena_.heap_data(1) + 4096;
    const std::uint64_t shared = raw_space | reinterpret_cast<std::uint64_t>(heap);
    std::size_t bad = 9;
    piece pieces[] = {{own, &value, 8}, {shared, &value, 8}, {raw_space | 64, &value, 8}, {own, &back, 8}};
    arena_.slot_at(1).heap_at = reinterpret_cast<std::uint64_t>(arena_.heap_data(1));
    EXPECT_EQ(a_->put(1, own, &value, 8), SEA_ERR_ACCESS);
    EXPECT_EQ(a_->get(1, shared, &back, 8), SEA_ERR_ACCESS);
    EXPECT_EQ(a_->atomic(1, shared, SEA_ATOMIC_ADD, 8, 1, 0, &old), SEA_ERR_ACCESS);
    EXPECT_EQ(a_->copy_pieces(1, pieces, true, &bad), SEA_ERR_ACCESS);
    EXPECT_EQ(word, 5u);
    arena_.slot_at(1).raw_open = 1;
    EXPECT_EQ(a_->put(1, own, &value, 8), SEA_OK);
    EXPECT_EQ(word, 7u);
    EXPECT_EQ(a_->put(1, shared, &value, 8), SEA_OK);
    EXPECT_EQ(a_->get(1, shared, &back, 8), SEA_OK);
    EXPECT_EQ(back, 7u);
    EXPECT_EQ(a_->atomic(1, shared, SEA_ATOMIC_ADD, 8, 1, 0, &old), SEA_OK);
    EXPECT_EQ(old, 7u);
    EXPECT_EQ(a_->atomic(1, own, SEA_ATOMIC_ADD, 8, 1, 0, &old), not_native); // private memory: by its owner
    word = 0;
    EXPECT_EQ(a_->copy_pieces(1, std::span(pieces).first(2), true, &bad), SEA_OK);
    EXPECT_EQ(word, 7u);
    EXPECT_EQ(a_->copy_pieces(1, pieces, true, &bad), SEA_ERR_ADDRESS);
    EXPECT_EQ(bad, 2u);
    EXPECT_EQ(b_->put(1, own, &value, 8), not_native); // own: carefully, under the lock
    EXPECT_EQ(b_->put(1, shared, &value, 8), SEA_OK);
    std::vector<bool> passed;
    EXPECT_TRUE(b_->nobody_copies(&passed)); // no pin is left
}

TEST_F(ShmTransportTest, private_memory_is_left_to_messages_where_processes_do_not_know_each_other_by_number)
{
    std::uint64_t word = 5, back = 0;
    std::size_t bad = 9;
    const auto registered = b_->own_segments().add(&word, sizeof word, 0);
    const std::uint64_t raw = raw_space | reinterpret_cast<std::uint64_t>(&word);
    const piece pieces[] = {{raw, &back, 8}, {raw, &back, 8}};
    arena_.slot_at(1).raw_open = 1;
    for (unsigned elsewhere : {0u, 1u}) {
        arena_.slot_at(elsewhere).pid = 0;
        EXPECT_EQ(a_->get(1, registered, &back, 8), not_native);
        EXPECT_EQ(a_->get(1, raw, &back, 8), not_native);
        EXPECT_EQ(a_->copy_pieces(1, pieces, false, &bad), not_native);
        arena_.slot_at(elsewhere).pid = getpid();
        EXPECT_EQ(a_->get(1, registered, &back, 8), SEA_OK);
    }
}

TEST_F(ShmTransportTest, a_rank_that_comes_later_is_reached_as_soon_as_it_is_in_the_tables)
{
    arena_.header().world = arena_.header().ranks = 2;
    EXPECT_FALSE(a_->reach(5));
    arena_.occupy(2, 5, 0);
    EXPECT_FALSE(a_->reach(5));
    arena_.ranks().place(5, 0, 0);
    arena_.header().ranks = 6;
    EXPECT_TRUE(a_->reach(5));
    EXPECT_EQ(a_->slot_of(5), 2u);
    EXPECT_EQ(a_->slot_of(1), 1u);
    auto offset = a_->heap_of(5)->allocate(8);
    std::uint64_t value = 7;
    EXPECT_EQ(b_->put(5, offset, &value, 8), SEA_OK);
    EXPECT_EQ(a_->get(5, offset, &value, 8), SEA_OK);
    arena_.ranks().place(4, 1, 0); // of another node
    EXPECT_FALSE(a_->reach(4));
    EXPECT_FALSE(a_->reach(6));
    EXPECT_FALSE(a_->reach(-1));
}

TEST_F(ShmTransportTest, who_reaches_nobody_else_does_not_reach_later_ones_either)
{
    shm_transport alone(arena_, 1, true, at_b_);
    arena_.header().world = 2;
    arena_.header().ranks = 3;
    arena_.occupy(2, 2, 0);
    arena_.ranks().place(2, 0, 0);
    EXPECT_TRUE(alone.reach(1));
    EXPECT_FALSE(alone.reach(0));
    EXPECT_FALSE(alone.reach(2));
    shm_transport later(arena_, 2, true, at_b_);
    EXPECT_TRUE(later.reach(2));
    EXPECT_FALSE(later.reach(1));
    EXPECT_NE(later.heap_of(2)->allocate(8), 0u);
}

} // namespace
