/* SPDX-License-Identifier: Apache-2.0 */
/* A token goes round the ring; each hop is one put with a signal, so the time of a hop is the one-way latency between
 * two programs: data written, receiver told, receiver awake. */
#include "../check.h"

enum { rounds = 500 };

/* One for each rank. A single slot is enough: the token comes again only after it was passed on. */
struct slot {
    uint64_t token;
    sea_counter arrived; /* how often */
};

int main(void)
{
    must(sea_init(NULL));
    int me = sea_rank(), n = sea_size(), right = (me + 1) % n;
    sea_addr mine, *all = must_allocate((size_t)n * sizeof *all);
    must(sea_heap_alloc(me, sizeof(struct slot), &mine));
    struct slot *slot = sea_local(mine);
    slot->token = 0;
    must(sea_counter_set(&slot->arrived, 0));
    must(sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine));
    must(sea_barrier(SEA_TEAM_WORLD));

    sea_addr token_there = all[right], signal_there = all[right] + offsetof(struct slot, arrived);
    double start = sea_time();
    uint64_t token = 0;
    for (uint64_t round = 1; round <= rounds; ++round) {
        if (me != 0) { /* rank 0 starts each round */
            must(sea_counter_wait(&slot->arrived, round, SEA_FOREVER));
            token = slot->token;
        }
        ++token;
        must(sea_put_signal(token_there, &token, sizeof token, signal_there, 1, SEA_SIGNAL_ADD, NULL));
        if (me == 0) {
            must(sea_counter_wait(&slot->arrived, round, SEA_FOREVER));
            token = slot->token;
        }
    }
    double seconds = sea_time() - start;

    int wrong = 0;
    if (me == 0) {
        printf("%d rounds over %d ranks on %d nodes: %.2f us a hop\n", rounds, n, sea_nodes(),
               seconds * 1e6 / rounds / n);
        wrong = token != (uint64_t)rounds * (uint64_t)n; /* every hop added 1 */
    }
    free(all);
    return finish("ring", wrong);
}
