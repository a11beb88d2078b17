/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-rma --ms M --cores A,B --path shm|net --target STATE CASE:BYTES...
 *
 * Two ranks: rank 0 measures on processor A, rank 1 is the target on processor B and meanwhile waits in
 * sea_counter_wait(), computes in a loop of arithmetic, or sleeps in nanosleep(). Who computes looks at a flag in its
 * memory now and then, and answers it. Rank 0 ends all that by a put with a target counter. Before it measures, it
 * checks that the path is the one asked for and that data comes back unharmed.
 */
#define _GNU_SOURCE
#include <onesea.h>

#include "measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TARGET = 1, AM_ID = 1, BATCH_SHM = 1024, BATCH_NET = 16, COPY_GAP = 64 };

struct control { /* in each rank's heap */
    uint64_t stop, flag;
    sea_counter ended;
};

struct place {
    sea_addr memory, control;
};

struct bench {
    struct place at; /* of the target */
    const struct control *own;
    char *buffer;
    size_t bytes, in_flight, batch;
    uint64_t value, old;
};

struct arguments {
    double milliseconds, pause_us;
    int cores[2];
    const char *path, *state;
    int first_case;
};

static void check(int status, const char *what)
{
    if (status == SEA_OK) return;
    fprintf(stderr, "onesea-bench-worker-rma: %s: %s: %s\n", what, sea_strerror(status), sea_last_error());
    sea_abort(1, NULL);
}

/* ---- what is measured ------------------------------------------------------------------------------------------- */

static void put(void *context)
{
    struct bench *b = context;
    for (size_t i = 0; i < b->batch; i++) {
        b->value++;
        check(sea_put(b->at.memory, &b->value, 8, NULL), "put");
    }
}

static void get(void *context)
{
    struct bench *b = context;
    for (size_t i = 0; i < b->batch; i++) check(sea_get(&b->value, b->at.memory, 8, NULL), "get");
}

static void put_fence(void *context)
{
    struct bench *b = context;
    for (size_t i = 0; i < b->batch; i++) {
        b->value++;
        check(sea_put(b->at.memory, &b->value, 8, NULL), "put");
        check(sea_fence(TARGET), "fence");
    }
}

static void fetch_add(void *context)
{
    struct bench *b = context;
    for (size_t i = 0; i < b->batch; i++) check(sea_fetch_add8(b->at.memory, 1, &b->old, NULL), "fetch_add");
}

static void cas(void *context)
{
    struct bench *b = context;
    for (size_t i = 0; i < b->batch; i++) {
        check(sea_cas8(b->at.memory, b->value, b->value + 1, &b->old, NULL), "cas");
        b->value = b->old + 1;
    }
}

static void copy(void *context)
{
    struct bench *b = context;
    for (size_t i = 0; i < b->batch; i++) check(sea_copy(b->at.memory + COPY_GAP, b->at.memory, 8, NULL), "copy");
}

static void am(void *context)
{
    struct bench *b = context;
    sea_op op;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &op;
    check(sea_am_send(TARGET, AM_ID, &b->value, sizeof b->value, NULL, 0, &opts), "am");
    check(sea_wait(op, MEASURE_PATIENCE_S), "wait for am");
}

static void put_many(void *context)
{
    struct bench *b = context;
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    for (size_t i = 0; i < b->in_flight; i++) check(sea_put(b->at.memory, b->buffer, b->bytes, &opts), "put");
    check(sea_fence(TARGET), "fence");
}

static void get_many(void *context)
{
    struct bench *b = context;
    sea_counter arrived = {0};
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.origin_counter = &arrived;
    for (size_t i = 0; i < b->in_flight; i++) check(sea_get(b->buffer, b->at.memory, b->bytes, &opts), "get");
    check(sea_counter_wait(&arrived, b->in_flight, MEASURE_PATIENCE_S), "wait for gets");
    check(sea_fence(TARGET), "fence");
}

static void compute(void)
{
    static volatile uint64_t x = 1;
    for (int i = 0; i < 100; i++) x = x * 2862933555777941757u + 3037000493u;
}

