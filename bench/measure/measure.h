/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How everything is timed: ours, the floors and the peers use this one loop, so their figures can be divided.
 *
 * A measurement calls a function again and again for some milliseconds. Each call does `per_call` operations and is one
 * sample. The first quarter of the time warms up and is not counted. Latencies are microseconds per operation, rates
 * million operations per second, bandwidths GB (1e9 bytes) per second. The 99th percentile is the bad tail: the value
 * that 99 of 100 samples do not exceed (latency) or do not fall below (rate, bandwidth).
 *
 * A result is one line on stdout: "result NAME METRIC BYTES MEDIAN P99 SAMPLES". C11 without further libraries: the
 * programs of the peers are built by their own compiler wrappers.
 */
#ifndef ONESEA_BENCH_MEASURE_H
#define ONESEA_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MEASURE_SAMPLES_MAX 65536
#define MEASURE_SAMPLES_MIN 5

enum metric { METRIC_LATENCY, METRIC_RATE, METRIC_BANDWIDTH };

typedef void (*measured_fn)(void *context);

struct measurement {
    const char *name;
    enum metric metric;
    size_t bytes;        /* of one operation */
    size_t per_call;     /* operations that one call of `fn` does */
    double milliseconds; /* counted time; warm-up comes on top */
    double pause_us;     /* silence before each call, not counted: the other side falls asleep; 0: none */
    measured_fn fn;
    void *context;
};

/* Runs the loop and prints the result line. */
void measure(const struct measurement *m);

/* The same without printing, for a program that summarises itself. `prepare` (or NULL) is called with the context
 * before each call of `fn` and is not counted. */
struct measured {
    double median, p99;
};
struct measured measure_quietly(const struct measurement *m, measured_fn prepare);

/* The same for calls that all ranks make together, each rank as often as the others: all call this. Rank 0 times and
 * prints. It decides how many calls warm up, make a sample and are counted, and tells the others by `agree`, which
 * gives every rank what rank 0 has put in. `fn` does one operation. A sample is the time of a batch of calls, divided
 * by their number: of 200 us at least, and of a multiple of `per_call`, after which every rank has had each part in the
 * operation as often as the others. */
void measure_together(const struct measurement *m, int rank, uint64_t (*agree)(uint64_t));

/* Parts of different lengths for all ranks to exchange, `bytes` (an even number) in the mean: as many to oneself, half
 * of it to those behind, half as much again to those before. */
size_t uneven_part(size_t bytes, int from, int to);

/* The same where each rank has one part for all: half of `bytes` at even ranks, half as much again at odd ones. */
size_t uneven_share(size_t bytes, int rank);

/* A sample set that a caller fills itself, where the side that may judge is not the side that calls. */
struct samples {
    double *values;
    size_t count;
};
void samples_open(struct samples *s);
void samples_add(struct samples *s, double value);
void samples_print(struct samples *s, const char *name, enum metric metric, size_t bytes);
void samples_close(struct samples *s);

uint64_t now_ns(void);

/* Lets all threads of this process run on one processor only; a negative number leaves them alone. */
void pin_all_threads(int core);

/* How many transfers of `bytes` are kept in flight before one completion of all: 16 MB, within 2..512. */
size_t window_for(size_t bytes);

/* Silence before each operation on a sleeper: longer than any side spins before it really sleeps. */
#define MEASURE_ASLEEP_PAUSE_US 300.0

/* How long each side of a measured pair may take at all, so that nothing hangs if the other dies. */
#define MEASURE_PATIENCE_S 60

#ifdef __cplusplus
}
#endif
#endif
