/* SPDX-License-Identifier: Apache-2.0 */
/* Random updates of a table that is spread over all ranks, each one atomic; the work is dealt out by a counter in rank
 * 0's memory, which nobody serves: a rank that is free fetches the number of the next batch. */
#include "../check.h"

#include <string.h>

enum { words_each = 4096, batches_each = 32, batch = 512 };

struct table {
    int n;
    sea_addr *part;   /* of each rank */
    sea_addr tickets; /* the next batch nobody has taken */
};

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Update k changes this word (of all ranks' words in a row) by exclusive or with this value. */
static uint64_t word_of(uint64_t k, int n) { return mix(2 * k) % ((uint64_t)n * words_each); }
static uint64_t value_of(uint64_t k) { return mix(2 * k + 1); }

static void create(struct table *t)
{
    int me = sea_rank();
    sea_addr mine;
    t->n = sea_size();
    t->part = must_allocate((size_t)t->n * sizeof *t->part);
    must(sea_heap_alloc(me, words_each * 8, &mine));
    memset(sea_local(mine), 0, words_each * 8);
    must(sea_allgather(SEA_TEAM_WORLD, &mine, t->part, sizeof mine));
    if (me == 0) {
        must(sea_heap_alloc(0, 8, &t->tickets));
        memset(sea_local(t->tickets), 0, 8);
    }
    must(sea_broadcast(SEA_TEAM_WORLD, 0, &t->tickets, sizeof t->tickets));
}

static void update(const struct table *t, uint64_t k)
{
    uint64_t word = word_of(k, t->n);
    sea_addr place = t->part[word / words_each] + word % words_each * 8;
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT; /* many under way; the fence at the end waits for all */
    must(sea_atomic(SEA_ATOMIC_XOR, place, 8, value_of(k), 0, NULL, &opts));
}

/* Takes batches until there are no more; how many this rank did. */
static uint64_t work(const struct table *t)
{
    const uint64_t all = (uint64_t)t->n * batches_each;
    uint64_t done = 0, ticket;
    for (;; ++done) {
        must(sea_fetch_add8(t->tickets, 1, &ticket, NULL));
        if (ticket >= all) break;
        for (uint64_t k = ticket * batch; k < (ticket + 1) * batch; ++k) update(t, k);
    }
    must(sea_fence_all());
    return done;
}

/* Words of my part that are not what all updates together make of them. */
static long long differences(const struct table *t)
{
    uint64_t *expected = must_allocate(words_each * sizeof *expected);
    int me = sea_rank();
    const uint64_t updates = (uint64_t)t->n * batches_each * batch;
    for (uint64_t k = 0; k < updates; ++k) {
        uint64_t word = word_of(k, t->n);
        if ((int)(word / words_each) == me) expected[word % words_each] ^= value_of(k);
    }
    const uint64_t *mine = sea_local(t->part[me]);
    long long wrong = 0;
    for (int i = 0; i < words_each; ++i) wrong += mine[i] != expected[i];
    free(expected);
    return wrong;
}

int main(void)
{
    struct table table;
    must(sea_init(NULL));
    create(&table);
    must(sea_barrier(SEA_TEAM_WORLD));
    double start = sea_time();
    uint64_t done = work(&table), all = 0;
    must(sea_barrier(SEA_TEAM_WORLD)); /* everybody's updates are there */
    double seconds = sea_time() - start;
    must(sea_allreduce(SEA_TEAM_WORLD, &done, &all, 1, SEA_UINT64, SEA_SUM));
    if (sea_rank() == 0)
        printf("%.0f updates by %d ranks in %.3f s: %.4f GUPS; rank 0 did %llu of %llu batches\n", (double)all * batch,
               table.n, seconds, (double)all * batch / seconds / 1e9, (unsigned long long)done,
               (unsigned long long)all);
    long long wrong = differences(&table) + (all != (uint64_t)table.n * batches_each);
    free(table.part);
    return finish("updates", wrong);
}
