/* SPDX-License-Identifier: Apache-2.0 */
/* With `onesea run --on-death continue`: the last task dies in a header handler. Who waits for it goes on and hears of
 * it, further calls to it are refused, the others are not touched. */
#include <lapi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int heard, other = -1;

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *src)
{
    (void)h;
    (void)type;
    (void)task;
    if (*code != LAPI_ERR_TGT_PURGED && *code != LAPI_ERR_TIMEOUT) return;
    other = *src;
    heard = 1;
}

static void *die(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp, void **info)
{
    (void)h;
    (void)uhdr;
    (void)uhdr_len;
    (void)msg_len;
    (void)comp;
    (void)info;
    raise(SIGKILL);
    return NULL;
}

/* Ends the requests to the dead task again and again, as its death does once. */
static lapi_handle_t handle;
static uint dead;
static volatile int purging = 1;

static void *purge(void *argument)
{
    while (purging) {
        LAPI_Purge_totask(handle, dead);
        LAPI_Resume_totask(handle, dead);
    }
    return argument;
}

/* A message is refused, or its completion is told; never both. */
static int told_once(void)
{
    lapi_cntr_t cmpl = {0};
    pthread_t purger;
    int i, now = -1, accepted = 0;
    if (pthread_create(&purger, NULL, purge, NULL) != 0) return 0;
    for (i = 0; i < 50000; ++i)
        accepted += LAPI_Amsend(handle, dead, (void *)5, NULL, 0, NULL, 0, NULL, NULL, &cmpl) == LAPI_SUCCESS;
    purging = 0;
    pthread_join(purger, NULL);
    LAPI_Getcntr(handle, &cmpl, &now);
    if (now != accepted) fprintf(stderr, "%d messages accepted, %d completions\n", accepted, now);
    return now == accepted;
}

#define EXPECT(condition)                                                    \
    if (!(condition)) {                                                      \
        fprintf(stderr, "task %d, line %d: %s\n", me, __LINE__, #condition); \
        return 3;                                                            \
    }

/* Memory that the dead task shared with its node is there still, but nobody's. */
static int shared_memory_is_closed(void *there)
{
    long long word = 1, old = 0;
    lapi_cntr_t cntr = {0};
    int i;
    for (i = 0; i < 5000 && LAPI_Put(handle, dead, 8, there, &word, NULL, NULL, NULL) != LAPI_ERR_TGT_PURGED; ++i)
        usleep(1000);
    return i < 5000 && LAPI_Get(handle, dead, 8, there, &old, NULL, &cntr) == LAPI_ERR_TGT_PURGED &&
           LAPI_Rmw64(handle, FETCH_AND_ADD, dead, there, &word, &old, &cntr) == LAPI_ERR_TGT_PURGED &&
           LAPI_Rmw64(handle, COMPARE_AND_SWAP, dead, there, (long long[2]){0, 1}, &old, &cntr) ==
               LAPI_ERR_TGT_PURGED &&
           LAPI_Onesea_get(handle, dead, 8, there, &old) == LAPI_ERR_TGT_PURGED;
}

int main(void)
{
    static int words[16];
    lapi_handle_t h;
    lapi_info_t info;
    static lapi_cntr_t here;
    void *addresses[16], *counters[16], *shared[16], *memory = NULL;
    lapi_cntr_t cmpl = {0};
    int me, n;
    memset(&info, 0, sizeof info);
    info.err_hndlr = hear;
    if (LAPI_Init(&h, &info) != LAPI_SUCCESS) return 2;
    LAPI_Qenv(h, TASK_ID, &me);
    LAPI_Qenv(h, NUM_TASKS, &n);
    EXPECT(n >= 3 && n <= 16);
    EXPECT(LAPI_Addr_set(h, (void *)die, 5) == LAPI_SUCCESS);
    EXPECT(LAPI_Address_init(h, words, addresses) == LAPI_SUCCESS);
    EXPECT(LAPI_Address_init(h, &here, counters) == LAPI_SUCCESS);
    EXPECT(LAPI_Onesea_shared_alloc(h, 64, &memory) == LAPI_SUCCESS);
    EXPECT(LAPI_Address_init(h, memory, shared) == LAPI_SUCCESS);
    if (me == n - 1) LAPI_Put(h, 0, 0, NULL, NULL, counters[0], NULL, NULL);
    if (me == n - 1) return LAPI_Waitcntr(h, &cmpl, 1, NULL); /* for ever, were it not for the message */
    EXPECT(LAPI_Put(h, 0, 0, NULL, NULL, counters[0], NULL, NULL) == LAPI_SUCCESS); /* has left Address_init */
    if (me == 0) {
        EXPECT(LAPI_Waitcntr(h, &here, n, NULL) == LAPI_SUCCESS);
        EXPECT(LAPI_Amsend(h, (uint)(n - 1), (void *)5, NULL, 0, NULL, 0, NULL, NULL, &cmpl) == LAPI_SUCCESS);
        EXPECT(LAPI_Waitcntr(h, &cmpl, 1, NULL) == LAPI_SUCCESS); /* its handler never returns */
        while (!heard) LAPI_Probe(h);
    }
    while (LAPI_Put(h, (uint)(n - 1), sizeof me, addresses[n - 1], &me, NULL, NULL, NULL) != LAPI_ERR_TGT_PURGED)
        LAPI_Probe(h);
    while (LAPI_Amsend(h, (uint)(n - 1), (void *)5, NULL, 0, NULL, 0, NULL, NULL, NULL) != LAPI_ERR_TGT_PURGED)
        LAPI_Probe(h);
    EXPECT(LAPI_Fence(h) == LAPI_SUCCESS);
    handle = h;
    dead = (uint)(n - 1);
    EXPECT(shared_memory_is_closed(shared[n - 1]));
    EXPECT(told_once());
    EXPECT(LAPI_Put(h, (uint)(1 - me % 2) % (uint)(n - 1), sizeof me, (int *)addresses[(1 - me % 2) % (n - 1)] + me,
                    &me, NULL, NULL, &cmpl) == LAPI_SUCCESS);
    EXPECT(LAPI_Waitcntr(h, &cmpl, 1, NULL) == LAPI_SUCCESS);
    EXPECT(!heard || other == n - 1);
    printf("task %d goes on\n", me);
    LAPI_Term(h);
    return 0;
}
