// SPDX-License-Identifier: Apache-2.0
#include "shm/ring.hpp"

#include <climits>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace onesea;
using namespace onesea::shm;

namespace {

constexpr std::size_t ring_bytes = 32 * 1024;

struct ring_storage {
    ring_control control{};
    alignas(64) std::byte data[ring_bytes]{};
    ring whole{control, data, ring_bytes};
};

std::vector<std::byte> pattern(std::uint64_t number, std::size_t bytes)
{
    std::vector<std::byte> p(bytes);
    for (std::size_t i = 0; i < bytes; ++i) p[i] = std::byte(number * 31 + i);
    return p;
}

bool push(ring &r, std::uint64_t number, std::size_t prefix, std::size_t bytes)
{
    auto p = pattern(number, bytes);
    frame head{};
    head.type = frame_type::put;
    head.id = number;
    head.length = std::uint32_t(bytes);
    return r.push(head, std::span(p).first(prefix), std::span(p).subspan(prefix));
}

TEST(RingTest, refuses_when_full_and_takes_again_after_consuming)
{
    auto s = std::make_unique<ring_storage>();
    std::uint64_t n = 0;
    while (push(s->whole, n, 0, 1000)) ++n;
    EXPECT_GT(n, 28u);
    EXPECT_EQ(s->whole.consume(1, [](const frame &f, auto) { EXPECT_EQ(f.id, 0u); }), 1);
    EXPECT_TRUE(push(s->whole, n, 0, 1000));
}

TEST(RingTest, frees_room_while_a_long_batch_is_taken)
{
    auto s = std::make_unique<ring_storage>();
    ring producer(s->control, s->data, ring_bytes);
    std::uint64_t n = 0;
    while (push(producer, n, 0, 1000)) ++n;
    std::uint64_t more = 0;
    s->whole.consume(int(n), [&](const frame &f, auto) {
        if (f.id == n / 2 && push(producer, n, 0, 1000)) ++more;
    });
    EXPECT_EQ(more, 1u);
    EXPECT_EQ(s->whole.consume(INT_MAX, [&](const frame &f, auto) { EXPECT_EQ(f.id, n); }), 1);
}

TEST(RingTest, tells_what_was_executed_only_when_published)
{
    auto s = std::make_unique<ring_storage>();
    push(s->whole, 1, 0, 8);
    auto end = s->whole.position();
    s->whole.consume(INT_MAX, [](auto &&...) {});
    EXPECT_LT(s->whole.executed(), end);
    EXPECT_TRUE(s->whole.publish_executed(end));
    EXPECT_EQ(s->whole.executed(), end);
    EXPECT_FALSE(s->whole.publish_executed(end));
}

TEST(RingTest, moves_records_of_all_sizes_between_threads_in_order_and_aligned)
{
    auto s = std::make_unique<ring_storage>();
    constexpr std::uint64_t total = 50000;
    auto size_of = [](std::uint64_t i) { return (i * 7919) % (i % 10 ? 200 : ring_max_payload(ring_bytes) + 1); };
    std::thread producer([&] {
        ring mine(s->control, s->data, ring_bytes);
        for (std::uint64_t i = 0; i < total;) {
            if (push(mine, i, std::min<std::size_t>(size_of(i), i % 64 / 8 * 8), size_of(i)))
                ++i;
            else
                std::this_thread::yield();
        }
    });
    std::uint64_t next = 0, wrong = 0;
    while (next < total) {
        int n = s->whole.consume(16, [&](const frame &f, std::span<const std::byte> payload) {
            auto expected = pattern(next, size_of(next));
            wrong += f.id != next || reinterpret_cast<std::uintptr_t>(payload.data()) % 8 ||
                     !std::equal(payload.begin(), payload.end(), expected.begin(), expected.end());
            ++next;
        });
        if (!n) std::this_thread::yield();
    }
    producer.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_TRUE(s->whole.empty());
}

} // namespace
