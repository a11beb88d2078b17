/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-patterns PATTERN BYTES MS
 *
 * Streams of puts at the same time, those of measure/pattern.h. Every origin keeps some megabytes in flight to each of
 * its targets, completes them with a fence, and goes on for MS milliseconds after a barrier; what a pair has moved by
 * then, divided by the time, is its bandwidth. Each pair has its own place at the target, and the first and last bytes
 * are checked at the end.
 */
#include <onesea.h>

#include "measure/measure.h"
#include "measure/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct streams {
    struct pattern pattern;
    int rank, ranks;
    sea_addr memory[PATTERN_RANKS];
    int targets[PATTERN_RANKS], count;
    double speed[PATTERN_RANKS]; /* GB/s, by target */
};

static void check(int status, const char *what)
{
    if (status == SEA_OK) return;
    fprintf(stderr, "onesea-bench-worker-patterns: %s: %s: %s\n", what, sea_strerror(status), sea_last_error());
    sea_abort(1, NULL);
}

static void find_targets(struct streams *s)
{
    for (int r = 0; r < s->ranks; r++)
        if (pattern_has_stream(&s->pattern, s->rank, r)) s->targets[s->count++] = r;
}

static sea_addr place_at(const struct streams *s, int target)
{
    return s->memory[target] + (sea_addr)s->rank * s->pattern.bytes;
}

static void stream(struct streams *s, const char *source)
{
    sea_opts nowait = SEA_OPTS_INIT;
    nowait.flags = SEA_NOWAIT;
    const size_t bytes = s->pattern.bytes, rounds = pattern_window(&s->pattern);
    double moved = 0, begin = sea_time(), now = begin;
    while (s->count && now - begin < s->pattern.seconds) {
        for (size_t i = 0; i < rounds; i++)
            for (int t = 0; t < s->count; t++)
                check(sea_put(place_at(s, s->targets[t]), source, bytes, &nowait), "put");
        for (int t = 0; t < s->count; t++) check(sea_fence(s->targets[t]), "fence");
        moved += (double)rounds * (double)bytes;
        now = sea_time();
    }
    for (int t = 0; t < s->count; t++) s->speed[s->targets[t]] = moved / (now - begin) * 1e-9;
}

static void check_what_came(const struct streams *s)
{
    const char *all = sea_local(s->memory[s->rank]);
    for (int r = 0; r < s->ranks; r++) {
        const char *from = all + (size_t)r * s->pattern.bytes;
        if (!pattern_has_stream(&s->pattern, r, s->rank)) continue;
        if (from[0] != (char)(r + 1) || from[s->pattern.bytes - 1] != (char)(r + 1)) {
            fprintf(stderr, "onesea-bench-worker-patterns: what rank %d sent is not there\n", r);
            sea_abort(1, NULL);
        }
    }
}

static void report(const struct streams *s)
{
    const size_t count = PATTERN_RANKS * (size_t)s->ranks;
    double *all = malloc(sizeof *all * count);
    check(sea_gather(SEA_TEAM_WORLD, 0, s->speed, all, sizeof s->speed), "gather");
    if (s->rank == 0) pattern_print(&s->pattern, all, count);
    free(all);
}

static void open_memory(struct streams *s)
{
    sea_addr mine;
    check(sea_heap_alloc(s->rank, s->pattern.bytes * (size_t)s->ranks, &mine), "heap");
    check(sea_allgather(SEA_TEAM_WORLD, &mine, s->memory, sizeof mine), "allgather");
}

int main(int argc, char **argv)
{
    static struct streams s;
    if (pattern_read(argc, argv, &s.pattern) != 0) {
        fprintf(stderr, "usage: onesea-bench-worker-patterns one|both|out|in BYTES MS\n");
        return 2;
    }
    check(sea_init(NULL), "init");
    check(sea_set_timeout(MEASURE_PATIENCE_S), "timeout");
    s.rank = sea_rank();
    s.ranks = sea_size();
    if (s.ranks != pattern_ranks(&s.pattern)) sea_abort(2, "onesea-bench-worker-patterns: wrong number of ranks");
    open_memory(&s);
    char *source = malloc(s.pattern.bytes);
    memset(source, s.rank + 1, s.pattern.bytes);
    find_targets(&s);
    for (int t = 0; t < s.count; t++) { /* the links come into being, and the pages */
        check(sea_put(place_at(&s, s.targets[t]), source, s.pattern.bytes, NULL), "put");
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
