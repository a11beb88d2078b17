/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floors of one machine's memory: a load, a store and two CPU atomics of 8 bytes in a mapping that a second process
 * shares, a copy into it by size, one cache line there and back between two processors, and the same when the target
 * sleeps in futex() (alone, or beside a thread that computes on its processor).
 */
#define _GNU_SOURCE
#include "floors/floor.h"
#include "measure/measure.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { BATCH = 1024, TRIALS = 3, LONG_COPY = 4 << 20 };

struct words {
    uint64_t *word, value;
};

static void stores(void *context)
{
    struct words *w = context;
    for (int i = 0; i < BATCH; i++) __atomic_store_n(w->word, w->value++, __ATOMIC_RELAXED);
}

static void loads(void *context)
{
    struct words *w = context;
    for (int i = 0; i < BATCH; i++) {
        uint64_t got = __atomic_load_n(w->word, __ATOMIC_RELAXED);
        __atomic_store_n(&w->value, got, __ATOMIC_RELAXED); /* the value goes somewhere, as in a get */
    }
}

static void adds(void *context)
{
    struct words *w = context;
    for (int i = 0; i < BATCH; i++) w->value += __atomic_fetch_add(w->word, 1, __ATOMIC_SEQ_CST);
}

static void swaps(void *context)
{
    struct words *w = context;
    for (int i = 0; i < BATCH; i++) {
        uint64_t expected = w->value;
        __atomic_compare_exchange_n(w->word, &expected, w->value + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        w->value = expected + 1;
    }
}

static void word_floor(const struct floor_run *run, const char *name, measured_fn fn)
{
    struct words w = {(uint64_t *)((char *)run->shared + FLOOR_PAGE), 0};
    measure(&(struct measurement){name, METRIC_LATENCY, 8, BATCH, run->milliseconds, 0, fn, &w});
}

static void store_rate_origin(const struct floor_run *run, const char *name)
{
    struct words w = {(uint64_t *)((char *)run->shared + FLOOR_PAGE), 0};
    measure(&(struct measurement){name, METRIC_RATE, 8, BATCH, run->milliseconds, 0, stores, &w});
}

static void store_origin(const struct floor_run *run, const char *name) { word_floor(run, name, stores); }
static void load_origin(const struct floor_run *run, const char *name) { word_floor(run, name, loads); }
static void add_origin(const struct floor_run *run, const char *name) { word_floor(run, name, adds); }
static void swap_origin(const struct floor_run *run, const char *name) { word_floor(run, name, swaps); }

/* ---- a cache line there and back ------------------------------------------------------------------------------- */

static void line_round_trip(void *context)
{
    struct floor_flags *f = context;
    uint64_t next = f->ping + 1;
    flag_write(&f->ping, next);
    while (flag_read(&f->pong) != next) {
    }
}

static void line_origin(const struct floor_run *run, const char *name)
{
    measure(&(struct measurement){name, METRIC_LATENCY, 8, 1, run->milliseconds, 0, line_round_trip, flags_of(run)});
}

static void line_target(const struct floor_run *run, const char *name)
{
    (void)name;
    struct floor_flags *f = flags_of(run);
    while (!flag_read(&f->stop)) flag_write(&f->pong, flag_read(&f->ping));
}

/* ---- waking a sleeper ------------------------------------------------------------------------------------------- */

static void wake_round_trip(void *context)
{
    struct floor_flags *f = context;
    uint64_t next = f->ping + 1;
    flag_write(&f->ping, next);
    syscall(SYS_futex, &f->ping, FUTEX_WAKE, 1, NULL, NULL, 0);
    while (flag_read(&f->pong) != next) {
    }
}

static void wake_asleep_origin(const struct floor_run *run, const char *name)
{
    measure(&(struct measurement){name, METRIC_LATENCY, 8, 1, run->milliseconds, MEASURE_ASLEEP_PAUSE_US,
                                  wake_round_trip, flags_of(run)});
}

static void wake_computing_origin(const struct floor_run *run, const char *name)
{
    measure(&(struct measurement){name, METRIC_LATENCY, 8, 1, run->milliseconds, 0, wake_round_trip, flags_of(run)});
}

static void sleeping_target(const struct floor_run *run, const char *name)
{
    (void)name;
    struct floor_flags *f = flags_of(run);
    const struct timespec look = {0, 50000000}; /* to see `stop` */
    for (uint64_t seen = 0; !flag_read(&f->stop); seen = flag_read(&f->ping)) {
        flag_write(&f->pong, seen);
        syscall(SYS_futex, &f->ping, FUTEX_WAIT, (uint32_t)seen, &look, NULL, 0);
    }
}

static void *sleeping_thread(void *run)
{
    sleeping_target(run, NULL);
    return NULL;
}

static void computing_target(const struct floor_run *run, const char *name)
{
    (void)name;
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleeping_thread, (void *)run) != 0) floor_die("pthread_create");
    compute_until_stop(run);
    pthread_join(thread, NULL);
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

