// SPDX-License-Identifier: Apache-2.0
// Ranks die inside collectives: every call of a survivor returns, with SEA_OK or SEA_ERR_DEAD; teams without the dead
// go on.
#include "coll_reference.hpp"

#include <algorithm>
#include <csignal>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace proof;

namespace {

// Calls on the world until one fails.
int call_until_failure(run &t, dice d)
{
    std::size_t most = std::size_t(1) << 20;
    std::vector<unsigned char> in(most), out(most);
    for (double until = now() + 30; now() < until;) {
        std::size_t size = random_size(d, most) / 8 / std::size_t(t.size) * 8;
        int root = int(d.below(std::size_t(t.size))), status = SEA_OK;
        const std::vector<std::size_t> sizes(std::size_t(t.size), size);
        switch (d.below(8)) {
        case 0:
            status = sea_barrier(SEA_TEAM_WORLD);
            break;
        case 1:
            status = sea_broadcast(SEA_TEAM_WORLD, root, in.data(), size);
            break;
        case 2:
            status = sea_allreduce(SEA_TEAM_WORLD, in.data(), out.data(), size / 8, SEA_INT64, SEA_SUM);
            break;
        case 3:
            status = sea_alltoall(SEA_TEAM_WORLD, in.data(), out.data(), size);
            break;
        case 4:
            status = sea_alltoallv(SEA_TEAM_WORLD, in.data(), sizes.data(), nullptr, out.data(), sizes.data(), nullptr);
            break;
        case 5:
            status = sea_scan(SEA_TEAM_WORLD, in.data(), out.data(), size / 8, SEA_INT64, SEA_SUM);
            break;
        case 6:
            status = sea_scatterv(SEA_TEAM_WORLD, root, in.data(), sizes.data(), nullptr, out.data(), size);
            break;
        default:
            status = sea_gather(SEA_TEAM_WORLD, root, in.data(), out.data(), size);
            break;
        }
        if (status != SEA_OK) return status;
    }
    return SEA_OK;
}

} // namespace

DEATH_STEP(8210, a_death_ends_the_calls_of_all_others_and_their_own_team_goes_on)
{
    const int victim = t.size - 1;
    if (t.rank == victim) {
        std::thread([&t] { // at a moment that the collectives do not choose
            pause_for(0.2);
            leave(*t.shared);
            kill(getpid(), SIGKILL);
        })
            .detach();
        call_until_failure(t, dice{t.seed});
        pause_for(60);
        return;
    }
    CHECK_STATUS(SEA_ERR_DEAD, call_until_failure(t, dice{t.seed}));
    CHECK_STATUS(SEA_ERR_DEAD, sea_barrier(SEA_TEAM_WORLD));
    std::vector<int> living;
    for (int r = 0; r < victim; ++r) living.push_back(r);
    sea_team survivors = SEA_TEAM_NULL;
    REQUIRE_OK(sea_team_create(living.data(), victim, 1, &survivors));
    exercise(t, survivors, t.seed + 3, t.times(20));
    CHECK_OK(sea_team_free(survivors));
}
