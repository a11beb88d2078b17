/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-tune --ms M --cores A,B CASE:NUMBER...
 *
 * Two ranks: rank 0 measures on processor A what the numbers of a profile change; rank 1 waits on processor B.
 *
 *   put     NUMBER bytes, then a fence: one transfer at a time, as a ping-pong with a short answer (bandwidth)
 *   stream  NUMBER bytes each, 16 MB of them under way before a fence (bandwidth)
 *   burst   NUMBER puts of 8 bytes, then a fence (latency of the whole)
 *   message a matched message of NUMBER bytes there and back (latency of both)
 *   am      an active message with NUMBER bytes of data, until its handlers have returned (latency)
 */
#define _GNU_SOURCE
#include <onesea.h>
#include <onesea/message.h>

#include "measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { TARGET = 1, AM_ID = 1, TAG = 1 };

struct place { /* of the target */
    sea_addr memory, ended;
};

struct bench {
    struct place at;
    char *buffer;
    size_t number;
};

static void check(int status, const char *what)
{
    if (status == SEA_OK) return;
    fprintf(stderr, "onesea-bench-worker-tune: %s: %s: %s\n", what, sea_strerror(status), sea_last_error());
    sea_abort(1, NULL);
}

static void put(void *context)
{
    struct bench *b = context;
    check(sea_put(b->at.memory, b->buffer, b->number, NULL), "put");
    check(sea_fence(TARGET), "fence");
}

static void stream(void *context)
{
    struct bench *b = context;
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    for (size_t i = 0, n = window_for(b->number); i < n; i++)
        check(sea_put(b->at.memory, b->buffer, b->number, &opts), "put");
    check(sea_fence(TARGET), "fence");
}

static void burst(void *context)
{
    struct bench *b = context;
    for (size_t i = 0; i < b->number; i++) check(sea_put(b->at.memory + i % 512 * 8, b->buffer, 8, NULL), "put");
    check(sea_fence(TARGET), "fence");
}

static void am(void *context)
{
    struct bench *b = context;
    sea_op op;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    check(sea_am_send(TARGET, AM_ID, NULL, 0, b->buffer, b->number, &opts), "am");
    check(sea_wait(op, MEASURE_PATIENCE_S), "wait for am");
}

static void message(void *context)
{
    struct bench *b = context;
    check(sea_message_send(SEA_TEAM_WORLD, TARGET, TAG, b->buffer, b->number, NULL), "send");
    check(sea_message_receive(SEA_TEAM_WORLD, TARGET, TAG, b->buffer, b->number, NULL, NULL), "receive");
}

/* Rank 0 ends a case with a message of no bytes. */
static void answer_messages(struct bench *b)
{
    for (;;) {
        sea_message_info info;
        check(sea_message_receive(SEA_TEAM_WORLD, 0, TAG, b->buffer, b->number, &info, NULL), "receive");
        if (info.bytes == 0) return;
        check(sea_message_send(SEA_TEAM_WORLD, 0, TAG, b->buffer, info.bytes, NULL), "send");
    }
}

static const struct named {
    const char *name;
    enum metric metric;
    measured_fn fn;
} cases[] = {
    {"put", METRIC_BANDWIDTH, put}, {"stream", METRIC_BANDWIDTH, stream}, {"burst", METRIC_LATENCY, burst},
    {"am", METRIC_LATENCY, am},     {"message", METRIC_LATENCY, message},
};

static const struct named *read_case(const char *argument, size_t *number)
{
    const char *colon = strchr(argument, ':');
    char *end = NULL;
    *number = colon ? strtoull(colon + 1, &end, 10) : 0;
    for (size_t i = 0; colon && *number && !*end && i < sizeof cases / sizeof *cases; i++)
        if (strlen(cases[i].name) == (size_t)(colon - argument) &&
            memcmp(cases[i].name, argument, strlen(cases[i].name)) == 0)
            return &cases[i];
    fprintf(stderr, "onesea-bench-worker-tune: wrong case '%s'\n", argument);
    exit(2);
}

static void run_case(struct bench *b, const char *argument, double milliseconds)
{
    const struct named *c = read_case(argument, &b->number);
    const size_t per_call = c->fn == stream ? window_for(b->number) : 1;
    measure(&(struct measurement){c->name, c->metric, b->number, per_call, milliseconds, 0, c->fn, b});
    if (c->fn == message) check(sea_message_send(SEA_TEAM_WORLD, TARGET, TAG, NULL, 0, NULL), "send");
}

static void *take_message(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    (void)on_complete;
    (void)argument;
    return message->context; /* long enough for the largest case */
}

static size_t largest(int argc, char **argv, int from)
{
    size_t most = 4096, number;
    for (int i = from; i < argc; i++)
        if (read_case(argv[i], &number)->fn != burst && number > most) most = number;
    return most;
}

int main(int argc, char **argv)
{
    int cores[2];
    if (argc < 6 || strcmp(argv[1], "--ms") != 0 || strcmp(argv[3], "--cores") != 0 ||
        sscanf(argv[4], "%d,%d", &cores[0], &cores[1]) != 2) {
        fputs("usage: onesea-bench-worker-tune --ms M --cores A,B put|stream|burst|am|message:NUMBER...\n", stderr);
        return 2;
    }
    check(sea_init(NULL), "init");
    const int me = sea_rank();
    if (sea_size() != 2) {
        fputs("onesea-bench-worker-tune: takes two ranks\n", stderr);
        return 2;
    }
    pin_all_threads(cores[me]);
    struct bench b = {.number = largest(argc, argv, 5)};
    struct place own = {SEA_NULL, SEA_NULL}, all[2];
    b.buffer = malloc(b.number);
    if (!b.buffer) return 1;
    memset(b.buffer, 1, b.number);
    check(sea_am_register(AM_ID, take_message, b.buffer), "register");
    if (me == TARGET) {
        check(sea_heap_alloc(me, b.number, &own.memory), "alloc");
        check(sea_heap_alloc(me, sizeof(sea_counter), &own.ended), "alloc");
        memset(sea_local(own.memory), 1, b.number);
        memset(sea_local(own.ended), 0, sizeof(sea_counter));
    }
    check(sea_allgather(SEA_TEAM_WORLD, &own, all, sizeof own), "allgather");
    b.at = all[TARGET];
    if (me == TARGET) {
        size_t number;
        for (int i = 5; i < argc; i++)
            if (read_case(argv[i], &number)->fn == message) answer_messages(&b);
        check(sea_counter_wait(sea_local(own.ended), 1, 10 * MEASURE_PATIENCE_S), "wait for the end");
    } else {
        for (int i = 5; i < argc; i++) run_case(&b, argv[i], atof(argv[2]));
        sea_opts opts = SEA_OPTS_INIT;
        opts.target_counter = b.at.ended;
        check(sea_put(b.at.memory, b.buffer, 8, &opts), "end");
    }
    check(sea_barrier(SEA_TEAM_WORLD), "barrier");
    check(sea_finalize(), "finalize");
    free(b.buffer);
    return 0;
}
