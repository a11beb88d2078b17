// SPDX-License-Identifier: Apache-2.0
#include "base/copy.hpp"

#include "base/pages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using onesea::copies_slowly, onesea::copy_bytes, onesea::page_bytes;

TEST(copy, is_slow_where_the_target_lies_up_to_31_bytes_behind_the_source_modulo_a_page)
{
    alignas(page_bytes) static const char page[2 * page_bytes] = {};
    const auto slow = [](std::size_t to, std::size_t from) { return copies_slowly(page + to, page + from); };
    for (std::size_t from : {std::size_t(0), std::size_t(64), page_bytes - 8}) {
        EXPECT_FALSE(slow(from, from));
        EXPECT_TRUE(slow(from + 1, from));
        EXPECT_TRUE(slow(from + 31, from));
        EXPECT_FALSE(slow(from + 32, from));
        EXPECT_TRUE(slow(from + 16, from + page_bytes));
        EXPECT_FALSE(slow(from, from + 16));
    }
}

TEST(copy, copies_all_bytes_and_no_other_whatever_the_alignment)
{
    constexpr std::size_t room = 3 * page_bytes;
    std::vector<std::uint8_t> from(room), to(room);
    for (std::size_t i = 0; i < room; ++i) from[i] = std::uint8_t(i * 7 + i / 251);
    for (std::size_t bytes : {0, 1, 2047, 2048, 2049, 3072, 4095, 5000, 8000})
        for (std::size_t target : {0, 1, 8, 16, 31, 32, 64, 100})
            for (std::size_t source : {0, 1, 16, 24}) {
                std::fill(to.begin(), to.end(), std::uint8_t(0));
                auto expected = to;
                std::copy_n(from.begin() + long(source), bytes, expected.begin() + long(target));
                copy_bytes(to.data() + target, from.data() + source, bytes);
                ASSERT_TRUE(to == expected) << bytes << " bytes from " << source << " to " << target;
            }
}

} // namespace
