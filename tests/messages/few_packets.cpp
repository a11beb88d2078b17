// SPDX-License-Identifier: Apache-2.0
// Messages there and back between two ranks on two nodes: each goes as one packet, however short the datagrams are,
// once the path is known to lose nothing.
//
//   few_packets [--bytes N] [--count N]
#include "common.hpp"

#include <onesea.h>
#include <onesea/message.h>

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
    std::uint64_t bytes = 16384, count = 3000;
    read_options(argc, argv, {{"--bytes", &bytes, 1}, {"--count", &count, 1}});
    good(sea_init(nullptr), "sea_init");
    if (sea_size() != 2) give_up("it takes two ranks");
    const int me = sea_rank(), other = 1 - me;
    std::vector<char> data(bytes);
    for (std::uint64_t i = 0; i < count; ++i)
        for (const int sender : {0, 1}) {
            if (me == sender)
                good(sea_message_send(SEA_TEAM_WORLD, other, 1, data.data(), bytes, nullptr), "sea_message_send");
            else
                good(sea_message_receive(SEA_TEAM_WORLD, other, 1, data.data(), bytes, nullptr, nullptr),
                     "sea_message_receive");
        }
    sea_pair_stats seen = {};
    good(sea_stats(other, &seen), "sea_stats");
    // Acknowledgements may go by themselves. Before the path is trusted, and after a loss, some hundreds of datagrams
    // go one by one.
    const std::uint64_t most = 2 * count + count / 2 + 500 + 1000 * seen.packets_lost;
    std::printf("rank %d: %llu messages, %llu packets\n", me, static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(seen.packets_out));
    if (seen.packets_out > most) give_up("more than " + std::to_string(most) + " packets");
    good(sea_finalize(), "sea_finalize");
}
