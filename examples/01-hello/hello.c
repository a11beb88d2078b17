/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank writes a greeting into the memory of its right neighbour, which does nothing for it. */
#include "../check.h"

#include <string.h>

enum { text_bytes = 64 };

static void greeting(char *text, int from)
{
    memset(text, 0, text_bytes);
    snprintf(text, text_bytes, "rank %d greets its neighbour", from);
}

int main(void)
{
    must(sea_init(NULL)); /* from the launcher's environment, or a job of one */
    int me = sea_rank(), n = sea_size(), left = (me + n - 1) % n, right = (me + 1) % n;
    sea_addr mine, *all = must_allocate((size_t)n * sizeof *all);
    char text[text_bytes];

    must(sea_heap_alloc(me, text_bytes, &mine)); /* any rank may allocate on any rank */
    must(sea_allgather(SEA_TEAM_WORLD, &mine, all, sizeof mine));

    greeting(text, me);
    must(sea_put(all[right], text, text_bytes, NULL)); /* returns when `text` may be used again ... */
    must(sea_fence(right));                            /* ... and now it is there */
    must(sea_barrier(SEA_TEAM_WORLD));                 /* everybody's is there */

    const char *got = sea_local(mine); /* my own memory: a plain pointer */
    printf("%d: %s\n", me, got);
    fflush(stdout);
    greeting(text, left);
    int wrong = memcmp(got, text, text_bytes) != 0;
    free(all);
    return finish("hello", wrong);
}
