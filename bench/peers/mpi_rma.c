/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-peer-NAME-rma --ms M --cores A,B --batch N CASE:BYTES...: the one-sided operations of an MPI, timed by
 * the same loop as ours, with the target waiting inside MPI (in a barrier). put completes locally (flush_local), all
 * others remotely (flush); put_bw and get_bw keep a window of transfers in flight before one flush. send_bw: MPI_Send()
 * of a window of messages whose receives are posted, and an empty answer.
 */
#define _GNU_SOURCE
#include "measure/measure.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGET = 1 };

struct peer {
    MPI_Win window;
    char *buffer;
    size_t bytes, in_flight, batch;
    measured_fn one;
    long long word, result, expected;
};

static void put(void *context)
{
    struct peer *p = context;
    MPI_Put(p->buffer, (int)p->bytes, MPI_BYTE, TARGET, 0, (int)p->bytes, MPI_BYTE, p->window);
    MPI_Win_flush_local(TARGET, p->window);
}

static void put_fence(void *context)
{
    struct peer *p = context;
    MPI_Put(p->buffer, (int)p->bytes, MPI_BYTE, TARGET, 0, (int)p->bytes, MPI_BYTE, p->window);
    MPI_Win_flush(TARGET, p->window);
}

static void get(void *context)
{
    struct peer *p = context;
    MPI_Get(p->buffer, (int)p->bytes, MPI_BYTE, TARGET, 0, (int)p->bytes, MPI_BYTE, p->window);
    MPI_Win_flush(TARGET, p->window);
}

static void fetch_add(void *context)
{
    struct peer *p = context;
    p->word = 1;
    MPI_Fetch_and_op(&p->word, &p->result, MPI_LONG_LONG, TARGET, 0, MPI_SUM, p->window);
    MPI_Win_flush(TARGET, p->window);
}

static void cas(void *context)
{
    struct peer *p = context;
    p->word = p->expected + 1;
    MPI_Compare_and_swap(&p->word, &p->expected, &p->result, MPI_LONG_LONG, TARGET, 0, p->window);
    MPI_Win_flush(TARGET, p->window);
    p->expected = p->result + 1;
}

static void put_many(void *context)
{
    struct peer *p = context;
    for (size_t i = 0; i < p->in_flight; i++)
        MPI_Put(p->buffer, (int)p->bytes, MPI_BYTE, TARGET, 0, (int)p->bytes, MPI_BYTE, p->window);
    MPI_Win_flush(TARGET, p->window);
}

static void get_many(void *context)
{
    struct peer *p = context;
    for (size_t i = 0; i < p->in_flight; i++)
        MPI_Get(p->buffer, (int)p->bytes, MPI_BYTE, TARGET, 0, (int)p->bytes, MPI_BYTE, p->window);
    MPI_Win_flush(TARGET, p->window);
}

enum { tag_data = 1, tag_answer = 2 };

static void answer_came(void) { MPI_Recv(NULL, 0, MPI_BYTE, TARGET, tag_answer, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void send_many(void *context)
{
    struct peer *p = context;
    for (size_t i = 0; i < p->in_flight; i++)
        MPI_Send(p->buffer, (int)p->bytes, MPI_BYTE, TARGET, tag_data, MPI_COMM_WORLD);
    answer_came();
}

/* The target's side: windows of receives, each posted before the last one is answered, until a window is empty. */
static void receive_windows(const struct peer *p)
{
    static MPI_Request requests[2][512];
    static MPI_Status states[512];
    const int n = (int)p->in_flight;
    int count = 1;
    for (int turn = -1; count > 0; turn++) {
        for (int i = 0; i < n; i++)
            MPI_Irecv(p->buffer, (int)p->bytes, MPI_BYTE, 0, tag_data, MPI_COMM_WORLD, &requests[(turn + 1) & 1][i]);
        if (turn >= 0) MPI_Send(NULL, 0, MPI_BYTE, 0, tag_answer, MPI_COMM_WORLD);
        MPI_Waitall(n, requests[(turn + 1) & 1], states);
        MPI_Get_count(&states[0], MPI_BYTE, &count);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 0, tag_answer, MPI_COMM_WORLD);
}

static void end_windows(const struct peer *p)
{
    for (size_t i = 0; i < p->in_flight; i++) MPI_Send(NULL, 0, MPI_BYTE, TARGET, tag_data, MPI_COMM_WORLD);
    answer_came();
}

/* In shared memory an operation takes less than the clock: batches, as ours. */
static void batched(void *context)
{
    struct peer *p = context;
    for (size_t i = 0; i < p->batch; i++) p->one(p);
}

static const struct named {
    const char *name;
    enum metric metric;
    measured_fn fn;
} cases[] = {
    {"put", METRIC_LATENCY, put},
    {"put_fence", METRIC_LATENCY, put_fence},
    {"get", METRIC_LATENCY, get},
    {"fetch_add", METRIC_LATENCY, fetch_add},
    {"cas", METRIC_LATENCY, cas},
    {"put_rate", METRIC_RATE, put_many},
    {"put_bw", METRIC_BANDWIDTH, put_many},
    {"get_bw", METRIC_BANDWIDTH, get_many},
    {"send_bw", METRIC_BANDWIDTH, send_many},
};

static void run_case(struct peer *p, const char *argument, double milliseconds, int rank)
{
    char name[32];
    if (sscanf(argument, "%31[a-z_]:%zu", name, &p->bytes) != 2 || p->bytes == 0) {
        fprintf(stderr, "mpi_rma: wrong case '%s'\n", argument);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, name) != 0) continue;
        int one = cases[i].metric == METRIC_LATENCY;
        p->in_flight = one ? p->batch : window_for(p->bytes);
        p->one = cases[i].fn;
        const int sends = cases[i].fn == send_many;
        if (rank != 0 && sends) receive_windows(p);
        if (rank != 0) return;
        measure(&(struct measurement){name, cases[i].metric, p->bytes, p->in_flight, milliseconds, 0,
                                      one ? batched : cases[i].fn, p});
        if (sends) end_windows(p);
    }
}

/* The rank, before MPI_Init(): the threads that it makes are to inherit the processor. */
static int early_rank(void)
{
    const char *rank = getenv("PMI_RANK");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank ? atoi(rank) : -1;
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

int main(int argc, char **argv)
{
    int cores[2], rank;
    if (argc < 8 || strcmp(argv[1], "--ms") != 0 || sscanf(argv[4], "%d,%d", &cores[0], &cores[1]) != 2) {
        fputs("usage: onesea-bench-peer-NAME-rma --ms M --cores A,B --batch N CASE:BYTES...\n", stderr);
        return 2;
    }
    int early = early_rank();
    if (early >= 0) pin_all_threads(cores[early & 1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct peer p = {.batch = (size_t)atoi(argv[6])};
    size_t room = largest(argc, argv, 7);
    void *memory;
    p.buffer = malloc(room);
    memset(p.buffer, 1, room); /* not 0: compilers make of that pages that nobody wrote, which are all the same one */
    MPI_Win_allocate((MPI_Aint)room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &p.window);
    memset(memory, 0, room);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, p.window);
    for (int i = 7; i < argc; i++) run_case(&p, argv[i], atof(argv[2]), rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(p.window);
    MPI_Win_free(&p.window);
    MPI_Finalize();
    free(p.buffer);
    return 0;
}
