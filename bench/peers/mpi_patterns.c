/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-peer-NAME-patterns PATTERN BYTES MS: the streams of patterns/worker.c in an MPI: MPI_Put() into a
 * window, as many bytes under way to each target, MPI_Win_flush() of each in the place of a fence. A rank that is only
 * a target waits in a barrier, where an MPI takes in what comes.
 */
#define _GNU_SOURCE
#include "measure/measure.h"
#include "measure/pattern.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct streams {
    struct pattern pattern;
    int rank, ranks, bytes;
    MPI_Win window;
    char *source, *memory;
    int targets[PATTERN_RANKS], count;
    double speed[PATTERN_RANKS]; /* GB/s, by target */
};

static void put(const struct streams *s, int target)
{
    MPI_Put(s->source, s->bytes, MPI_BYTE, target, (MPI_Aint)s->rank * s->bytes, s->bytes, MPI_BYTE, s->window);
}

static void flush(const struct streams *s)
{
    for (int t = 0; t < s->count; t++) MPI_Win_flush(s->targets[t], s->window);
}

static void stream(struct streams *s)
{
    const size_t rounds = pattern_window(&s->pattern);
    const double begin = MPI_Wtime();
    double moved = 0, now = begin;
    while (s->count && now - begin < s->pattern.seconds) {
        for (size_t i = 0; i < rounds; i++)
            for (int t = 0; t < s->count; t++) put(s, s->targets[t]);
        flush(s);
        moved += (double)rounds * s->bytes;
        now = MPI_Wtime();
    }
    for (int t = 0; t < s->count; t++) s->speed[s->targets[t]] = moved / (now - begin) * 1e-9;
}

static void check_what_came(const struct streams *s)
{
    for (int r = 0; r < s->ranks; r++) {
        const char *from = s->memory + (size_t)r * s->pattern.bytes;
        if (!pattern_has_stream(&s->pattern, r, s->rank)) continue;
        if (from[0] != (char)(r + 1) || from[s->pattern.bytes - 1] != (char)(r + 1)) {
            fprintf(stderr, "mpi_patterns: what rank %d sent is not there\n", r);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void report(const struct streams *s)
{
    const size_t count = PATTERN_RANKS * (size_t)s->ranks;
    double *all = malloc(sizeof *all * count);
    MPI_Gather(s->speed, PATTERN_RANKS, MPI_DOUBLE, all, PATTERN_RANKS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (s->rank == 0) pattern_print(&s->pattern, all, count);
    free(all);
}

static void open_memory(struct streams *s)
{
    const size_t all = s->pattern.bytes * (size_t)s->ranks;
    void *memory;
    MPI_Win_allocate((MPI_Aint)all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &s->window);
    s->memory = memory;
    s->source = malloc(s->pattern.bytes);
    if (!s->source) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(s->memory, 0, all);
    memset(s->source, s->rank + 1, s->pattern.bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static struct streams s;
    if (pattern_read(argc, argv, &s.pattern) != 0 || s.pattern.bytes > 1u << 30) {
        fputs("usage: onesea-bench-peer-NAME-patterns one|both|out|in BYTES MS\n", stderr);
        return 2;
    }
    s.bytes = (int)s.pattern.bytes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    if (s.ranks != pattern_ranks(&s.pattern)) MPI_Abort(MPI_COMM_WORLD, 2);
    for (int r = 0; r < s.ranks; r++)
        if (pattern_has_stream(&s.pattern, s.rank, r)) s.targets[s.count++] = r;
    open_memory(&s);
    MPI_Win_lock_all(0, s.window);
    for (int t = 0; t < s.count; t++) put(&s, s.targets[t]); /* the connections come into being */
    flush(&s);
    MPI_Barrier(MPI_COMM_WORLD);
    stream(&s);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(s.window);
    check_what_came(&s);
    report(&s);
    MPI_Win_free(&s.window);
    MPI_Finalize();
    free(s.source);
    return 0;
}
