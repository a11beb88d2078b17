// SPDX-License-Identifier: Apache-2.0
#include "base/birth.hpp"

#include <gtest/gtest.h>

using namespace onesea;

TEST(birth, survives_the_way_through_the_environment)
{
    birth sent{.rank = 16777215,
               .slot = 1023,
               .arena_fd = 3,
               .udp_fd = -1,
               .lifeline_fd = 2147483647,
               .counts_fd = 9,
               .wishes_fd = 10};
    auto got = parse_birth(format(sent).c_str());
    ASSERT_TRUE(got);
    EXPECT_EQ(got->rank, sent.rank);
    EXPECT_EQ(got->slot, sent.slot);
    EXPECT_EQ(got->arena_fd, sent.arena_fd);
    EXPECT_EQ(got->udp_fd, sent.udp_fd);
    EXPECT_EQ(got->lifeline_fd, sent.lifeline_fd);
    EXPECT_EQ(got->counts_fd, sent.counts_fd);
    EXPECT_EQ(got->wishes_fd, sent.wishes_fd);
}

TEST(birth, is_written_as_its_header_says)
{
    EXPECT_EQ(
        format({.rank = 7, .slot = 2, .arena_fd = 3, .udp_fd = 4, .lifeline_fd = 5, .counts_fd = 6, .wishes_fd = 7}),
        "3:7:2:3:4:5:6:7");
}

TEST(birth, refuses_what_no_agent_writes)
{
    EXPECT_TRUE(parse_birth("3:0:0:3:4:5:6:7"));
    for (const char *bad : {"",
                            "3",
                            "3:",
                            "2:0:0:3:4:5:6:7",
                            "3:0:0:3:4:5:6",
                            "3:0:0:3:4:5:6:",
                            "3:0:0:3:4:5:6:7:8",
                            "3:0:0:3:4:5:6:7 ",
                            " 3:0:0:3:4:5:6:7",
                            "3:-1:0:3:4:5:6:7",
                            "3:0:-1:3:4:5:6:7",
                            "3:0:0:-1:4:5:6:7",
                            "3:0:0:3:-2:5:6:7",
                            "3:0:0:3:4:-2:6:7",
                            "3:0:0:3:4:5:-1:7",
                            "3:0:0:3:4:5:6:-2",
                            "3: 0:0:3:4:5:6:7",
                            "3:x:0:3:4:5:6:7",
                            "3:0x1:0:3:4:5:6:7",
                            "3:2147483648:0:3:4:5:6:7",
                            "3:0:4294967296:3:4:5:6:7",
                            "33:0:0:3:4:5:6:7"})
        EXPECT_FALSE(parse_birth(bad)) << bad;
    EXPECT_FALSE(parse_birth(nullptr));
}
