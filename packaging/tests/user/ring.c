/* SPDX-License-Identifier: Apache-2.0 */
/* A user's C program: each rank puts its number into its right neighbour's memory. "ok" from rank 0 if all arrived. */
#include <onesea.h>
#include <stdio.h>

#define TRY(call)                                                                             \
    do {                                                                                      \
        int status_ = (call);                                                                 \
        if (status_ != SEA_OK) {                                                              \
            fprintf(stderr, "%s: %s (%s)\n", #call, sea_strerror(status_), sea_last_error()); \
            return 1;                                                                         \
        }                                                                                     \
    } while (0)

int main(void)
{
    sea_addr mine, all[64];
    int64_t value, sum = 0;
    TRY(sea_init(NULL));
    int me = sea_rank(), n = sea_size(), left = (me + n - 1) % n;
    if (n > 64) sea_abort(2, "this program is for at most 64 ranks");
    TRY(sea_heap_alloc(me, sizeof value, &mine));
    TRY(sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine));
    value = me;
    TRY(sea_put(all[(me + 1) % n], &value, sizeof value, NULL));
    TRY(sea_fence_all());
    TRY(sea_barrier(SEA_TEAM_WORLD));
    TRY(sea_get(&value, mine, sizeof value, NULL));
    if (value != left) sea_abort(3, "the wrong number arrived");
    TRY(sea_allreduce(SEA_TEAM_WORLD, &value, &sum, 1, SEA_INT64, SEA_SUM));
    if (sum != (int64_t)n * (n - 1) / 2) sea_abort(4, "the numbers do not add up");
    if (me == 0) printf("ok %d ranks\n", n);
    TRY(sea_finalize());
    return 0;
}
