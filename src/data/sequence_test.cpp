// SPDX-License-Identifier: Apache-2.0
#include "data/plain_heap.hpp"
#include "data/sequence.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>

using namespace onesea::data;

namespace {

std::span<const std::byte> bytes_of(const std::string &s) { return std::as_bytes(std::span(s)); }

struct sequence_bench {
    plain_heap heap{1 << 20};
    kind what;
    sea_addr at = SEA_NULL;

    explicit sequence_bench(kind k) : what(k) { at = create(0); }
    sea_addr create(std::uint64_t capacity)
    {
        execution x = heap.start(SEA_NULL);
        EXPECT_EQ(SEA_OK, sequence_create(x, {what, 0, capacity, 0}));
        sequence_answer a;
        std::memcpy(&a, x.result, sizeof a);
        return a.position;
    }
    int insert(std::uint64_t position, const std::string &s, std::uint32_t flags = 0)
    {
        execution x = heap.start(at);
        x.data = bytes_of(s);
        return sequence_insert(x, {what, flags, position, s.size()});
    }
    int erase(std::uint64_t position, std::uint64_t n, std::uint32_t flags = 0, std::string *out = nullptr)
    {
        execution x = heap.start(at);
        int s = sequence_erase(x, {what, flags | want_bytes, position, n});
        if (out) out->assign(reinterpret_cast<char *>(x.output.data()), x.output.size());
        return s;
    }
    int write(std::uint64_t position, const std::string &s)
    {
        execution x = heap.start(at);
        x.data = bytes_of(s);
        return sequence_write(x, {what, 0, position, s.size()});
    }
    int assign(const std::string &s)
    {
        execution x = heap.start(at);
        x.data = bytes_of(s);
        return sequence_assign(x, {what, 0, 0, s.size()});
    }
    std::string contents(sea_addr of)
    {
        execution x = heap.start(of);
        EXPECT_EQ(SEA_OK, sequence_read(x, {what, rest, 0, 0}));
        return {reinterpret_cast<char *>(x.output.data()), x.output.size()};
    }
    std::string contents() { return contents(at); }
    sequence_control &control(sea_addr of)
    {
        return *heap.view().as<sequence_control>(sea_addr_offset(of) & ~tag_mask);
    }
};

std::string text(std::mt19937 &dice, std::size_t most)
{
    std::string s(dice() % (most + 1), ' ');
    for (char &c : s) c = char('a' + dice() % 26);
    return s;
}

void random_operations(kind what, unsigned seed)
{
    sequence_bench b(what);
    std::mt19937 dice(seed);
    std::string model;
    for (int i = 0; i < 4000; ++i) {
        const std::string s = text(dice, 40);
        const std::uint64_t position = dice() % (model.size() + 1), n = dice() % (model.size() - position + 1);
        std::string out;
        switch (dice() % 9) {
        case 0:
            ASSERT_EQ(SEA_OK, b.insert(0, s, from_end));
            model += s;
            break;
        case 1:
            ASSERT_EQ(SEA_OK, b.insert(0, s));
            model = s + model;
            break;
        case 2:
            ASSERT_EQ(SEA_OK, b.insert(position, s));
            model.insert(position, s);
            break;
        case 3:
            ASSERT_EQ(SEA_OK, b.erase(position, n, 0, &out));
            ASSERT_EQ(model.substr(position, n), out);
            model.erase(position, n);
            break;
        case 4:
            ASSERT_EQ(SEA_OK, b.erase(0, n, from_end, &out));
            ASSERT_EQ(model.substr(model.size() - n), out);
            model.erase(model.size() - n);
            break;
        case 5:
            ASSERT_EQ(SEA_OK, b.erase(0, n, 0, &out));
            ASSERT_EQ(model.substr(0, n), out);
            model.erase(0, n);
            break;
        case 6:
            if (position + s.size() > model.size()) break;
            ASSERT_EQ(SEA_OK, b.write(position, s));
            model.replace(position, s.size(), s);
            break;
        case 7:
            if (dice() % 8) break;
            ASSERT_EQ(SEA_OK, b.assign(s));
            model = s;
            break;
        default: { // a queue's use
            ASSERT_EQ(SEA_OK, b.insert(0, s, from_end));
            model += s;
            const std::size_t front = std::min(s.size(), model.size());
            ASSERT_EQ(SEA_OK, b.erase(0, front));
            model.erase(0, front);
        }
        }
        ASSERT_EQ(model, b.contents()) << "seed " << seed << ", step " << i;
    }
    ASSERT_TRUE(b.heap.heap().consistent());
    execution x = b.heap.start(b.at);
    ASSERT_EQ(SEA_OK, sequence_destroy(x, {what, 0, 0, 0}));
    EXPECT_EQ(0u, b.heap.heap().used());
}

} // namespace

