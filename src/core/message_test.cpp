// SPDX-License-Identifier: Apache-2.0
#include "core/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

using onesea::core::message_in_frames;

namespace {

constexpr std::size_t frame_bytes = 1000, frames = 100; // it has to grow on the way

std::vector<std::byte> content()
{
    std::vector<std::byte> all(frames * frame_bytes - 1); // the last frame is shorter
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::byte(i * 7 + i / 251);
    return all;
}

void take(message_in_frames &m, const std::vector<std::byte> &all, std::size_t number)
{
    const std::size_t at = number * frame_bytes, n = std::min(frame_bytes, all.size() - at);
    m.take(at, {all.data() + at, n}, at + n == all.size());
}

} // namespace

TEST(message_in_frames, is_whole_with_its_last_frame_in_any_order)
{
    const auto all = content();
    std::vector<std::size_t> order(frames);
    for (std::size_t i = 0; i < frames; ++i) order[i] = i;
    for (int turn = 0; turn < 4; ++turn) {
        message_in_frames m;
        for (std::size_t i = 0; i < frames; ++i) {
            EXPECT_FALSE(m.whole());
            take(m, all, order[i]);
        }
        ASSERT_TRUE(m.whole());
        EXPECT_TRUE(std::equal(m.bytes().begin(), m.bytes().end(), all.begin(), all.end()));
        for (std::size_t i = 0; i < frames; ++i)
            order[i] = (order[i] * 37 + 11) % frames; // 37 and 100 share no divisor
    }
}

TEST(message_in_frames, shows_no_old_memory_where_frames_lie_over_each_other)
{
    { // what the next one may get from the heap
        message_in_frames before;
        const std::vector<std::byte> ones(20000, std::byte(0xff));
        before.take(0, ones, true);
    }
    message_in_frames m;
    const std::array<std::byte, 100> frame{};
    m.take(19900, frame, true);
    while (!m.whole()) m.take(0, frame, false);
    EXPECT_EQ(m.bytes().size(), 20000u);
    EXPECT_TRUE(std::all_of(m.bytes().begin(), m.bytes().end(), [](std::byte b) { return b == std::byte(0); }));
}
