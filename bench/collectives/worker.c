/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-collectives --ms M --cores A,B CASE:BYTES...
 *
 * What ranks do together; rank 0 measures.
 *
 *   exchange   two ranks: each puts BYTES with a signal to the other and waits for the other's signal. The data of a
 *              step goes to one of two places in turn: a rank that is a step ahead overwrites nothing that is read
 *   barrier    sea_barrier()
 *   allgather  BYTES of each rank     allreduce  the sum of BYTES of doubles     alltoall  BYTES for each pair
 *   alltoallv  the same with parts of different lengths (uneven_part()), BYTES in the mean
 *   reduce_scatter  sums of which each rank gets BYTES of doubles
 *   scan       sums of BYTES of doubles, in turn over the ranks before and over those behind, so that none runs ahead
 *   broadcast  BYTES; every rank is the root in turn, so that none can run ahead of the others
 *   neighbors  a step of a graph that joins each rank with the one before and the one after it (two ranks: with the
 *              other one), BYTES along each edge
 *   allgatherv gatherv scatterv  parts of different lengths (uneven_share()), BYTES in the mean; every rank is the
 *              root in turn
 *   exscan     as scan, without the own data
 *
 * After each case every rank looks whether what should have come is there.
 */
#define _GNU_SOURCE
#include <onesea.h>
#include <onesea/collective.h>
#include <onesea/neighbors.h>

#include "measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 64, PLACES = 128 }; /* PLACES: offset of the data behind the counter */

struct group {
    int rank, ranks;
    size_t bytes;
    uint64_t turn; /* of the case */
    char *in, *out;
    sea_addr memory[RANKS_MAX]; /* of each rank: a counter, and two places for what an exchange brings */
    sea_counter sent, *arrived;
    uint64_t exchanged; /* since the start */
    size_t in_bytes[RANKS_MAX], out_bytes[RANKS_MAX];
    sea_team backward; /* all ranks, the last one first */
    sea_neighbors graph;
    sea_neighbor edges[2];
    int degree;
};

static void check(int status, const char *what)
{
    if (status == SEA_OK) return;
    fprintf(stderr, "onesea-bench-worker-collectives: %s: %s: %s\n", what, sea_strerror(status), sea_last_error());
    sea_abort(1, NULL);
}

static void fill(char *at, size_t bytes, int rank) { memset(at, rank + 1, bytes); }

static int holds(const char *at, size_t bytes, int rank)
{
    return bytes == 0 || (at[0] == (char)(rank + 1) && at[bytes - 1] == (char)(rank + 1));
}

/* A part of each rank, in their order. */
static int all_came(const struct group *g)
{
    for (int r = 0; r < g->ranks; r++)
        if (!holds(g->out + (size_t)r * g->bytes, g->bytes, r)) return 0;
    return 1;
}

/* ---- cases: one call, what comes before the first, and whether all is there after the last ---------------------- */

static void fill_all(struct group *g) { fill(g->in, g->bytes * (size_t)g->ranks, g->rank); }

static void exchange(void *context)
{
    struct group *g = context;
    const sea_addr to = g->memory[1 - g->rank];
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    o.origin_counter = &g->sent;
    check(sea_counter_wait(&g->sent, g->exchanged, SEA_FOREVER), "wait for the own put");
    check(sea_put_signal(to + PLACES + (g->exchanged & 1) * g->bytes, g->in, g->bytes, to, 1, SEA_SIGNAL_ADD, &o),
          "put with a signal");
    g->exchanged++;
    check(sea_counter_wait(g->arrived, g->exchanged, SEA_FOREVER), "wait for the signal");
}

static int exchange_came(const struct group *g)
{
    const char *places = (const char *)g->arrived + PLACES;
    return holds(places, g->bytes, 1 - g->rank) && holds(places + g->bytes, g->bytes, 1 - g->rank);
}

static void barrier(void *context)
{
    (void)context;
    check(sea_barrier(SEA_TEAM_WORLD), "barrier");
}

