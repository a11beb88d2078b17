// SPDX-License-Identifier: Apache-2.0
// A collective whose long message waits behind as many operations as may be unfinished ends when their rank dies. Run
// alone, by two ranks on two nodes: rank 0 stops rank 1 and kills it while the collective waits.
#include "places.hpp"
#include "stop_rank.hpp"

#include <csignal>
#include <thread>
#include <vector>

using namespace proof;

LONE_STEP(8370, a_broadcast_behind_operations_on_a_rank_that_is_killed_ends)
{
    constexpr int most_unfinished = 8192; // on one rank; the next one waits
    REQUIRE(t.size == 2 && !t.same_node(1 - t.rank));
    static place *heap = new place(kind::heap, 64); // outlives the step
    const sea_addr there = t.exchange(heap->address())[1];
    t.sync();
    const int victim = stopped_victim(t);
    std::uint64_t word = 1;
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    for (int i = 0; i < most_unfinished; ++i) REQUIRE_OK(sea_put(there, &word, 8, &o));
    std::thread killer([victim] {
        pause_for(1);
        kill(victim, SIGKILL);
    });
    std::vector<unsigned char> data(4 << 20);
    CHECK_STATUS(SEA_ERR_DEAD, sea_broadcast(SEA_TEAM_WORLD, 0, data.data(), data.size()));
    killer.join();
    (void)sea_fence(1); // tells of the puts
}
