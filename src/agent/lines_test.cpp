// SPDX-License-Identifier: Apache-2.0
#include "agent/lines.hpp"

#include <gtest/gtest.h>

namespace onesea::agent {
namespace {

TEST(line_merger, half_lines_of_two_ranks_never_mix)
{
    line_merger m(true);
    m.add(0, "one ", "[0] ");
    m.add(1, "two\nthr", "[1] ");
    EXPECT_EQ(m.take(), "[1] two\n");
    m.add(0, "more\n", "[0] ");
    m.add(1, "ee\n", "[1] ");
    EXPECT_EQ(m.take(), "[0] one more\n[1] three\n");
}

TEST(line_merger, a_last_line_without_end_is_not_lost_and_not_changed)
{
    line_merger m(true);
    m.add(0, "a\nlast", "");
    m.finish(0, "");
    EXPECT_EQ(m.take(), "a\nlast");
}

TEST(line_merger, a_line_end_is_added_only_when_somebody_else_writes)
{
    line_merger m(true);
    m.add(0, "last", "");
    m.finish(0, "");
    m.add(1, "other\n", "");
    EXPECT_EQ(m.take(), "last\nother\n");
}

TEST(line_merger, one_rank_alone_passes_at_once)
{
    line_merger m(false);
    m.add(0, "prompt> ", "");
    EXPECT_EQ(m.take(), "prompt> ");
    m.add(0, std::string("\0x", 2), "");
    EXPECT_EQ(m.take(), std::string("\0x", 2));
}

TEST(line_merger, every_line_of_a_piece_is_tagged)
{
    line_merger m(true);
    m.add(2, "a\n\nb\n", "[2] ");
    EXPECT_EQ(m.take(), "[2] a\n[2] \n[2] b\n");
}

TEST(line_merger, endless_lines_take_bounded_memory_and_lose_nothing)
{
    line_merger m(true);
    std::size_t got = 0;
    for (int i = 0; i < 64; ++i) {
        m.add(0, std::string(longest_line / 16, 'x'), "");
        for (char c : m.take()) got += c == 'x';
    }
    m.finish(0, "");
    for (char c : m.take()) got += c == 'x';
    EXPECT_EQ(got, 64 * (longest_line / 16));
}

} // namespace
} // namespace onesea::agent
