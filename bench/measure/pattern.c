/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is(const struct pattern *p, const char *name) { return strcmp(p->name, name) == 0; }

int pattern_read(int argc, char **argv, struct pattern *p)
{
    if (argc != 4) return -1;
    *p = (struct pattern){argv[1], strtoull(argv[2], NULL, 10), atof(argv[3]) * 1e-3};
    const int known = is(p, "one") || is(p, "both") || is(p, "out") || is(p, "in");
    return known && p->bytes > 0 && p->seconds > 0 ? 0 : -1;
}

int pattern_ranks(const struct pattern *p) { return is(p, "out") || is(p, "in") ? PATTERN_RANKS : 2; }

int pattern_has_stream(const struct pattern *p, int from, int to)
{
    if (from == to) return 0;
    if (is(p, "one")) return from == 0 && to == 1;
    if (is(p, "both")) return from < 2 && to < 2;
    return is(p, "out") ? from == 0 : to == 0;
}

size_t pattern_window(const struct pattern *p)
{
    const size_t n = PATTERN_IN_FLIGHT / p->bytes;
    return n ? n : 1;
}

static void print(const struct pattern *p, const char *what, double value, int streams)
{
    printf("result %s bandwidth_gbs %zu %.6g %.6g %d\n", what, p->bytes, value, value, streams);
}

void pattern_print(const struct pattern *p, const double *speeds, size_t count)
{
    double total = 0, slowest = 0;
    int streams = 0;
    for (size_t i = 0; i < count; i++) {
        if (speeds[i] <= 0) continue;
        slowest = streams == 0 || speeds[i] < slowest ? speeds[i] : slowest;
        total += speeds[i];
        streams++;
    }
    print(p, "total", total, streams);
    print(p, "slowest", slowest, streams);
    print(p, "mean", streams ? total / streams : 0, streams);
    fflush(stdout);
}
