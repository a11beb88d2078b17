// SPDX-License-Identifier: Apache-2.0
#include "coll/survivors.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

using onesea::coll::survivors;

namespace {

TEST(survivors, a_million_deaths_cost_a_few_looks_each)
{
    constexpr int n = 1'000'000, me = 1234;
    std::vector<int> deaths(n);
    std::iota(deaths.begin(), deaths.end(), 0);
    for (const bool shuffled : {false, true}) {
        if (shuffled) std::shuffle(deaths.begin(), deaths.end(), std::mt19937(1));
        std::vector<bool> dead(n);
        survivors left;
        std::uint64_t looks = 0;
        const auto nobody = [&] {
            return left.nobody_but(
                me, n, [](int member) { return member; }, [&](int rank) { return ++looks, !dead[std::size_t(rank)]; });
        };
        int ended = 0;
        for (int rank : deaths) {
            if (rank == me) continue;
            dead[std::size_t(rank)] = true;
            EXPECT_EQ(nobody(), ++ended == n - 1) << ended;
        }
        EXPECT_TRUE(nobody());
        EXPECT_LE(looks, 2u * n);
    }
}

TEST(survivors, knows_teams_by_their_ranks)
{
    const std::vector<int> ranks = {7, 3, 5};
    std::vector<bool> dead(8);
    survivors of_five, of_nobody;
    const auto nobody_but = [&](survivors &s, int me) {
        return s.nobody_but(
            me, 3, [&](int member) { return ranks[std::size_t(member)]; },
            [&](int rank) { return !dead[std::size_t(rank)]; });
    };
    EXPECT_FALSE(nobody_but(of_five, 5));
    dead[3] = true;
    EXPECT_FALSE(nobody_but(of_five, 5));
    dead[7] = true;
    EXPECT_TRUE(nobody_but(of_five, 5));
    EXPECT_FALSE(nobody_but(of_nobody, -1)) << "5 is there";
}

TEST(survivors, one_who_was_alone_from_the_start_has_lost_nobody)
{
    survivors left;
    EXPECT_FALSE(left.nobody_but(
        0, 1, [](int member) { return member; }, [](int) { return true; }));
}

} // namespace
