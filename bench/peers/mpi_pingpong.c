/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-peer-NAME-pingpong --ms M --cores A,B pingpong|stream:BYTES...: two-sided messages of an MPI, in the
 * same way and timed by the same loop as those of mmp.h (bench/mmp/worker.c): there and back, and windows of messages
 * into receives that are posted, with an answer of 4 bytes. Rank 0 ends a case with messages of no bytes.
 */
#define _GNU_SOURCE
#include "measure/measure.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA = 1, ANSWER = 2, WINDOW_MAX = 512, SMALL = 8192, BATCH = 16 };

struct bench {
    char *buffer;
    size_t bytes, window, batch;
    MPI_Request requests[2][WINDOW_MAX];
    MPI_Status statuses[WINDOW_MAX];
};

static void round_trips(void *context)
{
    struct bench *b = context;
    for (size_t i = 0; i < b->batch; i++) {
        MPI_Send(b->buffer, (int)b->bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
        MPI_Recv(b->buffer, (int)b->bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void answer_round_trips(struct bench *b)
{
    for (;;) {
        MPI_Status s;
        int bytes;
        MPI_Recv(b->buffer, (int)b->bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, &s);
        MPI_Get_count(&s, MPI_BYTE, &bytes);
        if (bytes == 0) return;
        MPI_Send(b->buffer, (int)b->bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD);
    }
}

static void send_window(struct bench *b, size_t bytes)
{
    char answer[4];
    for (size_t i = 0; i < b->window; i++)
        MPI_Isend(b->buffer, (int)bytes, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &b->requests[0][i]);
    MPI_Waitall((int)b->window, b->requests[0], b->statuses);
    MPI_Recv(answer, sizeof answer, MPI_BYTE, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void stream(void *context)
{
    struct bench *b = context;
    send_window(b, b->bytes);
}

static void post(struct bench *b, int set)
{
    for (size_t i = 0; i < b->window; i++)
        MPI_Irecv(b->buffer, (int)b->bytes, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, &b->requests[set][i]);
}

/* The receives of the next window are posted before the answer to this one goes. */
static void take_streams(struct bench *b)
{
    post(b, 0);
    for (int set = 0;; set = !set) {
        int bytes;
        MPI_Waitall((int)b->window, b->requests[set], b->statuses);
        MPI_Get_count(&b->statuses[0], MPI_BYTE, &bytes);
        if (bytes > 0) post(b, !set);
        MPI_Send(b->buffer, 4, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD);
        if (bytes == 0) return;
    }
}

static void run_case(struct bench *b, const char *argument, double milliseconds, int rank)
{
    char name[32];
    if (sscanf(argument, "%31[a-z_]:%zu", name, &b->bytes) != 2 || b->bytes == 0) {
        fprintf(stderr, "mpi_pingpong: wrong case '%s'\n", argument);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int streams = strcmp(name, "stream") == 0;
    b->window = window_for(b->bytes);
    b->batch = b->bytes <= SMALL ? BATCH : 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && streams) return take_streams(b);
    if (rank == 1) return answer_round_trips(b);
    measure(&(struct measurement){name, streams ? METRIC_BANDWIDTH : METRIC_LATENCY, b->bytes,
                                  streams ? b->window : b->batch, milliseconds, 0, streams ? stream : round_trips, b});
    if (streams)
        send_window(b, 0);
    else
        MPI_Send(b->buffer, 0, MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
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
    int cores[2], rank;
    if (argc < 6 || strcmp(argv[1], "--ms") != 0 || sscanf(argv[4], "%d,%d", &cores[0], &cores[1]) != 2) {
        fputs("usage: onesea-bench-peer-NAME-pingpong --ms M --cores A,B pingpong|stream:BYTES...\n", stderr);
        return 2;
    }
    int early = early_rank();
    if (early >= 0) pin_all_threads(cores[early & 1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    static struct bench b;
    size_t room = 4096;
    for (int i = 5; i < argc; i++) {
        const char *colon = strchr(argv[i], ':');
        size_t bytes = colon ? strtoull(colon + 1, NULL, 10) : 0;
        room = bytes > room ? bytes : room;
    }
    b.buffer = malloc(room);
    if (!b.buffer) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(b.buffer, 1, room);
    for (int i = 5; i < argc; i++) run_case(&b, argv[i], atof(argv[2]), rank);
    MPI_Finalize();
    free(b.buffer);
    return 0;
}
