// SPDX-License-Identifier: Apache-2.0
#include "shm/shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace onesea::shm {
namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;

// Marks each byte that one of the two copies; each must be marked once.
struct SharesTest : testing::Test {
    share_words words{};
    std::vector<std::uint8_t> range;

    void mark(share s)
    {
        for (std::uint64_t i = 0; i < s.bytes; ++i) ++range[s.from + i];
    }
    void expect_marked_once() const
    {
        EXPECT_EQ(std::count(range.begin(), range.end(), 1), std::ptrdiff_t(range.size()));
    }
};

TEST_F(SharesTest, halves_what_is_short_and_cuts_what_is_long)
{
    EXPECT_EQ(share_of(64 * kib), 32 * kib);
    EXPECT_EQ(share_of(100 * kib), 52 * kib); // whole pages
    EXPECT_EQ(share_of(mib), 512 * kib);
    EXPECT_EQ(share_of(64 * mib), 512 * kib);
}

TEST_F(SharesTest, each_byte_is_of_one_share_whoever_takes_it)
{
    std::mt19937 random(1);
    std::uint32_t number = 0;
    for (std::uint64_t bytes : {std::uint64_t(1), 32 * kib, 32 * kib + 1, 64 * kib, 3 * mib + 77}) {
        for (int round = 0; round < 20; ++round) {
            range.assign(bytes, 0);
            reader_shares reader(words, ++number, bytes);
            writer_shares writer(words, number, bytes);
            while (!reader.finished()) {
                if (random() % 2) {
                    if (const auto s = reader.take()) mark(*s);
                } else if (const auto s = writer.take()) {
                    mark(*s);
                    EXPECT_FALSE(reader.finished());
                    writer.did(true);
                }
            }
            EXPECT_TRUE(reader.whole());
            expect_marked_once();
        }
    }
}

TEST_F(SharesTest, the_reader_needs_nobody)
{
    range.assign(5 * mib, 0);
    reader_shares reader(words, 7, range.size());
    while (const auto s = reader.take()) mark(*s);
    EXPECT_TRUE(reader.finished() && reader.whole());
    expect_marked_once();
    EXPECT_FALSE(writer_shares(words, 7, range.size()).take());
}

TEST_F(SharesTest, a_writer_that_comes_late_takes_nothing_of_a_later_opening)
{
    reader_shares first(words, 1, mib);
    writer_shares late(words, 1, mib);
    while (first.take()) continue;
    reader_shares second(words, 2, mib);
    EXPECT_FALSE(late.take());
    while (second.take()) continue;
    EXPECT_TRUE(second.finished() && second.whole());
}

TEST_F(SharesTest, what_the_writer_cannot_copy_is_waited_for_and_told)
{
    reader_shares reader(words, 1, 4 * mib);
    writer_shares writer(words, 1, 4 * mib);
    ASSERT_TRUE(writer.take());
    writer.did(true);
    ASSERT_TRUE(writer.take());
    while (reader.take()) continue;
    EXPECT_FALSE(reader.finished());
    writer.did(false);
    EXPECT_TRUE(reader.finished());
    EXPECT_FALSE(reader.whole());
}

TEST_F(SharesTest, a_reader_that_cannot_copy_waits_for_the_share_that_the_writer_has)
{
    reader_shares reader(words, 1, 8 * mib);
    writer_shares writer(words, 1, 8 * mib);
    ASSERT_TRUE(writer.take());
    ASSERT_TRUE(reader.take());
    reader.give_up();
    EXPECT_FALSE(writer_shares(writer).take());
    EXPECT_FALSE(reader.finished());
    writer.did(true);
    EXPECT_TRUE(reader.finished());
    EXPECT_FALSE(reader.whole());
}

TEST_F(SharesTest, two_threads_copy_range_after_range)
{
    constexpr std::uint32_t rounds = 300;
    constexpr std::uint64_t bytes = 3 * mib + 5;
    std::vector<std::uint8_t> from(bytes), to(bytes);
    std::atomic<std::uint32_t> opened{0};
    std::thread writer([&] {
        for (std::uint32_t number = 1; number <= rounds;) {
            const std::uint32_t now = opened.load(std::memory_order_acquire);
            if (now == 0) continue;
            number = now;
            writer_shares shares(words, number, bytes);
            while (const auto s = shares.take()) {
                std::memcpy(&to[s->from], &from[s->from], s->bytes);
                shares.did(true);
            }
            if (number == rounds) return;
        }
    });
    for (std::uint32_t number = 1; number <= rounds; ++number) {
        std::memset(from.data(), int(number), bytes);
        reader_shares shares(words, number, bytes);
        opened.store(number, std::memory_order_release);
        while (!shares.finished())
            if (const auto s = shares.take()) std::memcpy(&to[s->from], &from[s->from], s->bytes);
        ASSERT_TRUE(shares.whole());
        ASSERT_EQ(to, from) << "round " << number;
    }
    writer.join();
}

} // namespace
} // namespace onesea::shm