TEST(sequence, vector_does_what_a_string_does_under_random_operations)
{
    for (unsigned seed = 1; seed <= 8; ++seed) random_operations(kind::vector, seed);
}

TEST(sequence, deque_does_what_a_string_does_under_random_operations)
{
    for (unsigned seed = 1; seed <= 8; ++seed) random_operations(kind::deque, seed);
}

TEST(sequence, deque_used_as_a_queue_does_not_grow)
{
    sequence_bench b(kind::deque);
    for (int i = 0; i < 8; ++i) ASSERT_EQ(SEA_OK, b.insert(0, "12345678", from_end));
    std::uint64_t before = 0;
    for (int i = 0; i < 10000; ++i) {
        ASSERT_EQ(SEA_OK, b.insert(0, "abcdefgh", from_end));
        ASSERT_EQ(SEA_OK, b.erase(0, 8));
        if (i == 1000) before = b.heap.heap().used();
    }
    EXPECT_EQ(before, b.heap.heap().used());
    EXPECT_LT(before, 4096u);
}

TEST(sequence, deque_that_takes_in_its_middle_what_it_gives_in_front_does_not_grow)
{
    sequence_bench b(kind::deque);
    ASSERT_EQ(SEA_OK, b.insert(0, std::string(64, 'x')));
    for (int i = 0; i < 10000; ++i) {
        ASSERT_EQ(SEA_OK, b.insert(56, "abcdefgh"));
        ASSERT_EQ(SEA_OK, b.erase(0, 8));
    }
    EXPECT_EQ(64u, b.contents().size());
    EXPECT_LT(b.heap.heap().used(), 4096u);
}

TEST(sequence, deque_that_grows_at_both_ends_in_turn_moves_each_byte_seldom)
{
    sequence_bench b(kind::deque);
    sea_addr block = 0;
    int moves = 0;
    for (int i = 0; i < 20000; ++i) {
        ASSERT_EQ(SEA_OK, b.insert(0, "x", i % 2 ? from_end : 0));
        const sequence_control &c = b.control(b.at);
        const sea_addr now = c.state[c.current].block;
        moves += now != block;
        block = now;
    }
    EXPECT_LT(moves, 40);
}

TEST(sequence, ranges_outside_are_refused_and_change_nothing)
{
    sequence_bench b(kind::vector);
    ASSERT_EQ(SEA_OK, b.insert(0, "hello"));
    EXPECT_EQ(SEA_ERR_ADDRESS, b.insert(6, "x"));
    EXPECT_EQ(SEA_ERR_ADDRESS, b.erase(3, 3));
    EXPECT_EQ(SEA_ERR_ADDRESS, b.erase(0, ~std::uint64_t(0)));
    EXPECT_EQ(SEA_ERR_ADDRESS, b.erase(0, 6, from_end));
    EXPECT_EQ(SEA_ERR_ADDRESS, b.write(4, "xx"));
    EXPECT_EQ("hello", b.contents());
}

TEST(sequence, what_does_not_fit_the_heap_is_refused_and_changes_nothing)
{
    sequence_bench b(kind::deque);
    ASSERT_EQ(SEA_OK, b.insert(0, std::string(300000, 'a')));
    EXPECT_EQ(SEA_ERR_MEMORY, b.insert(5, std::string(1 << 20, 'b')));
    EXPECT_EQ(SEA_ERR_MEMORY, b.insert(0, std::string(900000, 'b'), from_end));
    execution x = b.heap.start(b.at);
    EXPECT_EQ(SEA_ERR_MEMORY, sequence_reserve(x, {kind::deque, 0, ~std::uint64_t(0), 0}));
    EXPECT_EQ(std::string(300000, 'a'), b.contents());
}

