// SPDX-License-Identifier: Apache-2.0
#include "msg/memory_shares.hpp"

#include <gtest/gtest.h>

namespace {

using onesea::msg::memory_shares;

constexpr std::size_t bound = std::size_t(64) << 20;

TEST(memory_shares, are_together_no_more_than_the_bound_and_nearly_that)
{
    for (unsigned starters : {1u, 2u, 7u, 1000u})
        for (unsigned late : {0u, 1u, 16u, 320u}) {
            const memory_shares shares(bound, starters, starters + late);
            std::size_t sum = 0;
            for (unsigned rank = 0; rank < starters + late; ++rank) sum += shares.of(int(rank));
            EXPECT_LE(sum, bound);
            EXPECT_GT(sum, bound - 4 * (starters + late));
        }
}

TEST(memory_shares, of_those_from_the_start_are_no_less_than_equal_ones)
{
    for (unsigned late : {0u, 16u, 320u}) {
        const memory_shares shares(bound, 20, 20 + late);
        EXPECT_GE(shares.of(19) + 4, bound / (20 + late));
        EXPECT_EQ(shares.of(19), 4 * shares.of(20));
    }
}

} // namespace
