/* SPDX-License-Identifier: Apache-2.0 */
/* With `onesea run --on-death continue -n 2 --nodes 2` and ONESEA_NET_FAULTS=give_up=S: task 1 stops under all kinds of
 * operations, and the link to it is given up. All counters add, and when a fence returns the error handler has heard.
 */
#include "pair.h"

#include <signal.h>

/* A fence waits for it. */
static void told(void) { usleep(20000); }

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
    when_told = told;
    if (begin() != 0) return 2;
    LAPI_Address_init(handle, words, there);
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