// The heap has no room for a second block as long as the first one.
TEST(sequence, deque_fills_its_own_room_from_either_end)
{
    for (std::uint32_t to : {0u, from_end}) {
        sequence_bench b(kind::deque);
        execution x = b.heap.start(b.at);
        ASSERT_EQ(SEA_OK, sequence_reserve(x, {kind::deque, 0, 700000, 0}));
        std::string model;
        for (char c : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'}) {
            const std::string s(100000, c);
            if (model.size() == 700000) {
                ASSERT_EQ(SEA_ERR_MEMORY, b.insert(0, s, to));
                ASSERT_EQ(SEA_OK, b.erase(0, 100000, to ? 0 : from_end));
                model.erase(to ? 0 : 600000, 100000);
            }
            ASSERT_EQ(SEA_OK, b.insert(0, s, to)) << c;
            to ? model += s : model.insert(0, s);
            ASSERT_EQ(model, b.contents());
        }
        ASSERT_EQ(SEA_OK, b.erase(0, 100000));
        ASSERT_EQ(SEA_OK, b.insert(250000, std::string(100000, 'm')));
        EXPECT_EQ(model.erase(0, 100000).insert(250000, 100000, 'm'), b.contents());
        EXPECT_TRUE(b.heap.heap().consistent());
        execution end = b.heap.start(b.at);
        ASSERT_EQ(SEA_OK, sequence_destroy(end, {kind::deque, 0, 0, 0}));
        EXPECT_EQ(0u, b.heap.heap().used());
    }
}

TEST(sequence, output_that_cannot_go_back_is_refused_and_nothing_changes)
{
    for (kind k : {kind::vector, kind::deque}) {
        sequence_bench b(k);
        ASSERT_EQ(SEA_OK, b.assign("0123456789"));
        execution x = b.heap.start(b.at);
        x.most_output = 4;
        EXPECT_THROW(sequence_erase(x, {k, want_bytes, 0, 5}), output_too_long);
        EXPECT_EQ("0123456789", b.contents(b.at)); // and it is not locked
        EXPECT_EQ(SEA_OK, sequence_erase(x, {k, want_bytes, 0, 4}));
        EXPECT_EQ("456789", b.contents(b.at));
    }
}

TEST(sequence, its_own_bytes_can_be_inserted_into_it)
{
    sequence_bench b(kind::vector);
    ASSERT_EQ(SEA_OK, b.insert(0, "abcdef"));
    execution x = b.heap.start(b.at);
    const sequence_control &c = b.control(b.at);
    x.data = {b.heap.view().at(c.state[c.current].block + 2), 3};
    ASSERT_EQ(SEA_OK, sequence_insert(x, {kind::vector, 0, 1, 3}));
    EXPECT_EQ("acdebcdef", b.contents());
}

TEST(sequence, swap_exchanges_contents)
{
    sequence_bench b(kind::vector);
    const sea_addr other = b.create(0);
    ASSERT_EQ(SEA_OK, b.insert(0, "one"));
    execution x = b.heap.start(other);
    ASSERT_EQ(SEA_OK, sequence_swap(x, {kind::vector, 0, b.at, 0}));
    EXPECT_EQ("one", b.contents(other));
    EXPECT_EQ("", b.contents());
    execution same = b.heap.start(b.at);
    EXPECT_EQ(SEA_OK, sequence_swap(same, {kind::vector, 0, b.at, 0}));
}

TEST(sequence, handle_of_a_destroyed_one_is_refused_also_when_its_place_is_used_again)
{
    sequence_bench b(kind::vector);
    const sea_addr old = b.at;
    execution x = b.heap.start(old);
    ASSERT_EQ(SEA_OK, sequence_destroy(x, {kind::vector, 0, 0, 0}));
    execution again = b.heap.start(old);
    EXPECT_EQ(SEA_ERR_HANDLE, sequence_destroy(again, {kind::vector, 0, 0, 0}));
    const sea_addr other = b.create(0);
    ASSERT_EQ(old & ~tag_mask, other & ~tag_mask);
    execution stale = b.heap.start(old);
    EXPECT_EQ(SEA_ERR_HANDLE, sequence_clear(stale, {kind::vector, 0, 0, 0}));
    execution wrong_kind = b.heap.start(other);
    EXPECT_EQ(SEA_ERR_HANDLE, sequence_clear(wrong_kind, {kind::deque, 0, 0, 0}));
    for (sea_addr nonsense :
         {sea_addr(0), sea_addr(64), ~sea_addr(0), sea_addr(other + 64), sea_addr(other ^ 1 << 30)}) {
        execution y = b.heap.start(nonsense);
        EXPECT_EQ(SEA_ERR_HANDLE, sequence_clear(y, {kind::vector, 0, 0, 0}));
    }
}

