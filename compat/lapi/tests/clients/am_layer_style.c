/* SPDX-License-Identifier: Apache-2.0 */
/* In the style of runtimes that build request and reply messages on LAPI: one header handler per kind at an exchanged
 * address, tokens in the user header, replies sent from completion handlers, a bounded number of requests under way,
 * progress by waiting for nothing (LAPI_Waitcntr with 0), an error handler that is registered. */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 300
#define DEPTH 32

typedef struct {
    int kind; /* 0: request, 1: reply */
    int from;
    int number;
    int nargs;
    long args[8];
    lapi_cntr_t *done; /* of the requester */
} token_t;

static lapi_handle_t context;
static int mynode, nodes;
static void **handler_addr;
static long sums, expected;
static lapi_cntr_t replies;

static void check(int rc, const char *what)
{
    char msg[LAPI_MAX_ERR_STRING];
    if (rc == LAPI_SUCCESS) return;
    LAPI_Msg_string(rc, msg);
    fprintf(stderr, "%d: %s: %s\n", mynode, what, msg);
    exit(1);
}
#define LCHECK(c) check((c), #c)

static void err_hndlr(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *src)
{
    (void)h;
    fprintf(stderr, "error %d type %d task %d src %d\n", *code, (int)*type, *task, *src);
    exit(1);
}

static void completion(lapi_handle_t *handle, void *uinfo)
{
    token_t *t = (token_t *)uinfo, reply;
    lapi_cntr_t sent;
    int i;
    if (t->kind == 1) {
        for (i = 0; i < t->nargs; i++) __sync_fetch_and_add(&sums, t->args[i]);
        free(t);
        return;
    }
    reply = *t;
    reply.kind = 1;
    for (i = 0; i < t->nargs; i++) reply.args[i] = t->args[i] * 2;
    LCHECK(LAPI_Setcntr(*handle, &sent, 0));
    LCHECK(LAPI_Amsend(*handle, (uint)t->from, handler_addr[t->from], &reply, sizeof reply, NULL, 0, t->done, &sent,
                       NULL));
    LCHECK(LAPI_Waitcntr(*handle, &sent, 1, NULL));
    free(t);
}

static void *am_handler(lapi_handle_t *handle, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp,
                        void **uinfo)
{
    token_t *copy = (token_t *)malloc(sizeof *copy);
    (void)handle;
    (void)uhdr_len;
    (void)msg_len;
    memcpy(copy, uhdr, sizeof *copy);
    *comp = completion;
    *uinfo = copy;
    return NULL;
}

int main(void)
{
    lapi_info_t info;
    token_t t;
    int i, k, uhdr_max, in_flight = 0;
    memset(&info, 0, sizeof info);
    info.err_hndlr = err_hndlr;
    LCHECK(LAPI_Init(&context, &info));
    LCHECK(LAPI_Qenv(context, TASK_ID, &mynode));
    LCHECK(LAPI_Qenv(context, NUM_TASKS, &nodes));
    LCHECK(LAPI_Qenv(context, MAX_UHDR_SZ, &uhdr_max));
    if (uhdr_max < (int)sizeof(token_t)) return 2;
    handler_addr = (void **)malloc((size_t)nodes * sizeof(void *));
    LCHECK(LAPI_Setcntr(context, &replies, 0));
    LCHECK(LAPI_Address_init(context, (void *)am_handler, handler_addr));
    LCHECK(LAPI_Gfence(context));
    for (i = 0; i < REQUESTS; i++) {
        memset(&t, 0, sizeof t);
        t.from = mynode;
        t.number = i;
        t.nargs = i % 9;
        t.done = &replies;
        for (k = 0; k < t.nargs; k++) {
            t.args[k] = i + k;
            expected += 2 * (i + k);
        }
        if (in_flight == DEPTH) {
            LCHECK(LAPI_Waitcntr(context, &replies, 1, NULL));
            in_flight--;
        }
        LCHECK(LAPI_Amsend(context, (uint)((mynode + i) % nodes), handler_addr[(mynode + i) % nodes], &t, sizeof t,
                           NULL, 0, NULL, NULL, NULL));
        in_flight++;
        LCHECK(LAPI_Waitcntr(context, &replies, 0, NULL));
    }
    LCHECK(LAPI_Waitcntr(context, &replies, in_flight, NULL));
    LCHECK(LAPI_Gfence(context));
    if (sums != expected) {
        fprintf(stderr, "%d: %ld, not %ld\n", mynode, sums, expected);
        return 3;
    }
    LCHECK(LAPI_Term(context));
    free(handler_addr);
    if (mynode == 0) printf("am_layer_style: correct on %d tasks\n", nodes);
    return 0;
}