static int nothing_comes(const struct group *g) { return g != NULL; }

static void allgather(void *context)
{
    struct group *g = context;
    check(sea_allgather(SEA_TEAM_WORLD, g->in, g->out, g->bytes), "allgather");
}

static void fill_doubles(struct group *g)
{
    for (size_t i = 0; i < g->bytes / sizeof(double); i++) ((double *)(void *)g->in)[i] = g->rank + 1;
}

static void allreduce(void *context)
{
    struct group *g = context;
    check(sea_allreduce(SEA_TEAM_WORLD, g->in, g->out, g->bytes / sizeof(double), SEA_DOUBLE, SEA_SUM), "allreduce");
}

/* All of the doubles that should be there are the same. */
static int has_doubles(const struct group *g, double expected)
{
    const double *here = (const double *)(const void *)g->out;
    return here[0] == expected && here[g->bytes / sizeof(double) - 1] == expected;
}

static int sum_came(const struct group *g) { return has_doubles(g, g->ranks * (g->ranks + 1) / 2.0); }

static void alltoall(void *context)
{
    struct group *g = context;
    check(sea_alltoall(SEA_TEAM_WORLD, g->in, g->out, g->bytes), "alltoall");
}

static void fill_parts(struct group *g)
{
    for (int r = 0; r < g->ranks; r++) {
        g->in_bytes[r] = uneven_part(g->bytes, g->rank, r);
        g->out_bytes[r] = uneven_part(g->bytes, r, g->rank);
    }
    fill(g->in, 2 * g->bytes * (size_t)g->ranks, g->rank);
}

static void alltoallv(void *context)
{
    struct group *g = context;
    check(sea_alltoallv(SEA_TEAM_WORLD, g->in, g->in_bytes, NULL, g->out, g->out_bytes, NULL), "alltoallv");
}

static int parts_came(const struct group *g)
{
    size_t at = 0;
    for (int r = 0; r < g->ranks; at += g->out_bytes[r++])
        if (!holds(g->out + at, g->out_bytes[r], r)) return 0;
    return 1;
}

static void fill_shares(struct group *g)
{
    for (int r = 0; r < g->ranks; r++) g->in_bytes[r] = g->out_bytes[r] = uneven_share(g->bytes, r);
    fill(g->in, 2 * g->bytes * (size_t)g->ranks, g->rank);
}

static void allgatherv(void *context)
{
    struct group *g = context;
    check(sea_allgatherv(SEA_TEAM_WORLD, g->in, g->out, g->out_bytes, NULL), "allgatherv");
}

static int next_root(struct group *g) { return (int)(g->turn++ % (uint64_t)g->ranks); }

static void gatherv(void *context)
{
    struct group *g = context;
    check(sea_gatherv(SEA_TEAM_WORLD, next_root(g), g->in, g->in_bytes[g->rank], g->out, g->out_bytes, NULL),
          "gatherv");
}

static void scatterv(void *context)
{
    struct group *g = context;
    check(sea_scatterv(SEA_TEAM_WORLD, next_root(g), g->in, g->in_bytes, NULL, g->out, g->out_bytes[g->rank]),
          "scatterv");
}

static int share_came(const struct group *g)
{
    const int last_root = (int)((g->turn - 1) % (uint64_t)g->ranks);
    return holds(g->out, g->out_bytes[g->rank], last_root);
}

static void fill_terms(struct group *g)
{
    const size_t count = g->bytes / sizeof(double);
    for (size_t i = 0; i < count * (size_t)g->ranks; i++)
        ((double *)(void *)g->in)[i] = (double)(g->rank + 1) * (double)(i / count + 1);
}

static void reduce_scatter(void *context)
{
    struct group *g = context;
    check(sea_reduce_scatter(SEA_TEAM_WORLD, g->in, g->out, g->bytes / sizeof(double), SEA_DOUBLE, SEA_SUM),
          "reduce_scatter");
}

