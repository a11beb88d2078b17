/* SPDX-License-Identifier: Apache-2.0 */
/* With `onesea run --on-death continue -n 2 --nodes 2`, ONESEA_NET_FAULTS=give_up=S and a loopback that may be taken
 * down: task 0 waits for the completion of a message while the network is away; the answer gets lost, and task 1 gives
 * the link up. Nothing of task 0 is under way then, and yet it hears that the answer comes no more. */
#include <lapi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int me;
static volatile int heard;

static void run(const char *command)
{
    if (system(command) != 0) fprintf(stderr, "task %d: %s: failed\n", me, command);
}

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *src)
{
    (void)h;
    (void)type;
    (void)task;
    if (*code == LAPI_ERR_TIMEOUT && *src == 1 - me) heard = 1;
    if (me == 1) run("ip link set lo up");
}

/* Runs at task 1; its end is what task 0 waits for. */
static void complete(lapi_handle_t *h, void *info)
{
    (void)h;
    (void)info;
    usleep(500000); /* the message itself is acknowledged by now */
    run("ip link set lo down");
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp, void **info)
{
    (void)h;
    (void)uhdr;
    (void)uhdr_len;
    (void)msg_len;
    (void)info;
    *comp = complete;
    return NULL;
}

int main(void)
{
    static lapi_cntr_t done;
    lapi_handle_t h;
    lapi_info_t info;
    lapi_long_t pids[2];
    int code, i;
    memset(&info, 0, sizeof info);
    info.err_hndlr = hear;
    if (LAPI_Init(&h, &info) != LAPI_SUCCESS) return 2;
    LAPI_Qenv(h, TASK_ID, &me);
    LAPI_Addr_set(h, (void *)take, 1);
    LAPI_Address_init64(h, (lapi_long_t)getpid(), pids);
    while (me == 1) pause(); /* task 0 ends it */
    if (LAPI_Amsend(h, 1, (void *)1, NULL, 0, NULL, 0, NULL, NULL, &done) != LAPI_SUCCESS) return 2;
    code = LAPI_Waitcntr(h, &done, 1, NULL);
    for (i = 0; i < 1000 && !heard; ++i) usleep(10000);
    printf("given up: Waitcntr gives %d, heard %d\n", code, heard);
    fflush(stdout);
    kill((pid_t)pids[1], SIGKILL);
    _exit(0); /* task 1 cannot leave with it */
}
