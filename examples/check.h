/* SPDX-License-Identifier: Apache-2.0 */
/* What the examples share: a call that fails ends the job with the library's words, so that the programs show the way
 * things go and not the way they fail. */
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <onesea.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must_succeed(int status, const char *call, int line)
{
    char text[1024];
    if (status == SEA_OK) return;
    snprintf(text, sizeof text, "line %d: %s: %s: %s", line, call, sea_strerror(status), sea_last_error());
    if (sea_initialized()) sea_abort(1, text);
    fprintf(stderr, "%s\n", text);
    exit(1);
}
#define must(call) must_succeed((call), #call, __LINE__)

static inline void *must_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL) sea_abort(1, "no memory");
    return memory;
}

/* What was printed may not have reached its file: the number of errors in that. */
static inline int lost_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    fputs("stdout cannot be written\n", stderr);
    return 1;
}

/* Ends the program: all ranks learn whether anybody saw `errors`; rank 0 says it in one line. The exit status. */
static inline int finish(const char *name, long long errors)
{
    int64_t mine = errors, all = 0;
    must(sea_allreduce(SEA_TEAM_WORLD, &mine, &all, 1, SEA_INT64, SEA_SUM));
    if (sea_rank() == 0) printf("%s: %s (%lld wrong)\n", name, all == 0 ? "correct" : "WRONG", (long long)all);
    int lost = lost_output();
    must(sea_finalize());
    return all == 0 && !lost ? 0 : 1;
}

#endif
