/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank leaves the job in a handler of exit(), as a library does whose interface has no call for it. What the
 * library keeps must outlive that: rank 0 exits last, when it has long heard that the others are ready to leave, and
 * others have entered a collective that it calls in the handler. */
#include <onesea.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void must(int status, const char *what)
{
    if (status == SEA_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, sea_strerror(status), sea_last_error());
    _exit(1);
}

static void leave(void)
{
    int64_t one = 1, all = 0;
    if (sea_rank() == 0 || sea_rank() == 1) {
        sea_team pair;
        const int ranks[2] = {0, 1};
        must(sea_team_create(ranks, 2, 1, &pair), "team");
        must(sea_allreduce(pair, &one, &all, 1, SEA_INT64, SEA_SUM), "allreduce");
        if (all != 2) {
            fprintf(stderr, "rank %d: the sum is %lld\n", sea_rank(), (long long)all);
            _exit(1);
        }
    }
    must(sea_finalize(), "finalize");
}

int main(void)
{
    must(sea_init(NULL), "init");
    if (atexit(leave) != 0) return 1;
    if (sea_rank() == 0) {
        const struct timespec moment = {0, 100000000};
        nanosleep(&moment, NULL);
    }
    return 0;
}
