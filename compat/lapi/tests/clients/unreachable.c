/* SPDX-License-Identifier: Apache-2.0 */
/* With `onesea run --on-death continue -n 2 --nodes 2` and ONESEA_NET_FAULTS=give_up=S: task 1 stops under all kinds of
 * operations, and the link to it is given up. All counters add, and when a fence returns the error handler has heard.
 */
#include <lapi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static volatile int heard;

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *src)
{
    (void)h;
    (void)type;
    (void)task;
    usleep(20000); /* a fence waits for it */
    if (*code == LAPI_ERR_TIMEOUT && *src == 1) ++heard;
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp, void **info)
{
    (void)h;
    (void)uhdr;
    (void)uhdr_len;
    (void)msg_len;
    (void)info;
    *comp = NULL;
    return NULL;
}

static void sent(lapi_handle_t *h, void *info, lapi_sh_info_t *about)
{
    (void)h;
    (void)info;
    (void)about;
}

static void wait_until_stopped(long long pid)
{
    char name[64], line[256], *state;
    FILE *f;
    do {
        snprintf(name, sizeof name, "/proc/%lld/stat", pid);
        if ((f = fopen(name, "r")) == NULL) return;
        state = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        fclose(f);
        usleep(1000);
    } while (state && state[2] != 'T');
}

#define EXPECT(condition)                                               \
    if (!(condition)) {                                                 \
        fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
        ++bad;                                                          \
    }

static lapi_handle_t handle;
static int bad;

static void expect_added(const char *what, lapi_cntr_t *counter, int value)
{
    int now = 0, i;
    for (i = 0; i < 500 && now < value; ++i) {
        LAPI_Getcntr(handle, counter, &now);
        usleep(now < value ? 10000 : 0);
    }
    if (now == value) return;
    fprintf(stderr, "%s: the counter is %d and not %d\n", what, now, value);
    ++bad;
}

/* A long message with a send handler, which its sender follows to its end. */
static int send_followed(char *data, ulong bytes, lapi_cntr_t *cmpl)
{
    lapi_xfer_t x;
    memset(&x, 0, sizeof x);
    x.Am.Xfer_type = LAPI_AM_XFER;
    x.Am.tgt = 1;
    x.Am.hdr_hdl = 1;
    x.Am.udata = data;
    x.Am.udata_len = bytes;
    x.Am.shdlr = sent;
    x.Am.cmpl_cntr = cmpl;
    return LAPI_Xfer(handle, &x);
}

int main(void)
{
    static long long words[4];
    static char data[100000];
    static lapi_cntr_t message, followed, swap, put, get;
    long long pair[2] = {0, 1}, old;
    void *there[2];
    lapi_long_t pids[2];
    lapi_info_t info;
    int me;
    memset(&info, 0, sizeof info);
    info.err_hndlr = hear;
    if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 2;
    LAPI_Qenv(handle, TASK_ID, &me);
    LAPI_Addr_set(handle, (void *)take, 1);
    LAPI_Address_init(handle, words, there);
    LAPI_Address_init64(handle, (lapi_long_t)getpid(), pids);
    if (me == 1) raise(SIGSTOP);
    if (me == 1) return 1;
    wait_until_stopped((long long)pids[1]);
    EXPECT(LAPI_Amsend(handle, 1, (void *)1, NULL, 0, NULL, 0, NULL, NULL, &message) == LAPI_SUCCESS);
    EXPECT(LAPI_Amsend(handle, 1, (void *)1, NULL, 0, data, sizeof data, NULL, NULL, &message) == LAPI_SUCCESS);
    EXPECT(send_followed(data, sizeof data, &followed) == LAPI_SUCCESS);
    EXPECT(LAPI_Rmw64(handle, COMPARE_AND_SWAP, 1, there[1], pair, &old, &swap) == LAPI_SUCCESS);
    EXPECT(LAPI_Put(handle, 1, sizeof data, there[1], data, NULL, NULL, &put) == LAPI_SUCCESS);
    EXPECT(LAPI_Get(handle, 1, sizeof old, there[1], &old, NULL, &get) == LAPI_SUCCESS);
    EXPECT(LAPI_Fence(handle) == LAPI_ERR_TIMEOUT); /* it cannot be asked about the messages */
    EXPECT(heard >= 5);                             /* at least one of each kind */
    EXPECT(LAPI_Onesea_get(handle, 1, sizeof old, there[1], &old) == LAPI_ERR_TIMEOUT);
    EXPECT(LAPI_Onesea_rmw64(handle, COMPARE_AND_SWAP, 1, there[1], pair, &old) == LAPI_ERR_TIMEOUT);
    expect_added("messages", &message, 2);
    expect_added("a message with a send handler", &followed, 1);
    expect_added("compare-and-swap", &swap, 1);
    expect_added("put", &put, 1);
    expect_added("get", &get, 1);
    kill((pid_t)pids[1], SIGKILL);
    printf("unreachable: %d wrong\n", bad);
    fflush(stdout);
    _exit(bad == 0 ? 0 : 1); /* task 1 cannot leave with it */
}
