// SPDX-License-Identifier: Apache-2.0
#include "base/profile.hpp"

#include <gtest/gtest.h>

using namespace onesea;

TEST(profile, defaults_are_legal)
{
    EXPECT_TRUE(legal(profile{}));
    EXPECT_EQ(profile{}.of(path_kind::shm).window, 32768u);
    EXPECT_EQ(profile{}.of(path_kind::ethernet), path_tuning{});
}

TEST(profile, both_ends_of_every_range_are_legal_and_what_lies_outside_is_not)
{
    for (path_kind path : all_paths)
        for (const parameter &p : parameters_of(path)) {
            for (std::uint64_t value : {p.least, p.most}) EXPECT_EQ(what_is_wrong(p, value), "") << p.name;
            EXPECT_NE(what_is_wrong(p, p.most + std::uint64_t(1)), "") << p.name;
            EXPECT_NE(what_is_wrong(p, std::uint64_t(1) << 40), "") << p.name;
            if (p.least == 0) continue;
            profile low;
            low.of(path).*p.value = p.least - 1;
            EXPECT_FALSE(legal(low)) << p.name;
        }
}

TEST(profile, a_ring_is_a_power_of_two)
{
    const parameter *window = find_parameter(path_kind::shm, "window");
    ASSERT_TRUE(window);
    EXPECT_EQ(what_is_wrong(*window, 65536), "");
    EXPECT_EQ(what_is_wrong(*window, 65535), "65535 is not a power of two");
    EXPECT_EQ(what_is_wrong(*window, 7), "7 is not in 16384..1048576");
}

TEST(profile, a_path_has_only_what_it_uses)
{
    EXPECT_FALSE(find_parameter(path_kind::shm, "batch"));
    EXPECT_TRUE(find_parameter(path_kind::loopback, "batch"));
    EXPECT_FALSE(find_parameter(path_kind::ethernet, "bach"));
    const std::string text = to_text(path_kind::shm, profile{}.of(path_kind::shm));
    EXPECT_EQ(text, "fragment 8160, eager 8192, eager_message 8192, window 32768");
}

TEST(profile, packets_tell_loopback_from_ethernet)
{
    EXPECT_EQ(path_of_mtu(1500), path_kind::ethernet);
    EXPECT_EQ(path_of_mtu(9216), path_kind::ethernet);
    EXPECT_EQ(path_of_mtu(65536), path_kind::loopback);
}
