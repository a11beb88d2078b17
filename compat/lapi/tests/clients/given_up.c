/* SPDX-License-Identifier: Apache-2.0 */
/* With `onesea run --on-death continue -n 2 --nodes 2`, ONESEA_NET_FAULTS=give_up=S and a loopback that may be taken
 * down: task 0 waits for the completion of a message while the network is away; the answer gets lost, and task 1 gives
 * the link up. Nothing of task 0 is under way then, and yet it hears that the answer comes no more. */
#include "pair.h"

#include <signal.h>
#include <stdlib.h>

static void run(const char *command)
{
    if (system(command) != 0) fprintf(stderr, "task %d: %s: failed\n", me, command);
}

static void told(void)
{
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

int main(void)
{
    static lapi_cntr_t done;
    int code, i;
    when_told = told;
    completion = complete;
    if (begin() != 0) return 2;
    while (me == 1) pause(); /* task 0 ends it */
    if (LAPI_Amsend(handle, 1, (void *)1, NULL, 0, NULL, 0, NULL, NULL, &done) != LAPI_SUCCESS) return 2;
    code = LAPI_Waitcntr(handle, &done, 1, NULL);
    for (i = 0; i < 1000 && !heard; ++i) usleep(10000);
    printf("given up: Waitcntr gives %d, heard %d\n", code, heard > 0);
    fflush(stdout);
    kill((pid_t)pids[1], SIGKILL);
    _exit(0); /* task 1 cannot leave with it */
}
