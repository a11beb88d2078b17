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

struct storage {
    lane_control control{};
    alignas(64) cell cells[lane_cells]{};
    lane_writer in{control, cells};
    lane_reader out{control, cells};
};

std::vector<std::byte> content(std::uint64_t number, std::size_t bytes)
{
    std::vector<std::byte> p(bytes);
    for (std::size_t i = 0; i < bytes; ++i) p[i] = std::byte(number * 31 + i);
    return p;
}

bool push(lane_writer &w, std::uint64_t number, std::size_t bytes)
{
    auto p = content(number, bytes);
    return w.push({std::uint16_t(number % 7), std::int32_t(number % 1000), number, bytes, p.data()});
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
    auto s = std::make_unique<storage>();
    EXPECT_FALSE(s->out.ready());
    std::uint64_t n = 0;
    while (push(s->in, n, 8)) ++n;
    EXPECT_EQ(n, lane_cells);
    EXPECT_TRUE(s->in.more_than_half_full());
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

TEST(lane, keeps_messages_of_all_sizes_through_many_laps)
{
    auto s = std::make_unique<storage>();
    std::mt19937 dice(5);
    std::deque<std::pair<std::uint64_t, std::size_t>> there;
    std::uint64_t next = 0;
    for (int i = 0; i < 60000; ++i) {
        const std::size_t bytes = dice() % 3 ? dice() % 100 : dice() % (lane::most_bytes + 1);
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

TEST(lane, data_that_looks_like_a_head_is_not_taken_for_one)
{
    auto s = std::make_unique<storage>();
    std::vector<std::uint32_t> laps(1000, 2); // what the next lap's heads will say
    lane_item item;
    for (int i = 0; i < 200; ++i) {
        for (std::uint32_t &word : laps) word = std::uint32_t(i / 10 + 2);
        ASSERT_TRUE(s->in.push({1, 0, 0, laps.size() * 4, laps.data()}));
        ASSERT_TRUE(s->out.front(&item));
        s->out.pop();
        ASSERT_FALSE(s->out.ready()) << i;
    }
}

TEST(lane, two_threads_meet_in_it)
{
    auto s = std::make_unique<storage>();
    constexpr std::uint64_t n = 20000;
    std::thread writer([&] {
        for (std::uint64_t i = 0; i < n;)
            if (push(s->in, i, i % 300))
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
        expect(item, i, i % 300);
        s->out.pop();
        ++i;
    }
    writer.join();
}

} // namespace
