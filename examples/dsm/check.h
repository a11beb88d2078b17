/* SPDX-License-Identifier: Apache-2.0 */
/* What the two programs share: a call that fails ends the program with the library's words. */
#ifndef EXAMPLES_DSM_CHECK_H
#define EXAMPLES_DSM_CHECK_H

#include <dsm.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must_succeed(int status, const char *call, int line)
{
    if (status == DSM_OK) return;
    fprintf(stderr, "line %d: %s: %s: %s\n", line, call, dsm_strerror(status), dsm_last_error());
    exit(1);
}
#define must(call) must_succeed((call), #call, __LINE__)

/* What was printed may not have reached its file. */
static inline int lost_output(void)
{
    if (fflush(stdout) == 0) return 0;
    perror("stdout");
    return 1;
}

static inline void *must_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    return memory;
}

#endif
