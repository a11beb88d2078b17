// SPDX-License-Identifier: Apache-2.0
#include "agent/printable.hpp"

#include "agent/hosts.hpp"

#include <gtest/gtest.h>

namespace onesea::agent {
namespace {

TEST(printable, leaves_text_as_it_is)
{
    EXPECT_EQ(printable("rank 3: \"/srv/j\u00fcrgen/\u4e2d\U0001f600\"\u00a0~"),
              "rank 3: \"/srv/j\u00fcrgen/\u4e2d\U0001f600\"\u00a0~");
    EXPECT_EQ(printable(""), "");
}

TEST(printable, has_nothing_that_ends_a_line_or_commands_a_terminal)
{
    EXPECT_EQ(printable("a\nb\rc\td\x1b[31m\x7f"), "a.b.c.d.[31m.");
    EXPECT_EQ(printable(std::string_view("\0x", 2)), ".x");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m \xc2\x80"),
              "..31m ..")
        << "the same commands in one character";
}

TEST(printable, has_no_bytes_that_are_no_text)
{
    for (const char *bytes : {"\x80", "\x9b", "\xc2", "\xc1", "\xff", "\xf5"}) {
        EXPECT_EQ(printable(bytes), ".") << int(bytes[0]);
        EXPECT_EQ(printable(bytes + std::string("x")), ".x") << int(bytes[0]);
    }
    EXPECT_EQ(printable("\xe2\x82"), "..");
    EXPECT_EQ(printable("\xf0\x9f\x98z"), "...z");
}

TEST(printable, tells_that_it_was_cut)
{
    EXPECT_EQ(printable("abcdef", 6), "abcdef");
    EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
    EXPECT_LT(printable(std::string(100'000, 'x')).size(), 10'000u);
}

TEST(printable, of_several_lines_only_their_ends_stay)
{
    EXPECT_EQ(printable_lines("one\x1b\r\ntwo\n\n"), "one.\ntwo\n\n");
    EXPECT_EQ(printable_lines("one"), "one");
}

TEST(printable, is_what_a_request_was_refused_with)
{
    EXPECT_STREQ(request_error("field 'a\x1b[2J\n'").what(), "field 'a.[2J.'");
}

} // namespace
} // namespace onesea::agent
