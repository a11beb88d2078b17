// SPDX-License-Identifier: Apache-2.0
#include "shm/lane.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace onesea::shm;

namespace {

template <std::size_t Cells>
struct storage_of {
    lane_control control{};
    alignas(64) cell cells[Cells]{};
    basic_lane_writer<Cells> in{control, cells};
    basic_lane_reader<Cells> out{control, cells};
};
using lane_storage = storage_of<lane_cells>;

std::vector<std::byte> content(std::uint64_t number, std::size_t bytes)
{
    std::vector<std::byte> p(bytes);
    for (std::size_t i = 0; i < bytes; ++i) p[i] = std::byte(number * 31 + i);
    return p;
}

template <std::size_t Cells>
bool push(basic_lane_writer<Cells> &w, std::uint64_t number, std::size_t bytes)
{
    auto p = content(number, bytes);
    return w.push({std::uint16_t(number % 7), std::int32_t(number % 1000), number, bytes, p.data()}, number % 2 == 1);
}

void expect(const lane_item &item, std::uint64_t number, std::size_t bytes)
{
    ASSERT_EQ(item.team, number);
    ASSERT_EQ(item.kind, number % 7);
    ASSERT_EQ(item.tag, std::int32_t(number % 1000));
    ASSERT_EQ(item.bytes, bytes);
    auto p = content(number, bytes);
    ASSERT_EQ(bytes == 0 || std::memcmp(item.data, p.data(), bytes) == 0, true);
}

TEST(lane, is_empty_at_first_and_refuses_when_full)
{
    auto s = std::make_unique<lane_storage>();
    EXPECT_FALSE(s->out.ready());
    std::uint64_t n = 0;
    while (push(s->in, n, 8)) ++n;
    EXPECT_EQ(n, lane_cells);
    EXPECT_TRUE(s->in.is_crowded());
    lane_item item;
    for (std::uint64_t i = 0; i < n; ++i) {
        ASSERT_TRUE(s->out.front(&item));
        expect(item, i, 8);
        s->out.pop();
    }
    EXPECT_FALSE(s->out.front(&item));
    EXPECT_TRUE(s->in.has_room());
    EXPECT_TRUE(push(s->in, n, lane::most_bytes));
}

TEST(lane, has_room_up_to_half_of_its_cells_and_is_crowded_beyond_three_quarters)
{
    auto s = std::make_unique<lane_storage>();
    for (std::uint64_t n = 0; n < lane_cells / 2; ++n) ASSERT_TRUE(push(s->in, n, 8));
    EXPECT_TRUE(s->in.has_room());
    for (std::uint64_t n = 0; n < lane_cells / 4; ++n) {
        ASSERT_TRUE(push(s->in, n, 8));
        EXPECT_FALSE(s->in.has_room());
        EXPECT_FALSE(s->in.is_crowded());
    }
    ASSERT_TRUE(push(s->in, lane_cells / 4 * 3, 8));
    EXPECT_TRUE(s->in.is_crowded());
    lane_item item;
    while (s->out.front(&item) && !s->out.pop()) continue;
    EXPECT_FALSE(s->in.is_crowded()) << "it knows of a quarter that is free";
    while (s->out.front(&item) && !s->out.pop()) continue;
    EXPECT_TRUE(s->in.has_room());
}

// A quarter at a time, also by a reader that was moved, as those in a growing array are.
TEST(lane, tells_the_producer_of_all_room_that_there_is_a_quarter_at_a_time)
{
    auto s = std::make_unique<lane_storage>();
    std::uint64_t next = 0, taken = 0;
    lane_item item;
    auto reader = std::make_unique<lane_reader>(std::move(s->out));
    for (int lap = 0; lap < 3; ++lap) {
        while (push(s->in, next, 8)) ++next;
        for (std::size_t i = 0; i < lane_cells; ++i) {
            ASSERT_TRUE(reader->front(&item));
            expect(item, taken, 8);
            const bool told = reader->pop();
            EXPECT_EQ(told, ++taken % (lane_cells / 4) == 0) << taken;
            const std::uint64_t before = next;
            while (push(s->in, next, 8)) ++next;
            EXPECT_EQ(next - before, told ? lane_cells / 4 : 0);
            reader = std::make_unique<lane_reader>(std::move(*reader));
        }
    }
}

// What does not fit the lane does not come out of it.
TEST(lane, of_a_producer_gone_mad_nothing_is_taken_that_would_lead_out_of_it)
{
    auto s = std::make_unique<lane_storage>();
    ASSERT_TRUE(push(s->in, 1, 8));
    lane_item item;
    auto &head = *reinterpret_cast<cell_head *>(&s->cells[0]);
    const std::uint32_t all = lane_cells * sizeof(cell) - sizeof(cell_head);
    for (const std::uint32_t bytes : {all + 1, 1u << 31, ~0u}) {
        head.bytes = bytes;
        EXPECT_FALSE(s->out.front(&item)) << bytes;
    }
    head.bytes = all;
    EXPECT_TRUE(s->out.front(&item));
}

template <std::size_t Cells>
void pass_messages_of_all_sizes()
{
    auto s = std::make_unique<storage_of<Cells>>();
    std::mt19937 dice(5);
    std::deque<std::pair<std::uint64_t, std::size_t>> there;
    std::uint64_t next = 0;
    for (int i = 0; i < 60000; ++i) {
        const std::size_t bytes = dice() % 3 ? dice() % 100 : dice() % (basic_lane<Cells>::most_bytes + 1);
        if (dice() % 2 && push(s->in, next, bytes)) there.emplace_back(next++, bytes);
        lane_item item;
        if (dice() % 2) continue;
        ASSERT_EQ(s->out.front(&item), !there.empty());
        if (there.empty()) continue;
        expect(item, there.front().first, there.front().second);
        there.pop_front();
        s->out.pop();
    }
    EXPECT_GT(next, 5000u);
}

TEST(lane, keeps_messages_of_all_sizes_through_many_laps)
{
    pass_messages_of_all_sizes<lane_cells>();
    pass_messages_of_all_sizes<short_lane_cells>();
}

// In whichever cell a message ends, where the end of the lane is skipped, and when single cells follow long messages.
TEST(lane, data_that_looks_like_heads_is_not_taken_for_one)
{
    auto s = std::make_unique<lane_storage>();
    std::mt19937 dice(11);
    std::vector<std::uint32_t> laps(lane::most_bytes / 4);
    std::deque<std::size_t> there;
    std::uint64_t tail = 0; // as the writer counts
    lane_item item;
    auto take = [&] {
        ASSERT_TRUE(s->out.front(&item));
        ASSERT_EQ(item.bytes, there.front());
        there.pop_front();
        s->out.pop();
    };
    for (int i = 0; i < 40000; ++i) {
        const bool one_cell_each = i / 1500 % 2;
        const std::size_t bytes = one_cell_each ? dice() % 41 : dice() % (dice() % 2 ? 200 : lane::most_bytes + 1);
        const std::size_t cells = (sizeof(cell_head) + bytes + sizeof(cell) - 1) / sizeof(cell);
        if (tail % lane_cells + cells > lane_cells) tail += lane_cells - tail % lane_cells;
        std::fill(laps.begin(), laps.end(), std::uint32_t(tail / lane_cells + 1 + dice() % 3));
        while (!s->in.push({1, 0, 0, bytes, laps.data()})) take();
        tail += cells;
        there.push_back(bytes);
        if (dice() % 8) continue;
        while (!there.empty()) take();
        ASSERT_FALSE(s->out.ready()) << i;
    }
}

// The word that makes a message visible is written last: without it all else may be there, and it is none.
TEST(lane, of_a_producer_killed_inside_a_message_there_is_all_that_was_before)
{
    std::mt19937 dice(3);
    for (int round = 0; round < 300; ++round) {
        auto s = std::make_unique<lane_storage>();
        std::deque<std::pair<std::uint64_t, std::size_t>> there;
        lane_item item;
        const std::uint64_t lives = 1 + dice() % 200;
        std::uint64_t next = 1;
        std::uint32_t before[lane_cells];
        auto lap_at = [&](std::size_t i) -> auto & { return reinterpret_cast<cell_head *>(&s->cells[i])->lap; };
        while (true) {
            const std::size_t bytes = dice() % 2 ? dice() % 200 : dice() % (lane::most_bytes + 1);
            for (std::size_t i = 0; i < lane_cells; ++i) before[i] = lap_at(i);
            const bool pushed = push(s->in, next, bytes);
            if (pushed && next == lives) break;
            if (pushed) there.emplace_back(next++, bytes);
            for (std::size_t n = pushed ? dice() % 2 : 1 + dice() % 3; n > 0 && !there.empty(); --n) {
                ASSERT_TRUE(s->out.front(&item));
                expect(item, there.front().first, there.front().second);
                there.pop_front();
                s->out.pop();
            }
        }
        for (std::size_t i = 0; i < lane_cells; ++i)
            if (reinterpret_cast<cell_head *>(&s->cells[i])->team == lives && lap_at(i) != before[i])
                lap_at(i) = before[i];
        for (; !there.empty(); there.pop_front()) {
            ASSERT_TRUE(s->out.front(&item));
            expect(item, there.front().first, there.front().second);
            s->out.pop();
        }
        EXPECT_FALSE(s->out.front(&item)) << round;
    }
}

TEST(lane, a_reader_far_behind_finds_every_message_whole)
{
    auto s = std::make_unique<lane_storage>();
    std::uint64_t next = 0, taken = 0;
    auto size_of = [](std::uint64_t n) { return std::size_t(n * 2654435761u % (n % 3 ? 120 : lane::most_bytes)); };
    lane_item item;
    for (int lap = 0; lap < 400; ++lap) {
        while (push(s->in, next, size_of(next))) ++next;
        for (const std::uint64_t until = next - std::uint64_t(lap % 3); taken < until; ++taken) {
            ASSERT_TRUE(s->out.front(&item));
            expect(item, taken, size_of(taken));
            s->out.pop();
        }
    }
    EXPECT_GT(next, 4000u);
}

template <std::size_t Cells>
void let_two_threads_meet()
{
    auto s = std::make_unique<storage_of<Cells>>();
    constexpr std::uint64_t n = 20000;
    std::thread writer([&] {
        for (std::uint64_t i = 0; i < n;)
            if (push(s->in, i, i % 200))
                ++i;
            else
                std::this_thread::yield();
    });
    for (std::uint64_t i = 0; i < n;) {
        lane_item item;
        if (!s->out.front(&item)) {
            std::this_thread::yield();
            continue;
        }
        expect(item, i, i % 200);
        s->out.pop();
        ++i;
    }
    writer.join();
}

TEST(lane, two_threads_meet_in_it)
{
    let_two_threads_meet<lane_cells>();
    let_two_threads_meet<short_lane_cells>();
}

} // namespace
