/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "measure/measure.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

size_t window_for(size_t bytes)
{
    size_t n = (size_t)16000000 / (bytes ? bytes : 1);
    return n < 2 ? 2 : n > 512 ? 512 : n;
}

void pin_all_threads(int core)
{
    if (core < 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return;
    for (struct dirent *e; (e = readdir(tasks));) {
        int tid = atoi(e->d_name);
        if (tid > 0) sched_setaffinity(tid, sizeof set, &set);
    }
    closedir(tasks);
}

/* ---- samples ---------------------------------------------------------------------------------------------------- */

void samples_open(struct samples *s)
{
    s->values = malloc(MEASURE_SAMPLES_MAX * sizeof *s->values);
    s->count = 0;
    if (!s->values) {
        fputs("bench: no memory for samples\n", stderr);
        exit(1);
    }
    for (size_t i = 0; i < MEASURE_SAMPLES_MAX; i++) s->values[i] = 0; /* no page faults while measuring */
}

void samples_close(struct samples *s)
{
    free(s->values);
    s->values = NULL;
}

void samples_add(struct samples *s, double value)
{
    if (s->count < MEASURE_SAMPLES_MAX) s->values[s->count++] = value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct measured summary(struct samples *s, enum metric metric)
{
    qsort(s->values, s->count, sizeof *s->values, by_value);
    size_t tail = s->count / 100;
    return (struct measured){s->values[s->count / 2], s->values[metric == METRIC_LATENCY ? s->count - 1 - tail : tail]};
}

void samples_print(struct samples *s, const char *name, enum metric metric, size_t bytes)
{
    static const char *const names[] = {"latency_us", "rate_mops", "bandwidth_gbs"};
    if (s->count == 0) {
        fprintf(stderr, "bench: %s gave no sample\n", name);
        return;
    }
    struct measured m = summary(s, metric);
    printf("result %s %s %zu %.6g %.6g %zu\n", name, names[metric], bytes, m.median, m.p99, s->count);
    fflush(stdout);
}

/* ---- the loop --------------------------------------------------------------------------------------------------- */

static double sample_of(const struct measurement *m, uint64_t ns)
{
    double seconds = (double)(ns ? ns : 1) * 1e-9, n = (double)m->per_call;
    if (m->metric == METRIC_LATENCY) return seconds * 1e6 / n;
    if (m->metric == METRIC_RATE) return n / seconds * 1e-6;
    return n * (double)m->bytes / seconds * 1e-9;
}

static void be_silent(double microseconds)
{
    uint64_t end = now_ns() + (uint64_t)(microseconds * 1e3);
    while (now_ns() < end) {
    }
}

static void run_for(const struct measurement *m, measured_fn prepare, double milliseconds, size_t at_least,
                    struct samples *s)
{
    uint64_t end = now_ns() + (uint64_t)(milliseconds * 1e6);
    size_t done = 0;
    for (uint64_t begin = now_ns(); begin < end || done < at_least; done++) {
        if (m->pause_us > 0) be_silent(m->pause_us);
        if (prepare) prepare(m->context);
        begin = now_ns();
        m->fn(m->context);
        uint64_t after = now_ns();
        if (s) samples_add(s, sample_of(m, after - begin));
        begin = after;
    }
}

static void run_all(const struct measurement *m, measured_fn prepare, struct samples *s)
{
    samples_open(s);
    run_for(m, prepare, m->milliseconds / 4, 2, NULL);
    run_for(m, prepare, m->milliseconds, MEASURE_SAMPLES_MIN, s);
}

void measure(const struct measurement *m)
{
    struct samples s;
    run_all(m, NULL, &s);
    samples_print(&s, m->name, m->metric, m->bytes);
    samples_close(&s);
}

struct measured measure_quietly(const struct measurement *m, measured_fn prepare)
{
    struct samples s;
    run_all(m, prepare, &s);
    struct measured result = summary(&s, m->metric);
    samples_close(&s);
    return result;
}

/* ---- together --------------------------------------------------------------------------------------------------- */

#define TOGETHER_NS 200000.0 /* of a sample, at least */

static uint64_t time_of_calls(const struct measurement *m, uint64_t calls)
{
    const uint64_t begin = now_ns();
    for (uint64_t i = 0; i < calls; i++) m->fn(m->context);
    return now_ns() - begin;
}

/* Warms up, and gives how long a call takes, in nanoseconds. The first calls make connections and touch pages: how long
 * they take says nothing. */
static double time_of_one(const struct measurement *m, uint64_t (*agree)(uint64_t))
{
    const uint64_t enough = (uint64_t)(m->milliseconds * 1e6 / 4);
    uint64_t calls = m->per_call, ns;
    time_of_calls(m, calls);
    for (;; calls *= 2) {
        ns = time_of_calls(m, calls);
        if (agree(ns >= enough)) return (double)(ns ? ns : 1) / (double)calls;
    }
}

void measure_together(const struct measurement *m, int rank, uint64_t (*agree)(uint64_t))
{
    const double round_ns = time_of_one(m, agree) * (double)m->per_call;
    const uint64_t rounds = agree((uint64_t)(TOGETHER_NS / round_ns) + 1);
    struct measurement batch = *m;
    batch.per_call = rounds * m->per_call;
    const double wanted = m->milliseconds * 1e6 / (round_ns * (double)rounds);
    uint64_t count = wanted < MEASURE_SAMPLES_MAX ? (uint64_t)wanted : MEASURE_SAMPLES_MAX;
    count = agree(count > MEASURE_SAMPLES_MIN ? count : MEASURE_SAMPLES_MIN);
    struct samples s;
    samples_open(&s);
    for (uint64_t i = 0; i < count; i++) samples_add(&s, sample_of(&batch, time_of_calls(m, batch.per_call)));
    if (rank == 0) samples_print(&s, m->name, m->metric, m->bytes);
    samples_close(&s);
}

size_t uneven_part(size_t bytes, int from, int to)
{
    const size_t half = bytes / 2;
    return from == to ? bytes : from < to ? half : bytes + half;
}

size_t uneven_share(size_t bytes, int rank) { return rank % 2 == 0 ? bytes / 2 : bytes + bytes / 2; }