struct copy {
    char *from, *to;
    size_t bytes, window;
};

static void copies(void *context)
{
    struct copy *c = context;
    for (size_t i = 0; i < c->window; i++) {
        memcpy(c->to, c->from, c->bytes);
        __asm__ volatile("" ::: "memory"); /* each of them happens */
    }
}

/* With stores that do not read first what they overwrite: of what the caches cannot hold that is quicker, and the C
 * library does it only if it knows how large they are. Source and target begin with a page. */
static void copies_past_caches(void *context)
{
    struct copy *c = context;
    for (size_t i = 0; i < c->window; i++) {
#if defined(__SSE2__)
        for (size_t at = 0; at < c->bytes; at += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(c->to + at), _mm_load_si128((const __m128i *)(c->from + at)));
        _mm_sfence();
#else
        memcpy(c->to, c->from, c->bytes);
#endif
    }
}

static uint64_t least_time(measured_fn fn, struct copy *c)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIALS; i++) {
        const uint64_t begin = now_ns();
        fn(c);
        const uint64_t took = now_ns() - begin;
        if (took < least) least = took;
    }
    return least;
}

static void copy_origin(const struct floor_run *run, const char *name)
{
    const size_t room = (run->bytes + FLOOR_PAGE - 1) / FLOOR_PAGE * FLOOR_PAGE;
    struct copy c = {aligned_alloc(FLOOR_PAGE, room), (char *)run->shared + FLOOR_PAGE, run->bytes,
                     window_for(run->bytes)};
    if (!c.from) floor_die("aligned_alloc");
    memset(c.from, 1, run->bytes);
    const int may_pass = run->bytes > LONG_COPY && run->bytes % sizeof(uint64_t[2]) == 0;
    measured_fn fn = copies;
    if (may_pass && least_time(copies_past_caches, &c) < least_time(copies, &c)) fn = copies_past_caches;
    measure(&(struct measurement){name, METRIC_BANDWIDTH, run->bytes, c.window, run->milliseconds, 0, fn, &c});
    free(c.from);
}

const struct floor memory_floors[] = {
    {"store", 8, 0, WIRE_NONE, store_origin, NULL},
    {"load", 8, 0, WIRE_NONE, load_origin, NULL},
    {"cpu_fetch_add", 8, 0, WIRE_NONE, add_origin, NULL},
    {"cpu_cas", 8, 0, WIRE_NONE, swap_origin, NULL},
    {"cache_line_rtt", 8, 0, WIRE_NONE, line_origin, line_target},
    {"store_rate", 8, 0, WIRE_NONE, store_rate_origin, NULL},
    {"futex_rtt_asleep", 8, 0, WIRE_NONE, wake_asleep_origin, sleeping_target},
    {"futex_rtt_computing", 8, 0, WIRE_NONE, wake_computing_origin, computing_target},
    {"memcpy", 1000000, 1, WIRE_NONE, copy_origin, NULL},
    {NULL, 0, 0, WIRE_NONE, NULL, NULL},
};
