/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that run at the same time: which there are in a pattern, and what is said of them. Ours, the floor and the
 * peers of `onesea bench patterns` have it from here, so that they measure the same.
 *
 *   one   rank 0 to 1     both  rank 0 to 1 and 1 to 0     out  rank 0 to all others     in  all others to rank 0
 */
#ifndef ONESEA_BENCH_PATTERN_H
#define ONESEA_BENCH_PATTERN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that an origin has under way to each of its targets before it waits for them. */
#define PATTERN_IN_FLIGHT (4 << 20)
#define PATTERN_RANKS 8 /* of the patterns with many */

struct pattern {
    const char *name;
    size_t bytes; /* of a transfer */
    double seconds;
};

/* Reads "PATTERN BYTES MS", the three arguments of each of the programs. 0, or -1 if they are no such thing. */
int pattern_read(int argc, char **argv, struct pattern *p);

int pattern_ranks(const struct pattern *p);
int pattern_has_stream(const struct pattern *p, int from, int to);

/* How many transfers of a pattern's size are under way to each target. */
size_t pattern_window(const struct pattern *p);

/* Prints lines of measure.h for the total, the slowest and the mean of the streams, of GB/s; what is not above 0 is no
 * stream. */
void pattern_print(const struct pattern *p, const double *speeds, size_t count);

#ifdef __cplusplus
}
#endif
#endif
