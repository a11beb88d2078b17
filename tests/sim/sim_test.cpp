// SPDX-License-Identifier: Apache-2.0
// Jobs over a simulated network, by seed: every operation completes exactly once or fails with an error, memory is what
// the model says, nothing hangs and nothing stays restless.
//
//   ONESEA_SEEDS=100000   so many seeds in each family
//   ONESEA_SEED=17        this one only
#include "world.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace onesea;
using namespace onesea::sim;

namespace onesea::sim {
// For the names of tests.
static void PrintTo(family f, std::ostream *to) { *to << name_of(f); }
} // namespace onesea::sim

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t usual_seeds = 100;
#else
constexpr std::uint64_t usual_seeds = 4000;
#endif

std::uint64_t number_from(const char *variable, std::uint64_t otherwise)
{
    const char *text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class by_seed : public testing::TestWithParam<family> {};

// What a family is about must have happened, or its runs have shown nothing.
void expect_sightings(family f, const sightings &seen)
{
    EXPECT_GT(seen.ends.at(SEA_OK), 0u);
    EXPECT_GT(seen.ends.at(SEA_ERR_ADDRESS), 0u);
    switch (f) {
    case family::loss:
    case family::bursts:
        EXPECT_GT(seen.wire.lost, 0u);
        EXPECT_GT(seen.packets_lost, 0u);
        break;
    case family::hostile:
        EXPECT_GT(seen.wire.changed, 0u);
        EXPECT_GT(seen.wire.replayed, 0u);
        EXPECT_GT(seen.wire.strayed, 0u);
        break;
    case family::give_up:
        EXPECT_GT(seen.ends.at(SEA_ERR_LINK), 0u);
        [[fallthrough]];
    case family::partitions:
        EXPECT_GT(seen.partitions, 0u);
        break;
    case family::stops:
        EXPECT_GT(seen.stops, 0u);
        break;
    case family::clocks:
        EXPECT_GT(seen.jumps, 0u);
        break;
    case family::refusals:
        EXPECT_GT(seen.wire.refused, 0u);
        break;
    case family::deaths:
    case family::everything:
        EXPECT_GT(seen.deaths, 0u);
        EXPECT_GT(seen.ends.at(SEA_ERR_DEAD), 0u);
        break;
    }
}

} // namespace

TEST_P(by_seed, completes_every_operation_once_or_fails_it)
{
    const std::uint64_t only = number_from("ONESEA_SEED", 0),
                        last = only ? only : number_from("ONESEA_SEEDS", usual_seeds);
    sightings seen;
    for (std::uint64_t seed = only ? only : 1; seed <= last; ++seed) {
        world w(GetParam(), seed);
        ASSERT_TRUE(w.run()) << "family " << name_of(GetParam()) << ", seed " << seed << ": " << w.problem()
                             << "\nagain: ONESEA_SEED=" << seed << " build/bin/sim_tests --gtest_filter='*/"
                             << name_of(GetParam()) << "'";
        seen.add(w.seen());
    }
    if (!only) expect_sightings(GetParam(), seen);
    if (!only && last >= 1000) { // these are rare
        EXPECT_GT(seen.landed, 0u);
        EXPECT_GT(seen.wire.in_trains, 0u);
        EXPECT_TRUE(seen.wire.parts > 0 || seen.packets_lost == 0) << "of bundles whose trains were lost";
    }
    if (!only && last >= 4000) { // rarer: another has to come whole first
        EXPECT_GT(seen.wire.bare_trains, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(sim, by_seed, testing::ValuesIn(families),
                         [](const auto &one) { return std::string(name_of(one.param)); });

TEST(sim, repeats_a_run_from_its_seed)
{
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::uint64_t traces[2];
        for (std::uint64_t &trace : traces) {
            world w(family::everything, seed);
            w.run();
            trace = w.trace();
        }
        EXPECT_EQ(traces[0], traces[1]) << "seed " << seed;
    }
}
