/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of active messages: a token goes round, and each task's handlers add the task to it and pass it on. The
 * program's main threads only wait. usage: ring [rounds] */
#include <lapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { pass_on = 1, full = 4096 }; /* the handler's number; the most bytes of a token's data */

struct token {
    int rounds_left, hops;
};

static lapi_handle_t handle;
static int me, tasks;
static void **done_at; /* everybody's counter `done` */
static lapi_cntr_t done;
static char names[full];

static void must(int code, const char *call)
{
    char text[LAPI_MAX_ERR_STRING];
    if (code == LAPI_SUCCESS) return;
    LAPI_Msg_string(code, text);
    fprintf(stderr, "task %d: %s: %s\n", me, call, text);
    exit(1);
}
#define MUST(call) must((call), #call)

/* All data of the token is in `names`. Completion handlers run on a thread of their own: they may send and wait. */
static void complete(lapi_handle_t *h, void *info)
{
    struct token *t = info;
    size_t used = strlen(names);
    if (me == 0 && --t->rounds_left == 0) {
        printf("%d hops, the last round went by%s\n", t->hops, names);
        if (fflush(stdout) != 0) perror("stdout"), exit(1);
        for (int task = 0; task < tasks; ++task)
            MUST(LAPI_Put(*h, (uint)task, 0, NULL, NULL, done_at[task], NULL, NULL));
        free(t);
        return;
    }
    if (me == 0) used = 0;
    snprintf(names + used, full - used, " %d", me);
    ++t->hops;
    lapi_cntr_t reusable;
    MUST(LAPI_Setcntr(*h, &reusable, 0));
    MUST(LAPI_Amsend(*h, (uint)((me + 1) % tasks), (void *)pass_on, t, sizeof *t, names, strlen(names) + 1, NULL,
                     &reusable, NULL));
    MUST(LAPI_Waitcntr(*h, &reusable, 1, NULL));
    free(t);
}

/* The token arrives: says where its data goes and what runs then. */
static void *arrive(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp, void **info)
{
    struct token *t = malloc(sizeof *t);
    (void)h;
    if (t == NULL || *uhdr_len != sizeof *t || *msg_len > full) exit(1);
    memcpy(t, uhdr, sizeof *t);
    *comp = complete;
    *info = t;
    return names;
}

static void wrong_usage(void)
{
    fputs("usage: ring [rounds]\n", stderr);
    exit(2);
}

/* A whole number, `least` to 1000000000; anything else ends the program. */
static long number(const char *text, long least)
{
    char *end;
    const long n = strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < least || n > 1000000000) wrong_usage();
    return n;
}

int main(int argc, char **argv)
{
    lapi_info_t info;
    if (argc > 2) wrong_usage();
    const int rounds = argc > 1 ? (int)number(argv[1], 1) : 100;
    memset(&info, 0, sizeof info);
    MUST(LAPI_Init(&handle, &info));
    MUST(LAPI_Qenv(handle, TASK_ID, &me));
    MUST(LAPI_Qenv(handle, NUM_TASKS, &tasks));
    done_at = calloc((size_t)tasks, sizeof *done_at);
    MUST(LAPI_Addr_set(handle, (void *)(uintptr_t)arrive, pass_on)); /* a number instead of everybody's address */
    MUST(LAPI_Address_init(handle, &done, done_at));                 /* all have set it when this returns */
    if (me == 0) {
        struct token t = {rounds, 1};
        strcpy(names, " 0");
        MUST(LAPI_Amsend(handle, (uint)(1 % tasks), (void *)pass_on, &t, sizeof t, names, strlen(names) + 1, NULL, NULL,
                         NULL));
    }
    MUST(LAPI_Waitcntr(handle, &done, 1, NULL));
    MUST(LAPI_Gfence(handle));
    MUST(LAPI_Term(handle));
    free(done_at);
    return 0;
}
