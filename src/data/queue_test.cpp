// SPDX-License-Identifier: Apache-2.0
#include "data/plain_heap.hpp"
#include "data/queue.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

using namespace onesea::data;

namespace {

struct queue_bench {
    plain_heap heap{1 << 20};
    sea_addr at = SEA_NULL;
    queue_answer answer;
    std::uint32_t wake = 0;

    explicit queue_bench(std::uint64_t limit)
    {
        queue_arguments a;
        a.room = limit;
        EXPECT_EQ(SEA_OK, run(queue_create, a));
        at = answer.handle;
    }
    int run(verb_on<queue_arguments> fn, const queue_arguments &a, const std::string &data = {},
            std::string *out = nullptr)
    {
        execution x = heap.start(at);
        x.data = std::as_bytes(std::span(data));
        const int s = fn(x, a);
        wake = x.wake;
        if (x.result_bytes == sizeof answer) std::memcpy(&answer, x.result, sizeof answer);
        if (out) out->assign(reinterpret_cast<char *>(x.output.data()), x.output.size());
        return s;
    }
    int push(const std::string &s, int rank = 0, bool wait = false) { return run(queue_push, {0, rank, wait}, s); }
    int pop(std::string *out, int rank = 0, bool wait = false, std::uint64_t room = 1000)
    {
        return run(queue_pop, {room, rank, wait}, {}, out);
    }
};

} // namespace

TEST(queue, gives_out_in_order_what_was_put_in_under_random_operations)
{
    queue_bench b(0);
    std::deque<std::string> model;
    std::mt19937 dice(5);
    for (int i = 0; i < 20000; ++i) {
        if (dice() % 2) {
            const std::string s(dice() % 50, char('a' + i % 26));
            ASSERT_EQ(SEA_OK, b.push(s));
            ASSERT_EQ(1u, b.answer.done);
            model.push_back(s);
        } else {
            std::string out;
            ASSERT_EQ(SEA_OK, b.pop(&out));
            ASSERT_EQ(model.empty() ? 0u : 1u, b.answer.done);
            if (model.empty()) continue;
            ASSERT_EQ(model.front(), out);
            model.pop_front();
        }
        ASSERT_EQ(SEA_OK, b.run(queue_size, {}));
        ASSERT_EQ(model.size(), b.answer.elements);
    }
    ASSERT_EQ(SEA_OK, b.run(queue_destroy, {}));
    EXPECT_EQ(0u, b.heap.heap().used());
}

TEST(queue, element_larger_than_the_room_stays_the_first)
{
    queue_bench b(0);
    ASSERT_EQ(SEA_OK, b.push("large"));
    std::string out;
    EXPECT_EQ(SEA_ERR_INVALID, b.pop(&out, 0, false, 4));
    EXPECT_EQ(SEA_OK, b.pop(&out, 0, false, 5));
    EXPECT_EQ("large", out);
}

TEST(queue, limit_holds_and_an_element_beyond_it_is_refused)
{
    queue_bench b(48);
    EXPECT_EQ(SEA_ERR_INVALID, b.push(std::string(41, 'x')));
    ASSERT_EQ(SEA_OK, b.push("12345678"));
    ASSERT_EQ(SEA_OK, b.push("12345678"));
    ASSERT_EQ(SEA_OK, b.push("12345678"));
    ASSERT_EQ(SEA_OK, b.push("x"));
    EXPECT_EQ(0u, b.answer.done);
}

TEST(queue, who_waits_is_told_in_order_and_dead_ones_are_passed_over)
{
    queue_bench b(16);
    std::string out;
    for (int rank : {4, 5, 6}) ASSERT_EQ(SEA_OK, b.pop(&out, rank, true));
    plain_heap::dead = 5;
    ASSERT_EQ(SEA_OK, b.push("a"));
    EXPECT_EQ(4u + 1, b.wake);
    ASSERT_EQ(SEA_OK, b.push("b", 2, true)); // no room
    EXPECT_EQ(0u, b.answer.done);
    ASSERT_EQ(SEA_OK, b.pop(&out, 4, true));
    EXPECT_EQ(2u + 1, b.wake); // there is room now
    ASSERT_EQ(SEA_OK, b.push("b", 2, true));
    EXPECT_EQ(6u + 1, b.wake);
    plain_heap::dead = -1;
}

TEST(queue, many_who_wait_do_not_make_it_grow)
{
    queue_bench b(0);
    const std::uint64_t before = b.heap.heap().used();
    std::string out;
    for (int rank = 0; rank < 1000; ++rank) ASSERT_EQ(SEA_OK, b.pop(&out, rank, true));
    EXPECT_EQ(before, b.heap.heap().used());
}

TEST(queue, length_that_was_written_over_is_an_error)
{
    queue_bench b(0);
    ASSERT_EQ(SEA_OK, b.push("hello"));
    auto &c = *b.heap.view().as<queue_control>(sea_addr_offset(b.at) & ~tag_mask);
    const sequence_state &s = c.state[c.current];
    for (std::uint64_t nonsense : {std::uint64_t(9), std::uint64_t(1) << 40, ~std::uint64_t(0)}) {
        *b.heap.view().as<std::uint64_t>(s.block + s.begin) = nonsense;
        std::string out;
        EXPECT_EQ(SEA_ERR_ADDRESS, b.pop(&out, 0, false, ~std::uint64_t(0)));
    }
}

// The heap has no room for a second block.
TEST(queue, that_is_full_takes_in_what_it_has_given_out_again_and_again)
{
    queue_bench b(300000);
    std::deque<std::string> model;
    const auto text = [](int i) { return std::string(900, char('a' + i % 26)); };
    int i = 0;
    for (; b.push(text(i)) == SEA_OK && b.answer.done; ++i) model.push_back(text(i));
    ASSERT_EQ(300000u / 912, model.size());
    for (std::uint64_t bytes = 1 << 20; bytes >= 64;)
        if (!b.heap.heap().allocate(bytes)) bytes /= 2;
    for (const int end = i + 3000; i < end; ++i) {
        std::string out;
        ASSERT_EQ(SEA_OK, b.pop(&out));
        ASSERT_EQ(model.front(), out);
        model.pop_front();
        ASSERT_EQ(SEA_OK, b.push(text(i))) << i;
        ASSERT_EQ(1u, b.answer.done);
        model.push_back(text(i));
    }
}
