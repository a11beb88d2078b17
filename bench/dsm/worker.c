/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onesea-bench-worker-dsm-WIRE TRIALS SIZE...: the paper's experiment. Node 0 does TRIALS READs, WRITEs, WRITE_Bs of
 * SIZE bytes to node 1, which waits in dsm_barrier(); a result is the time of all trials divided by their number. Above
 * 64 KB there are fewer trials, of as many bytes in all, but at least 8. A tenth of them (at least 2) warms up, not
 * counted.
 *
 *   write        until the last WRITE has returned, as in the paper
 *   write_fence  until dsm_fence() has returned after the last one: all data is where it belongs (but what UDP lost)
 *
 * Prints lines of measure.h, and "lost NAME SIZE COUNT TRIALS". Data is compared at the end of each size.
 */
#include "dsm/lost.h"
#include "measure/measure.h"

#include <dsm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FULL_BYTES = 65536, TRIALS_MIN = 8, WARM_MIN = 2 };

struct experiment {
    size_t bytes, trials, warm;
    char *data, *check;
};

static void must(int status, const char *what)
{
    if (status == DSM_OK) return;
    fprintf(stderr, "onesea-bench-worker-dsm: %s: %s: %s\n", what, dsm_strerror(status), dsm_last_error());
    exit(1);
}

static void do_read(const struct experiment *e) { must(dsm_read(1, 0, e->data, e->bytes), "READ"); }
static void do_write(const struct experiment *e) { must(dsm_write(1, 0, e->data, e->bytes), "WRITE"); }
static void do_write_b(const struct experiment *e) { must(dsm_write_b(1, 0, e->data, e->bytes), "WRITE_B"); }

typedef void (*operation)(const struct experiment *e);

static void measure_trials(const struct experiment *e, const char *name, operation op, int fenced)
{
    for (size_t i = 0; i < e->warm; i++) op(e);
    must(dsm_fence(), "fence");
    uint64_t lost = bench_dsm_lost_writes(), begin = now_ns();
    for (size_t i = 0; i < e->trials; i++) op(e);
    if (fenced) must(dsm_fence(), "fence");
    double us = (double)(now_ns() - begin) * 1e-3 / (double)e->trials;
    must(dsm_fence(), "fence");
    printf("result %s latency_us %zu %.6g %.6g %zu\n", name, e->bytes, us, us, e->trials);
    lost = bench_dsm_lost_writes() - lost;
    printf("lost %s %zu %llu %zu\n", name, e->bytes, (unsigned long long)lost, e->trials);
}

static void fill(char *data, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) data[i] = (char)((i * 31 + seed) >> (i & 7));
}

/* What is written is what is read. */
static void compare(const struct experiment *e, operation write, unsigned seed)
{
    fill(e->data, e->bytes, seed);
    fill(e->check, e->bytes, seed);
    uint64_t lost = bench_dsm_lost_writes();
    write(e);
    must(dsm_fence(), "fence");
    if (bench_dsm_lost_writes() != lost) return; /* and is counted */
    memset(e->data, 0, e->bytes);
    do_read(e);
    if (memcmp(e->data, e->check, e->bytes) == 0) return;
    fprintf(stderr, "onesea-bench-worker-dsm: what was written is not what is read, %zu bytes\n", e->bytes);
    exit(1);
}

static void run_size(struct experiment *e, size_t trials)
{
    e->trials = trials;
    if (e->bytes > FULL_BYTES) {
        e->trials = trials * FULL_BYTES / e->bytes;
        if (e->trials < TRIALS_MIN) e->trials = TRIALS_MIN;
    }
    e->warm = e->trials / 10 > WARM_MIN ? e->trials / 10 : WARM_MIN;
    measure_trials(e, "read", do_read, 0);
    measure_trials(e, "write", do_write, 0);
    measure_trials(e, "write_fence", do_write, 1);
    measure_trials(e, "write_b", do_write_b, 0);
    compare(e, do_write, 1);
    compare(e, do_write_b, 2);
    fflush(stdout);
}

static void run_all(size_t trials, char **sizes, int count, size_t largest)
{
    struct experiment e = {.data = malloc(largest), .check = malloc(largest)};
    if (!e.data || !e.check) {
        fputs("onesea-bench-worker-dsm: no memory\n", stderr);
        exit(1);
    }
    fill(e.data, largest, 0); /* pages are there */
    fill(e.check, largest, 0);
    for (int i = 0; i < count; i++) {
        e.bytes = strtoull(sizes[i], NULL, 10);
        run_size(&e, trials);
    }
    free(e.data);
    free(e.check);
}

int main(int argc, char **argv)
{
    size_t trials = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, largest = 0;
    for (int i = 2; i < argc; i++) {
        size_t bytes = strtoull(argv[i], NULL, 10);
        if (bytes == 0) trials = 0;
        if (bytes > largest) largest = bytes;
    }
    if (trials == 0) {
        fputs("usage: onesea-bench-worker-dsm-WIRE TRIALS SIZE...\n", stderr);
        return 2;
    }
    must(dsm_init(largest), "init");
    if (dsm_nodes() < 2) {
        fputs("onesea-bench-worker-dsm: needs two nodes: start it with onesea run -n 2\n", stderr);
        return 2;
    }
    must(dsm_barrier(), "barrier");
    if (dsm_node() == 0) run_all(trials, argv + 2, argc - 2, largest);
    must(dsm_barrier(), "barrier");
    must(dsm_term(), "term");
    return 0;
}