static int own_sum_came(const struct group *g)
{
    return has_doubles(g, g->ranks * (g->ranks + 1) / 2.0 * (g->rank + 1));
}

static void open_scan(struct group *g)
{
    fill_doubles(g);
    check(sea_team_split(SEA_TEAM_WORLD, 0, -g->rank, &g->backward), "team");
}

static sea_team next_order(struct group *g) { return g->turn++ % 2 == 0 ? SEA_TEAM_WORLD : g->backward; }

static void scan(void *context)
{
    struct group *g = context;
    check(sea_scan(next_order(g), g->in, g->out, g->bytes / sizeof(double), SEA_DOUBLE, SEA_SUM), "scan");
}

static int last_scan_came(const struct group *g)
{
    const int before = g->rank * (g->rank + 1) / 2, all = g->ranks * (g->ranks + 1) / 2;
    return has_doubles(g, g->turn % 2 == 1 ? before + g->rank + 1 : all - before);
}

static void exscan(void *context)
{
    struct group *g = context;
    check(sea_exscan(next_order(g), g->in, g->out, g->bytes / sizeof(double), SEA_DOUBLE, SEA_SUM), "exscan");
}

/* Nothing is written where nobody is before: what came in the other order is still there. */
static int last_exscan_came(const struct group *g)
{
    const int before = g->rank * (g->rank + 1) / 2, all = g->ranks * (g->ranks + 1) / 2;
    const int forward = g->rank > 0 && (g->turn % 2 == 1 || g->rank == g->ranks - 1);
    return has_doubles(g, forward ? before : all - before - g->rank - 1);
}

static void free_scan(struct group *g) { check(sea_team_free(g->backward), "end of the team"); }

static void fill_out(struct group *g) { fill(g->out, g->bytes, g->rank); }

static void broadcast(void *context)
{
    struct group *g = context;
    check(sea_broadcast(SEA_TEAM_WORLD, next_root(g), g->out, g->bytes), "broadcast");
}

static int first_came(const struct group *g) { return holds(g->out, g->bytes, 0); }

static void open_graph(struct group *g)
{
    const int before = (g->rank + g->ranks - 1) % g->ranks, after = (g->rank + 1) % g->ranks;
    g->edges[0] = (sea_neighbor){before, g->bytes};
    g->edges[1] = (sea_neighbor){after, g->bytes};
    g->degree = before == after ? 1 : 2;
    check(sea_neighbors_create(SEA_TEAM_WORLD, g->edges, g->degree, g->edges, g->degree, &g->graph), "graph");
    for (int i = 0; i < g->degree; i++) fill(sea_neighbors_out(g->graph, i), g->bytes, g->rank);
}

static void step(void *context)
{
    struct group *g = context;
    check(sea_neighbors_start(g->graph), "start of a step");
    check(sea_neighbors_wait(g->graph), "step");
}

static int step_came(const struct group *g)
{
    int good = 1;
    for (int i = 0; i < g->degree; i++)
        good = holds(sea_neighbors_in(g->graph, i), g->bytes, g->edges[i].member) && good;
    return good;
}

static void free_graph(struct group *g) { check(sea_neighbors_free(g->graph), "end of the graph"); }

static const struct named {
    const char *name;
    void (*open)(struct group *);
    measured_fn fn;
    int (*came)(const struct group *);
    void (*end)(struct group *);
} cases[] = {
    {"exchange", fill_all, exchange, exchange_came, NULL},
    {"barrier", NULL, barrier, nothing_comes, NULL},
    {"allgather", fill_all, allgather, all_came, NULL},
    {"allreduce", fill_doubles, allreduce, sum_came, NULL},
    {"alltoall", fill_all, alltoall, all_came, NULL},
    {"alltoallv", fill_parts, alltoallv, parts_came, NULL},
    {"reduce_scatter", fill_terms, reduce_scatter, own_sum_came, NULL},
    {"scan", open_scan, scan, last_scan_came, free_scan},
    {"broadcast", fill_out, broadcast, first_came, NULL},
    {"neighbors", open_graph, step, step_came, free_graph},
    {"allgatherv", fill_shares, allgatherv, parts_came, NULL},
    {"gatherv", fill_shares, gatherv, parts_came, NULL},
    {"scatterv", fill_shares, scatterv, share_came, NULL},
    {"exscan", open_scan, exscan, last_exscan_came, free_scan},
};