/* The word stays as it is until it has arrived. */
static void put_nowait(sea_addr to, const uint64_t *word)
{
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    check(sea_put(to, word, sizeof *word, &opts), "put");
}

/* Data, its length and a flag; neither side makes a call until it sees the other's flag. */
static void flag(void *context)
{
    struct bench *b = context;
    static const uint64_t length = sizeof b->value;
    b->value++;
    put_nowait(b->at.memory, &b->value);
    put_nowait(b->at.memory + sizeof b->value, &length);
    put_nowait(b->at.control + offsetof(struct control, flag), &b->value);
    while (__atomic_load_n(&b->own->flag, __ATOMIC_ACQUIRE) != b->value) compute();
}

static const struct named {
    const char *name;
    enum metric metric;
    measured_fn fn;
    int batched; /* too short for one reading of the clock each */
} cases[] = {
    {"put", METRIC_LATENCY, put, 2},
    {"get", METRIC_LATENCY, get, 1},
    {"put_fence", METRIC_LATENCY, put_fence, 1},
    {"fetch_add", METRIC_LATENCY, fetch_add, 1},
    {"cas", METRIC_LATENCY, cas, 1},
    {"copy", METRIC_LATENCY, copy, 1},
    {"am", METRIC_LATENCY, am, 0},
    {"flag", METRIC_LATENCY, flag, 0},
    {"put_rate", METRIC_RATE, put_many, 0},
    {"put_bw", METRIC_BANDWIDTH, put_many, 0},
    {"get_bw", METRIC_BANDWIDTH, get_many, 0},
};

/* Inside a node only a message needs the target: nothing else has a reason to let it fall asleep. */
static double pause_of(const struct named *c, const struct arguments *a)
{
    if (c->fn == flag) return MEASURE_ASLEEP_PAUSE_US; /* both have computed for a while */
    return c->batched && strcmp(a->path, "shm") == 0 ? 0 : a->pause_us;
}

static size_t batch_of(const struct named *c, const struct arguments *a)
{
    if (pause_of(c, a) > 0 || c->batched == 0) return 1;
    if (strcmp(a->path, "shm") == 0) return BATCH_SHM;
    return c->batched == 2 ? BATCH_NET : 1;
}

static void run_case(struct bench *b, const struct arguments *a, const char *argument)
{
    char name[32];
    if (sscanf(argument, "%31[a-z_]:%zu", name, &b->bytes) == 2)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            if (strcmp(cases[i].name, name) != 0) continue;
            const int one = cases[i].metric == METRIC_LATENCY;
            b->batch = batch_of(&cases[i], a);
            b->in_flight = window_for(b->bytes);
            measure(&(struct measurement){name, cases[i].metric, b->bytes, one ? b->batch : b->in_flight,
                                          a->milliseconds, pause_of(&cases[i], a), cases[i].fn, b});
            check(sea_fence(TARGET), "fence");
            return;
        }
    fprintf(stderr, "onesea-bench-worker-rma: wrong case '%s'\n", argument);
    sea_abort(2, NULL);
}

/* ---- the two ranks ---------------------------------------------------------------------------------------------- */

static void prove_path(struct bench *b, const char *path, size_t room)
{
    const char *transport = sea_transport(TARGET);
    if (!transport || strcmp(transport, path) != 0) {
        fprintf(stderr, "onesea-bench-worker-rma: the path is %s, not %s\n", transport ? transport : "none", path);
        sea_abort(1, NULL);
    }
    for (size_t i = 0; i < room; i++) b->buffer[i] = (char)(i * 7 + 3);
    check(sea_put(b->at.memory, b->buffer, room, NULL), "put");
    check(sea_fence(TARGET), "fence");
    memset(b->buffer, 0, room);
    check(sea_get(b->buffer, b->at.memory, room, NULL), "get");
    for (size_t i = 0; i < room; i++)
        if (b->buffer[i] != (char)(i * 7 + 3)) {
            fprintf(stderr, "onesea-bench-worker-rma: byte %zu of %zu came back wrong\n", i, room);
            sea_abort(1, NULL);
        }
}

