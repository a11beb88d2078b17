// SPDX-License-Identifier: Apache-2.0
#include "net/flood_guard.hpp"

#include <gtest/gtest.h>

using namespace onesea;
using namespace onesea::net;
using order = flood_guard::order;

constexpr std::uint64_t many = flood_guard::many + 1;

TEST(flood_guard, does_nothing_while_few_packets_are_refused)
{
    flood_guard g;
    for (std::uint64_t i = 0; i < 100; ++i)
        EXPECT_EQ(g.look(i * millisecond, i * flood_guard::many, i * 1000), order::none);
    EXPECT_EQ(g.until(), never);
}

TEST(flood_guard, closes_at_once_when_many_are_and_opens_when_it_is_over)
{
    flood_guard g;
    EXPECT_EQ(g.look(1, many, 0), order::close);
    EXPECT_EQ(g.until(), 1 + flood_guard::while_closed);
    EXPECT_EQ(g.look(g.until() - 1, many, 0), order::none);
    EXPECT_EQ(g.look(g.until(), many, 0), order::open);
    EXPECT_EQ(g.until(), never);
    EXPECT_EQ(g.look(second, many + flood_guard::many, 0), order::none);
    EXPECT_EQ(g.look(second, 3 * many, 0), order::close);
}

TEST(flood_guard, closes_anew_while_the_kernel_has_much_to_drop)
{
    flood_guard g;
    EXPECT_EQ(g.look(1, many, 5000), order::close);
    EXPECT_EQ(g.look(g.until(), many, 5000 + many), order::close) << "with the addresses of new ranks";
    EXPECT_EQ(g.look(g.until(), many, 5000 + 2 * many), order::close);
    EXPECT_EQ(g.look(g.until(), many, 5000 + 2 * many), order::open);
}

TEST(flood_guard, stays_closed_if_bad_packets_still_get_in)
{
    flood_guard g;
    EXPECT_EQ(g.look(1, many, 0), order::close);
    EXPECT_EQ(g.look(1000, 2 * many, 0), order::none);
    EXPECT_EQ(g.look(g.until(), 3 * many, 0), order::close);
}
