/* SPDX-License-Identifier: Apache-2.0 */
/* counted N LONG [WHAT]: every rank makes N puts, gets and atomics of 8 bytes and N puts and gets of 1000 bytes to its
 * right neighbour, and one put of LONG bytes. Rank 0 prints what sea_stats() then says of its neighbour. WHAT: "die"
 * lets the last rank kill itself when all are done. */
#include <onesea.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int status, const char *what)
{
    if (status == SEA_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, sea_strerror(status), sea_last_error());
    exit(1);
}

static void operate(sea_addr target, int n, size_t bytes)
{
    char block[1000] = "";
    uint64_t word = 1, old;
    for (int i = 0; i < n; ++i) {
        must(sea_put(target, &word, 8, NULL), "put");
        must(sea_get(&word, target, 8, NULL), "get");
        must(sea_fetch_add8(target, 1, &old, NULL), "add");
        must(sea_put(target, block, sizeof block, NULL), "put");
        must(sea_get(block, target, sizeof block, NULL), "get");
    }
    char *data = calloc(1, bytes);
    if (!data) exit(1);
    must(sea_put(target, data, bytes, NULL), "long put");
    must(sea_fence_all(), "fence");
    free(data);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 1000;
    must(sea_init(NULL), "sea_init");
    int me = sea_rank(), size = sea_size(), right = (me + 1) % size;
    sea_addr mine, *all = malloc((size_t)size * sizeof *all);
    if (!all) return 1;
    must(sea_heap_alloc(me, bytes < 1000 ? 1000 : bytes, &mine), "alloc");
    must(sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine), "allgather");
    operate(all[right], n, bytes);
    must(sea_barrier(SEA_TEAM_WORLD), "barrier");
    if (me == 0) {
        sea_pair_stats s;
        must(sea_stats(right, &s), "stats");
        printf("%llu %llu %llu %llu %llu\n", (unsigned long long)s.puts, (unsigned long long)s.gets,
               (unsigned long long)s.atomics, (unsigned long long)s.bytes_out, (unsigned long long)s.bytes_in);
        fflush(stdout);
    }
    free(all);
    if (argc > 3 && strcmp(argv[3], "die") == 0) {
        if (me == size - 1) kill(getpid(), SIGKILL);
        sea_barrier(SEA_TEAM_WORLD); /* never comes back, or with an error */
    }
    return sea_finalize() == SEA_OK ? 0 : 1;
}
