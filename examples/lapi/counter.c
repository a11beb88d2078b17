/* SPDX-License-Identifier: Apache-2.0 */
/* A distributed counter: every task draws tickets from one counter on task 0 by LAPI_Rmw, each number exactly once, and
 * marks its tickets in a table on task 0 by LAPI_Put. Task 0 looks whether each has been drawn once. */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { each = 1000 }; /* tickets per task */

static void must(int code, const char *call)
{
    char text[LAPI_MAX_ERR_STRING];
    if (code == LAPI_SUCCESS) return;
    LAPI_Msg_string(code, text);
    fprintf(stderr, "%s: %s\n", call, text);
    exit(1);
}
#define MUST(call) must((call), #call)

static int draw(lapi_handle_t handle, void *counter)
{
    int one = 1, ticket = -1;
    lapi_cntr_t arrived;
    MUST(LAPI_Setcntr(handle, &arrived, 0));
    MUST(LAPI_Rmw(handle, FETCH_AND_ADD, 0, counter, &one, &ticket, &arrived));
    MUST(LAPI_Waitcntr(handle, &arrived, 1, NULL)); /* now the old value is in `ticket` */
    return ticket;
}

int main(void)
{
    lapi_handle_t handle;
    lapi_info_t info;
    int me, tasks;
    memset(&info, 0, sizeof info);
    MUST(LAPI_Init(&handle, &info));
    MUST(LAPI_Qenv(handle, TASK_ID, &me));
    MUST(LAPI_Qenv(handle, NUM_TASKS, &tasks));

    int *next = NULL, *owner = NULL;
    if (me == 0) { /* memory that the node shares: its tasks reach it by loads and stores */
        MUST(LAPI_Onesea_shared_alloc(handle, sizeof *next, (void **)&next));
        owner = malloc((size_t)(tasks * each) * sizeof *owner); /* any other memory will do as well */
        *next = 0;
        memset(owner, 0xff, (size_t)(tasks * each) * sizeof *owner);
    }
    void **nexts = calloc((size_t)tasks, sizeof *nexts), **owners = calloc((size_t)tasks, sizeof *owners);
    MUST(LAPI_Address_init(handle, next, nexts));
    MUST(LAPI_Address_init(handle, owner, owners));

    for (int i = 0; i < each; ++i) {
        int ticket = draw(handle, nexts[0]);
        MUST(LAPI_Put(handle, 0, sizeof me, (int *)owners[0] + ticket, &me, NULL, NULL, NULL));
    }
    MUST(LAPI_Gfence(handle)); /* everybody's marks are there */

    int missing = 0, mine = 0;
    for (int i = 0; me == 0 && i < tasks * each; ++i) missing += owner[i] < 0, mine += owner[i] == 0;
    if (me == 0)
        printf("%d tickets drawn by %d tasks, %d not marked, task 0 has %d: %s\n", *next, tasks, missing, mine,
               *next == tasks * each && missing == 0 && mine == each ? "correct" : "WRONG");
    int lost = fflush(stdout) != 0;
    if (lost) perror("stdout");
    int status = lost || (me == 0 && (*next != tasks * each || missing != 0 || mine != each));
    MUST(LAPI_Gfence(handle));
    MUST(LAPI_Onesea_shared_free(handle, next));
    MUST(LAPI_Term(handle));
    free(owner);
    free(owners);
    free(nexts);
    return status;
}