static void origin(struct bench *b, const struct arguments *a, size_t room, int argc, char **argv)
{
    prove_path(b, a->path, room);
    for (int i = a->first_case; i < argc; i++) run_case(b, a, argv[i]);
    uint64_t stop = 1;
    sea_opts opts = SEA_OPTS_INIT;
    opts.target_counter = b->at.control + offsetof(struct control, ended);
    check(sea_put(b->at.control, &stop, sizeof stop, &opts), "put");
    check(sea_fence(TARGET), "fence");
}

static void target(struct control *control, struct place origins, const char *state)
{
    if (strcmp(state, "waiting") == 0) {
        check(sea_counter_wait(&control->ended, 1, MEASURE_PATIENCE_S), "wait for the end");
        return;
    }
    const int asleep = strcmp(state, "asleep") == 0;
    const struct timespec nap = {0, 50000000};
    uint64_t answered = 0;
    while (__atomic_load_n(&control->stop, __ATOMIC_ACQUIRE) == 0) {
        const uint64_t seen = __atomic_load_n(&control->flag, __ATOMIC_ACQUIRE);
        if (seen != answered) { /* so the answer before has arrived */
            answered = seen;
            put_nowait(origins.control + offsetof(struct control, flag), &answered);
        }
        if (asleep)
            nanosleep(&nap, NULL);
        else
            compute();
    }
}

static void *ignore_message(const sea_am *message, sea_am_complete_fn *on_complete, void **argument)
{
    (void)message, (void)on_complete, (void)argument;
    return NULL;
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

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    if (argc < 10 || strcmp(argv[1], "--ms") != 0 || strcmp(argv[3], "--cores") != 0 ||
        strcmp(argv[5], "--path") != 0 || strcmp(argv[7], "--target") != 0)
        return 0;
    a->milliseconds = atof(argv[2]);
    a->path = argv[6];
    a->state = argv[8];
    a->pause_us = strcmp(a->state, "asleep") == 0 ? MEASURE_ASLEEP_PAUSE_US : 0;
    a->first_case = 9;
    return a->milliseconds > 0 && sscanf(argv[4], "%d,%d", &a->cores[0], &a->cores[1]) == 2;
}

int main(int argc, char **argv)
{
    struct arguments a;
    if (!read_arguments(argc, argv, &a)) {
        fputs("usage: onesea-bench-worker-rma --ms M --cores A,B --path shm|net --target STATE CASE:BYTES...\n",
              stderr);
        return 2;
    }
    alarm(2 * MEASURE_PATIENCE_S);
    check(sea_init(NULL), "init");
    int me = sea_rank();
    if (sea_size() != 2) {
        fputs("onesea-bench-worker-rma: needs two ranks\n", stderr);
        sea_abort(2, NULL);
    }
    pin_all_threads(a.cores[me]);
    size_t room = largest(argc, argv, a.first_case);
    struct place mine, all[2];
    struct bench b = {.buffer = malloc(room)};
    check(b.buffer ? SEA_OK : SEA_ERR_MEMORY, "buffer");
    check(sea_heap_alloc(me, room, &mine.memory), "memory");
    check(sea_heap_alloc(me, sizeof(struct control), &mine.control), "control");
    memset(sea_local(mine.control), 0, sizeof(struct control));
    check(sea_am_register(AM_ID, ignore_message, NULL), "handler");
    check(sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine), "allgather");
    check(sea_barrier(SEA_TEAM_WORLD), "barrier");
    b.at = all[TARGET];
    b.own = sea_local(mine.control);
    if (me == 0)
        origin(&b, &a, room, argc, argv);
    else if (me == TARGET)
        target(sea_local(mine.control), all[0], a.state);
    check(sea_barrier(SEA_TEAM_WORLD), "barrier");
    free(b.buffer);
    return sea_finalize() == SEA_OK ? 0 : 1;
}
