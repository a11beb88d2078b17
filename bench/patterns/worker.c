/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-patterns PATTERN BYTES MS
 *
 * Streams of puts at the same time: `one` from rank 0 to 1, `both` between these two, `out` from rank 0 to all others,
 * `in` from all others to rank 0. Every origin keeps some megabytes in flight to each of its targets, completes them
 * with a fence, and goes on for MS milliseconds after a barrier; what a pair has moved by then, divided by the time,
 * is its bandwidth. Each pair has its own place at the target, and the first and last bytes are checked at the end.
 */
#include <onesea.h>

#include "measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT = 4 << 20, RANKS_MAX = 64 };

struct stream {
    const char *pattern;
    size_t bytes;
    double seconds;
    int rank, ranks;
    sea_addr memory[RANKS_MAX];
    int targets[RANKS_MAX], count;
    double speed[RANKS_MAX]; /* GB/s, by target */
};

static void check(int status, const char *what)
{
    if (status == SEA_OK) return;
    fprintf(stderr, "onesea-bench-worker-patterns: %s: %s: %s\n", what, sea_strerror(status), sea_last_error());
    sea_abort(1, NULL);
}

static int is(const struct stream *s, const char *name) { return strcmp(s->pattern, name) == 0; }

static void find_targets(struct stream *s)
{
    if (is(s, "one") && s->rank == 0) s->targets[s->count++] = 1;
    if (is(s, "both") && s->rank < 2) s->targets[s->count++] = 1 - s->rank;
    if (is(s, "out") && s->rank == 0)
        for (int r = 1; r < s->ranks; r++) s->targets[s->count++] = r;
    if (is(s, "in") && s->rank > 0) s->targets[s->count++] = 0;
}

static void stream(struct stream *s, const char *source)
{
    sea_opts nowait = SEA_OPTS_INIT;
    nowait.flags = SEA_NOWAIT;
    double moved = 0, begin = sea_time(), now = begin;
    size_t rounds = IN_FLIGHT / s->bytes ? IN_FLIGHT / s->bytes : 1;
    while (s->count && now - begin < s->seconds) {
        for (size_t i = 0; i < rounds; i++)
            for (int t = 0; t < s->count; t++) {
                int to = s->targets[t];
                check(sea_put(s->memory[to] + (sea_addr)s->rank * s->bytes, source, s->bytes, &nowait), "put");
            }
        for (int t = 0; t < s->count; t++) check(sea_fence(s->targets[t]), "fence");
        moved += (double)rounds * (double)s->bytes;
        now = sea_time();
    }
    for (int t = 0; t < s->count; t++) s->speed[s->targets[t]] = moved / (now - begin) * 1e-9;
}

static void check_what_came(const struct stream *s)
{
    const char *all = sea_local(s->memory[s->rank]);
    for (int r = 0; r < s->ranks; r++) {
        int comes = (is(s, "one") && r == 0 && s->rank == 1) || (is(s, "both") && s->rank < 2 && r == 1 - s->rank) ||
                    (is(s, "out") && r == 0 && s->rank > 0) || (is(s, "in") && r > 0 && s->rank == 0);
        const char *from = all + (size_t)r * s->bytes;
        if (comes && (from[0] != (char)(r + 1) || from[s->bytes - 1] != (char)(r + 1))) {
            fprintf(stderr, "onesea-bench-worker-patterns: what rank %d sent is not there\n", r);
            sea_abort(1, NULL);
        }
    }
}

static void report(const struct stream *s)
{
    double *all = malloc(sizeof(double) * RANKS_MAX * (size_t)s->ranks), total = 0, slowest = 1e99;
    int pairs = 0;
    check(sea_gather(SEA_TEAM_WORLD, 0, s->speed, all, sizeof s->speed), "gather");
    for (int i = 0; s->rank == 0 && i < RANKS_MAX * s->ranks; i++) {
        if (all[i] <= 0) continue;
        pairs++;
        total += all[i];
        if (all[i] < slowest) slowest = all[i];
    }
    if (s->rank == 0) {
        printf("result total bandwidth_gbs %zu %.6g %.6g %d\n", s->bytes, total, total, pairs);
        printf("result slowest bandwidth_gbs %zu %.6g %.6g %d\n", s->bytes, slowest, slowest, pairs);
        printf("result mean bandwidth_gbs %zu %.6g %.6g %d\n", s->bytes, total / pairs, total / pairs, pairs);
    }
    free(all);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: onesea-bench-worker-patterns one|both|out|in BYTES MS\n");
        return 2;
    }
    static struct stream s;
    s.pattern = argv[1];
    s.bytes = strtoull(argv[2], NULL, 10);
    s.seconds = atof(argv[3]) * 1e-3;
    check(sea_init(NULL), "init");
    check(sea_set_timeout(MEASURE_PATIENCE_S), "timeout");
    s.rank = sea_rank();
    s.ranks = sea_size();
    sea_addr mine;
    check(sea_heap_alloc(s.rank, s.bytes * (size_t)s.ranks, &mine), "heap");
    check(sea_allgather(SEA_TEAM_WORLD, &mine, s.memory, sizeof mine), "allgather");
    char *source = malloc(s.bytes);
    memset(source, s.rank + 1, s.bytes);
    find_targets(&s);
    for (int t = 0; t < s.count; t++) { /* the links come into being, and the pages */
        check(sea_put(s.memory[s.targets[t]] + (sea_addr)s.rank * s.bytes, source, s.bytes, NULL), "put");
        check(sea_fence(s.targets[t]), "fence");
    }
    check(sea_barrier(SEA_TEAM_WORLD), "barrier");
    stream(&s, source);
    check(sea_barrier(SEA_TEAM_WORLD), "barrier");
    check_what_came(&s);
    report(&s);
    free(source);
    return sea_finalize() == SEA_OK ? 0 : 1;
}
