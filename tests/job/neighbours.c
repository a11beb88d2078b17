/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank puts a word into its right neighbour's memory and checks what came from the left. Prints one line. */
#include <onesea.h>

#include <stdio.h>
#include <stdlib.h>

static void must(int status, const char *what)
{
    if (status == SEA_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, sea_strerror(status), sea_last_error());
    exit(1);
}

int main(void)
{
    must(sea_init(NULL), "sea_init");
    int me = sea_rank(), n = sea_size(), right = (me + 1) % n, left = (me + n - 1) % n;
    sea_addr mine, *all = malloc((size_t)n * sizeof *all);
    if (!all) return 1;
    must(sea_heap_alloc(me, 8, &mine), "sea_heap_alloc");
    must(sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine), "sea_allgather");
    uint64_t word = 1000 + (uint64_t)me;
    must(sea_put(all[right], &word, sizeof word, NULL), "sea_put");
    must(sea_fence(right), "sea_fence");
    must(sea_barrier(SEA_TEAM_WORLD), "sea_barrier");
    uint64_t got = *(volatile uint64_t *)sea_local(mine);
    printf("rank %d of %d on node %d: %s via %s\n", me, n, sea_node(), got == 1000 + (uint64_t)left ? "good" : "BAD",
           sea_transport(right));
    free(all);
    return sea_finalize() == SEA_OK && got == 1000 + (uint64_t)left ? 0 : 1;
}