TEST(sequence, handle_is_another_one_also_when_its_place_had_other_uses_meanwhile)
{
    sequence_bench b(kind::vector);
    const sea_addr place = b.at & ~tag_mask;
    sea_addr last = b.at;
    for (int i = 0; i < 100; ++i) {
        execution x = b.heap.start(last);
        ASSERT_EQ(SEA_OK, sequence_destroy(x, {kind::vector, 0, 0, 0}));
        const std::uint64_t other = b.heap.heap().allocate(sizeof(sequence_control));
        ASSERT_EQ(sea_addr_offset(place), other);
        std::memset(b.heap.view().at(other), 7, sizeof(sequence_control)); // the same each time
        ASSERT_TRUE(b.heap.heap().release(other));
        const sea_addr next = b.create(0);
        ASSERT_EQ(place, next & ~tag_mask);
        EXPECT_NE(last, next);
        last = next;
    }
}

TEST(sequence, control_block_that_was_written_over_is_an_error)
{
    sequence_bench b(kind::vector);
    ASSERT_EQ(SEA_OK, b.insert(0, "hello"));
    sequence_control &c = b.control(b.at);
    c.state[c.current].size = 1ull << 50;
    EXPECT_EQ(SEA_ERR_ADDRESS, b.insert(0, "x"));
    c.state[c.current].size = 5;
    c.state[c.current].block = 1ull << 38;
    EXPECT_EQ(SEA_ERR_ADDRESS, b.insert(0, "x"));
}

TEST(sequence, lock_of_another_is_busy_and_that_of_a_dead_rank_is_taken_over)
{
    sequence_bench b(kind::vector);
    ASSERT_EQ(SEA_OK, b.insert(0, "hello"));
    b.control(b.at).holder = 7 + 1;
    EXPECT_EQ(busy, b.insert(0, "x"));
    plain_heap::dead = 7;
    EXPECT_EQ(SEA_OK, b.insert(0, "x"));
    plain_heap::dead = -1;
    EXPECT_EQ("xhello", b.contents());
}

TEST(sequence, change_that_was_cut_by_a_death_is_told_and_destroy_works)
{
    sequence_bench b(kind::vector);
    ASSERT_EQ(SEA_OK, b.insert(0, "hello"));
    b.control(b.at).holder = 7 + 1;
    b.control(b.at).editing = 1;
    plain_heap::dead = 7;
    for (int i = 0; i < 2; ++i) {
        execution x = b.heap.start(b.at);
        EXPECT_EQ(SEA_ERR_DEAD, sequence_clear(x, {kind::vector, 0, 0, 0}));
        EXPECT_EQ(why::cut, x.reason);
        EXPECT_EQ(7u, x.a);
        plain_heap::dead = -1;
    }
    execution x = b.heap.start(b.at);
    EXPECT_EQ(SEA_OK, sequence_destroy(x, {kind::vector, 0, 0, 0}));
    EXPECT_EQ(0u, b.heap.heap().used());
}

TEST(sequence, pushes_of_many_threads_are_all_there_once)
{
    sequence_bench b(kind::deque);
    constexpr int threads = 4, pushes = 2000;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&b, t] {
            for (int i = 0; i < pushes; ++i) {
                execution x = b.heap.start(b.at);
                x.who.deadline = onesea::never;
                const std::uint32_t value = std::uint32_t(t * pushes + i);
                x.data = std::as_bytes(std::span(&value, 1));
                ASSERT_EQ(SEA_OK, sequence_insert(x, {kind::deque, i % 2 ? from_end : 0, 0, sizeof value}));
            }
        });
    for (auto &t : all) t.join();
    const std::string s = b.contents();
    ASSERT_EQ(s.size(), std::size_t(threads * pushes) * 4);
    std::vector<int> seen(threads * pushes);
    for (std::size_t i = 0; i < s.size(); i += 4) {
        std::uint32_t value;
        std::memcpy(&value, s.data() + i, 4);
        ASSERT_LT(value, seen.size());
        ++seen[value];
    }
    for (int n : seen) ASSERT_EQ(1, n);
}
