/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-peer-NAME-collectives --ms M --cores A,B CASE:BYTES...: what ranks do together in an MPI, the cases of
 * collectives/worker.c, timed by the same loop. exchange: MPI_Sendrecv(); neighbors: MPI_Neighbor_alltoall() on a
 * graph of MPI_Dist_graph_create_adjacent(); the others are the MPI's own collectives of that name.
 */
#define _GNU_SOURCE
#include "measure/measure.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 64 };

struct parts {
    int bytes[RANKS_MAX], at[RANKS_MAX];
};

struct group {
    int rank, ranks, bytes;
    uint64_t turn;
    char *in, *out;
    struct parts in_parts, out_parts, shares;
    MPI_Comm backward; /* all ranks, the last one first */
    MPI_Comm graph;
};

static void exchange(void *context)
{
    struct group *g = context;
    const int other = 1 - g->rank;
    MPI_Sendrecv(g->in, g->bytes, MPI_BYTE, other, 0, g->out, g->bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void barrier(void *context)
{
    (void)context;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allgather(void *context)
{
    struct group *g = context;
    MPI_Allgather(g->in, g->bytes, MPI_BYTE, g->out, g->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void allreduce(void *context)
{
    struct group *g = context;
    MPI_Allreduce(g->in, g->out, g->bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(void *context)
{
    struct group *g = context;
    MPI_Alltoall(g->in, g->bytes, MPI_BYTE, g->out, g->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void choose_parts(struct group *g)
{
    for (int r = 0, in = 0, out = 0, shares = 0; r < g->ranks; r++) {
        g->shares.at[r] = shares;
        shares += g->shares.bytes[r] = (int)uneven_share((size_t)g->bytes, r);
        g->in_parts.at[r] = in;
        g->out_parts.at[r] = out;
        in += g->in_parts.bytes[r] = (int)uneven_part((size_t)g->bytes, g->rank, r);
        out += g->out_parts.bytes[r] = (int)uneven_part((size_t)g->bytes, r, g->rank);
    }
}

static void alltoallv(void *context)
{
    struct group *g = context;
    MPI_Alltoallv(g->in, g->in_parts.bytes, g->in_parts.at, MPI_BYTE, g->out, g->out_parts.bytes, g->out_parts.at,
                  MPI_BYTE, MPI_COMM_WORLD);
}

static void reduce_scatter(void *context)
{
    struct group *g = context;
    MPI_Reduce_scatter_block(g->in, g->out, g->bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static MPI_Comm next_order(struct group *g) { return g->turn++ % 2 == 0 ? MPI_COMM_WORLD : g->backward; }

static void scan(void *context)
{
    struct group *g = context;
    MPI_Scan(g->in, g->out, g->bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, next_order(g));
}

static void exscan(void *context)
{
    struct group *g = context;
    MPI_Exscan(g->in, g->out, g->bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, next_order(g));
}

static int next_root(struct group *g) { return (int)(g->turn++ % (uint64_t)g->ranks); }

static void broadcast(void *context)
{
    struct group *g = context;
    MPI_Bcast(g->out, g->bytes, MPI_BYTE, next_root(g), MPI_COMM_WORLD);
}

static void allgatherv(void *context)
{
    struct group *g = context;
    MPI_Allgatherv(g->in, g->shares.bytes[g->rank], MPI_BYTE, g->out, g->shares.bytes, g->shares.at, MPI_BYTE,
                   MPI_COMM_WORLD);
}

static void gatherv(void *context)
{
    struct group *g = context;
    MPI_Gatherv(g->in, g->shares.bytes[g->rank], MPI_BYTE, g->out, g->shares.bytes, g->shares.at, MPI_BYTE,
                next_root(g), MPI_COMM_WORLD);
}

static void scatterv(void *context)
{
    struct group *g = context;
    MPI_Scatterv(g->in, g->shares.bytes, g->shares.at, MPI_BYTE, g->out, g->shares.bytes[g->rank], MPI_BYTE,
                 next_root(g), MPI_COMM_WORLD);
}

static void open_graph(struct group *g)
{
    int edges[2] = {(g->rank + g->ranks - 1) % g->ranks, (g->rank + 1) % g->ranks};
    const int degree = edges[0] == edges[1] ? 1 : 2, alike[2] = {1, 1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, edges, alike, degree, edges, alike, MPI_INFO_NULL, 0,
                                   &g->graph);
}

static void step(void *context)
{
    struct group *g = context;
    MPI_Neighbor_alltoall(g->in, g->bytes, MPI_BYTE, g->out, g->bytes, MPI_BYTE, g->graph);
}

static const struct named {
    const char *name;
    measured_fn fn;
} cases[] = {
    {"exchange", exchange},   {"barrier", barrier},     {"allgather", allgather},           {"allreduce", allreduce},
    {"alltoall", alltoall},   {"alltoallv", alltoallv}, {"reduce_scatter", reduce_scatter}, {"scan", scan},
    {"broadcast", broadcast}, {"neighbors", step},      {"allgatherv", allgatherv},         {"gatherv", gatherv},
    {"scatterv", scatterv},   {"exscan", exscan},
};

static uint64_t agree(uint64_t value)
{
    MPI_Bcast(&value, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return value;
}

static void run_case(struct group *g, const char *argument, double milliseconds)
{
    char name[32];
    const struct named *c = cases, *end = cases + sizeof cases / sizeof *cases;
    const int parts = sscanf(argument, "%31[a-z_]:%d", name, &g->bytes);
    while (parts == 2 && c < end && strcmp(c->name, name) != 0) c++;
    if (parts != 2 || g->bytes < 0 || c == end || (c->fn == exchange && g->ranks != 2)) {
        fprintf(stderr, "mpi_collectives: wrong case '%s' for %d ranks\n", argument, g->ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return;
    }
    g->turn = 0;
    choose_parts(g);
    if (c->fn == step) open_graph(g);
    MPI_Barrier(MPI_COMM_WORLD);
    measure_together(
        &(struct measurement){name, METRIC_LATENCY, (size_t)g->bytes, (size_t)g->ranks, milliseconds, 0, c->fn, g},
        g->rank, agree);
    if (c->fn == step) MPI_Comm_free(&g->graph);
}

/* Filled with doubles that sum up to ordinary numbers. */
static char *room_for(int argc, char **argv, int from, int ranks)
{
    size_t most = 4096;
    for (int i = from; i < argc; i++) {
        const char *colon = strchr(argv[i], ':');
        size_t bytes = colon ? strtoull(colon + 1, NULL, 10) : 0;
        most = bytes > most ? bytes : most;
    }
    most *= 2 * (size_t)ranks; /* parts of different lengths take more than the mean */
    char *room = malloc(most);
    if (!room) MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < most / sizeof(double); i++) ((double *)(void *)room)[i] = 1;
    return room;
}

/* The rank, before MPI_Init(): the threads that it makes are to inherit the processor. */
static int early_rank(void)
{
    const char *rank = getenv("PMI_RANK");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank ? atoi(rank) : -1;
}

int main(int argc, char **argv)
{
    int cores[2];
    if (argc < 6 || strcmp(argv[1], "--ms") != 0 || strcmp(argv[3], "--cores") != 0 ||
        sscanf(argv[4], "%d,%d", &cores[0], &cores[1]) != 2) {
        fputs("usage: onesea-bench-peer-NAME-collectives --ms M --cores A,B CASE:BYTES...\n", stderr);
        return 2;
    }
    const int early = early_rank();
    if (early >= 0) pin_all_threads(cores[early & 1]);
    MPI_Init(&argc, &argv);
    static struct group g;
    MPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g.ranks);
    if (g.ranks > RANKS_MAX) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -g.rank, &g.backward);
    g.in = room_for(argc, argv, 5, g.ranks);
    g.out = room_for(argc, argv, 5, g.ranks);
    for (int i = 5; i < argc; i++) run_case(&g, argv[i], atof(argv[2]));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&g.backward);
    MPI_Finalize();
    free(g.in);
    free(g.out);
    return 0;
}
