// SPDX-License-Identifier: Apache-2.0
#include "msg/send_row.hpp"

#include <gtest/gtest.h>

namespace {

using onesea::msg::send_row;

constexpr std::size_t bytes = 8192, copied = send_row::worth_a_wait / bytes;

// How many of so many in a row are copied.
std::size_t copied_of(send_row &row, std::uint32_t looks, std::size_t messages)
{
    std::size_t n = 0;
    for (std::size_t i = 0; i < messages; ++i) n += !row.add(looks, bytes);
    return n;
}

TEST(send_row, is_copied_until_that_has_cost_as_much_as_a_wait)
{
    send_row row;
    EXPECT_EQ(copied_of(row, 0, copied), copied);
    EXPECT_EQ(copied_of(row, 0, 5), 0u);
}

TEST(send_row, ends_where_the_program_looks_for_ends)
{
    send_row row;
    for (std::uint32_t looks = 0; looks < 100; ++looks) EXPECT_EQ(copied_of(row, looks, copied), copied);
}

TEST(send_row, is_not_copied_behind_a_long_one)
{
    send_row row;
    copied_of(row, 7, 2 * copied);
    EXPECT_EQ(copied_of(row, 8, 3), 0u);
    EXPECT_EQ(copied_of(row, 9, 3), 3u) << "the row before was short";
}

} // namespace
