// SPDX-License-Identifier: Apache-2.0
#include "base/wide_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using onesea::passes_caches, onesea::transfer_scale;

TEST(wide_copy, copies_all_bytes_and_no_other_whatever_the_alignment)
{
    std::vector<std::uint8_t> from(1024), to(1024);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::uint8_t(i * 7 + 1);
    for (std::size_t bytes : {0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 700})
        for (std::size_t target = 0; target < 66; ++target)
            for (std::size_t source : {0, 1, 8, 24, 63}) {
                std::fill(to.begin(), to.end(), std::uint8_t(0));
                auto expected = to;
                std::copy_n(from.begin() + long(source), bytes, expected.begin() + long(target));
                onesea::copy_past_caches(to.data() + target, from.data() + source, bytes);
                ASSERT_EQ(to, expected) << bytes << " bytes from " << source << " to " << target;
            }
}

// Long or short, and also where source and target overlap, as memmove().
TEST(wide_copy, moves_pieces_of_long_and_short_copies)
{
    constexpr std::size_t room = 4096;
    std::vector<std::uint8_t> before(room);
    for (std::size_t i = 0; i < room; ++i) before[i] = std::uint8_t(i * 11 + i / 256);
    for (std::uint64_t whole : {std::uint64_t(1000), std::uint64_t(1) << 40})
        for (std::size_t to : {0, 5, 64, 1000, 2999})
            for (std::size_t from : {0, 3, 64, 1000, 3000}) {
                auto all = before, expected = before;
                std::copy_n(before.begin() + long(from), 1000, expected.begin() + long(to));
                onesea::copy_of(whole, all.data() + to, all.data() + from, 1000);
                ASSERT_EQ(all, expected) << "from " << from << " to " << to << " of " << whole;
            }
}

TEST(wide_copy, tells_transfers_by_whole_mib)
{
    EXPECT_EQ(transfer_scale(0), 0);
    EXPECT_EQ(transfer_scale((1 << 20) - 1), 0);
    EXPECT_EQ(transfer_scale(64 << 20), 64);
    EXPECT_EQ(transfer_scale(UINT64_MAX), UINT16_MAX);
}

TEST(wide_copy, reads_how_large_a_cache_is)
{
    const std::string file = testing::TempDir() + "cache_size." + std::to_string(getpid());
    const std::pair<const char *, std::uint64_t> told[] = {
        {"32768K\n", 32 << 20}, {"2M\n", 2 << 20}, {"4096\n", 4096}, {"", 0}, {"none", 0}};
    for (const auto &[text, bytes] : told) {
        std::ofstream(file) << text;
        EXPECT_EQ(onesea::cache_size_in(file.c_str()), bytes) << text;
    }
    std::remove(file.c_str());
    EXPECT_EQ(onesea::cache_size_in(file.c_str()), 0u);
}

TEST(wide_copy, passes_the_caches_with_the_longest_only)
{
    EXPECT_FALSE(passes_caches(0));
    EXPECT_FALSE(passes_caches(transfer_scale(4 << 20)));
    EXPECT_TRUE(passes_caches(transfer_scale(64 << 20)));
}

} // namespace
