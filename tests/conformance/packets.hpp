// SPDX-License-Identifier: Apache-2.0
// How many packets something takes.
#pragma once

#include "places.hpp"

namespace proof {

// Packets that this rank sends to the other for each round, in the best of some batches: where a round takes long what
// would have gone with the next one goes alone. 0: all of them took long, or lost packets.
template <class Round>
double packets_of(run &t, int other, Round &&round)
{
    constexpr int batches = 30, rounds = 20;
    constexpr double longest = 150e-6; // seconds of a round
    double fewest = 0;
    for (int batch = 0; batch < batches; ++batch) {
        t.sync();
        sea_pair_stats before{}, after{};
        CHECK_OK(sea_stats(other, &before));
        const double began = sea_time();
        for (int i = 0; i < rounds; ++i) round();
        const bool quick = sea_time() - began < rounds * longest;
        CHECK_OK(sea_stats(other, &after));
        if (!quick || after.packets_lost > before.packets_lost) continue;
        const double each = double(after.packets_out - before.packets_out) / rounds;
        if (fewest == 0 || each < fewest) fewest = each;
    }
    return fewest;
}

} // namespace proof