/* ---- main ------------------------------------------------------------------------------------------------------- */

static uint64_t agree(uint64_t value)
{
    check(sea_broadcast(SEA_TEAM_WORLD, 0, &value, sizeof value), "agreement");
    return value;
}

static void run_case(struct group *g, const char *argument, double milliseconds)
{
    char name[32];
    const struct named *c = cases, *end = cases + sizeof cases / sizeof *cases;
    const int parts = sscanf(argument, "%31[a-z_]:%zu", name, &g->bytes);
    while (parts == 2 && c < end && strcmp(c->name, name) != 0) c++;
    if (parts != 2 || c == end || (c->fn == exchange && g->ranks != 2)) {
        fprintf(stderr, "onesea-bench-worker-collectives: wrong case '%s' for %d ranks\n", argument, g->ranks);
        sea_abort(2, NULL);
        return;
    }
    g->turn = 0;
    memset(g->out, 0, 2 * g->bytes * (size_t)g->ranks);
    if (c->open) c->open(g);
    check(sea_barrier(SEA_TEAM_WORLD), "barrier");
    measure_together(&(struct measurement){name, METRIC_LATENCY, g->bytes, (size_t)g->ranks, milliseconds, 0, c->fn, g},
                     g->rank, agree);
    if (!c->came(g)) {
        fprintf(stderr, "onesea-bench-worker-collectives: %s: what should have come is not there\n", argument);
        sea_abort(1, NULL);
    }
    if (c->end) c->end(g);
}

static size_t largest(int argc, char **argv, int from)
{
    size_t most = 4096;
    for (int i = from; i < argc; i++) {
        const char *colon = strchr(argv[i], ':');
        size_t bytes = colon ? strtoull(colon + 1, NULL, 10) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void open_group(struct group *g, size_t room)
{
    g->rank = sea_rank();
    g->ranks = sea_size();
    if (g->ranks > RANKS_MAX) sea_abort(2, "onesea-bench-worker-collectives: too many ranks");
    g->in = malloc(2 * room * (size_t)g->ranks); /* parts of different lengths take more than the mean */
    g->out = malloc(2 * room * (size_t)g->ranks);
    if (!g->in || !g->out) sea_abort(1, "onesea-bench-worker-collectives: no memory");
    sea_addr mine;
    check(sea_heap_alloc(g->rank, PLACES + 2 * room, &mine), "heap");
    g->arrived = sea_local(mine);
    memset(g->arrived, 0, PLACES + 2 * room);
    check(sea_allgather(SEA_TEAM_WORLD, &mine, g->memory, sizeof mine), "allgather");
}

int main(int argc, char **argv)
{
    int cores[2];
    if (argc < 6 || strcmp(argv[1], "--ms") != 0 || strcmp(argv[3], "--cores") != 0 ||
        sscanf(argv[4], "%d,%d", &cores[0], &cores[1]) != 2) {
        fputs("usage: onesea-bench-worker-collectives --ms M --cores A,B CASE:BYTES...\n", stderr);
        return 2;
    }
    check(sea_init(NULL), "init");
    check(sea_set_timeout(MEASURE_PATIENCE_S), "timeout");
    static struct group g;
    open_group(&g, largest(argc, argv, 5));
    pin_all_threads(cores[g.rank & 1]);
    for (int i = 5; i < argc; i++) run_case(&g, argv[i], atof(argv[2]));
    check(sea_fence_all(), "fence");
    check(sea_barrier(SEA_TEAM_WORLD), "barrier");
    free(g.in);
    free(g.out);
    return sea_finalize() == SEA_OK ? 0 : 1;
}
