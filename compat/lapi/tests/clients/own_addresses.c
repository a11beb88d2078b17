/* SPDX-License-Identifier: Apache-2.0 */
/* In the style of programs that never exchange addresses: what is static here is at the same place in every task, so
 * one's own handler and one's own variable name the target's. True of programs linked with -no-pie. */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 100

static lapi_handle_t hndl;
static int me, tasks, drawn, heard;
static lapi_cntr_t arrived;

static void check(int rc, const char *what)
{
    char msg[LAPI_MAX_ERR_STRING];
    if (rc == LAPI_SUCCESS) return;
    LAPI_Msg_string(rc, msg);
    fprintf(stderr, "%d: %s: %s\n", me, what, msg);
    exit(1);
}
#define RC(c) check((c), #c)

static void *header_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp,
                            void **info)
{
    (void)h, (void)uhdr_len, (void)msg_len;
    __sync_fetch_and_add(&heard, *(int *)uhdr);
    *comp = NULL;
    *info = NULL;
    return NULL;
}

/* Draws numbers from the last task's counter; each draw gives more than the one before. */
static int draw_all(void)
{
    lapi_cntr_t done;
    int one = 1, last = -1, got, wrong = 0, i;
    RC(LAPI_Setcntr(hndl, &done, 0));
    for (i = 0; i < ROUNDS; i++) {
        RC(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)(tasks - 1), &drawn, &one, &got, &done));
        RC(LAPI_Waitcntr(hndl, &done, 1, NULL));
        wrong += got <= last;
        last = got;
    }
    return wrong;
}

int main(void)
{
    lapi_info_t info = {0};
    int wrong, i, t, three = 3;
    RC(LAPI_Init(&hndl, &info));
    RC(LAPI_Qenv(hndl, TASK_ID, &me));
    RC(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    RC(LAPI_Gfence(hndl));
    wrong = draw_all();
    for (i = 0; i < ROUNDS; i++)
        for (t = 0; t < tasks; t++)
            RC(LAPI_Amsend(hndl, (uint)t, (void *)header_handler, &three, sizeof three, NULL, 0, NULL, NULL, NULL));
    for (t = 0; t < tasks; t++) RC(LAPI_Put(hndl, (uint)t, 0, NULL, NULL, &arrived, NULL, NULL)); /* a mere signal */
    RC(LAPI_Waitcntr(hndl, &arrived, tasks, NULL));
    RC(LAPI_Gfence(hndl));
    wrong += heard != 3 * ROUNDS * tasks;
    wrong += drawn != (me == tasks - 1 ? ROUNDS * tasks : 0);
    printf("%d: %d wrong, heard %d, drawn %d\n", me, wrong, heard, drawn);
    RC(LAPI_Gfence(hndl));
    RC(LAPI_Term(hndl));
    return wrong != 0;
}
