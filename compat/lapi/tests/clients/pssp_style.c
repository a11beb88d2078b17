/* SPDX-License-Identifier: Apache-2.0 */
/* In the style of programs for the first LAPI (1997): counters set and waited for one by one, addresses by
 * LAPI_Address_init, header and completion handlers by their addresses, a return code looked at after each call. Knows
 * lapi.h and nothing else. */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

static lapi_handle_t hndl;
static lapi_info_t info;
static char err_msg_buf[LAPI_MAX_ERR_STRING];

static int data_buffer[N], received[N];
static lapi_cntr_t arrived_cntr;
static volatile int completions;

static void check_rc(int rc, const char *what)
{
    if (rc == LAPI_SUCCESS) return;
    LAPI_Msg_string(rc, err_msg_buf);
    fprintf(stderr, "%s: rc %d: %s\n", what, rc, err_msg_buf);
    exit(1);
}
#define RC_CHECK(call) check_rc((call), #call)

struct uhdr {
    int from;
    int elements;
};

static void do_complete(lapi_handle_t *handle, void *user_info)
{
    struct uhdr *u = (struct uhdr *)user_info;
    (void)handle;
    completions += u->elements;
    free(u);
}

static void *header_handler(lapi_handle_t *handle, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp,
                            void **user_info)
{
    struct uhdr *copy = (struct uhdr *)malloc(sizeof *copy);
    (void)handle;
    if (*uhdr_len != sizeof *copy || *msg_len != N * sizeof(int)) exit(2);
    memcpy(copy, uhdr, sizeof *copy);
    *comp = do_complete;
    *user_info = copy;
    return received;
}

static void fail(int line)
{
    fprintf(stderr, "wrong result in line %d\n", line);
    exit(3);
}
#define EXPECT(condition) ((condition) ? (void)0 : fail(__LINE__))

static void put_to_the_right(int task, int num_tasks)
{
    void **buffers = (void **)malloc((size_t)num_tasks * sizeof(void *));
    void **counters = (void **)malloc((size_t)num_tasks * sizeof(void *));
    int right = (task + 1) % num_tasks, left = (task + num_tasks - 1) % num_tasks, i, val;
    int mine[N];
    lapi_cntr_t org_cntr, cmpl_cntr;
    RC_CHECK(LAPI_Setcntr(hndl, &arrived_cntr, 0));
    RC_CHECK(LAPI_Setcntr(hndl, &org_cntr, 0));
    RC_CHECK(LAPI_Setcntr(hndl, &cmpl_cntr, 0));
    RC_CHECK(LAPI_Address_init(hndl, (void *)data_buffer, buffers));
    RC_CHECK(LAPI_Address_init(hndl, (void *)&arrived_cntr, counters));
    for (i = 0; i < N; i++) mine[i] = task * N + i;
    RC_CHECK(LAPI_Put(hndl, (uint)right, sizeof mine, buffers[right], (void *)mine, (lapi_cntr_t *)counters[right],
                      &org_cntr, &cmpl_cntr));
    RC_CHECK(LAPI_Waitcntr(hndl, &org_cntr, 1, &val));
    EXPECT(val == 0);
    RC_CHECK(LAPI_Waitcntr(hndl, &cmpl_cntr, 1, NULL));
    RC_CHECK(LAPI_Waitcntr(hndl, &arrived_cntr, 1, &val));
    for (i = 0; i < N; i++) EXPECT(data_buffer[i] == left * N + i);
    memset(mine, 0, sizeof mine);
    RC_CHECK(LAPI_Get(hndl, (uint)right, sizeof mine, buffers[right], mine, NULL, &org_cntr));
    RC_CHECK(LAPI_Waitcntr(hndl, &org_cntr, 1, &val));
    for (i = 0; i < N; i++) EXPECT(mine[i] == task * N + i);
    RC_CHECK(LAPI_Gfence(hndl));
    free(buffers);
    free(counters);
}

static void count_up(int task, int num_tasks)
{
    static int ticket;
    void **tickets = (void **)malloc((size_t)num_tasks * sizeof(void *));
    int one = 1, prev = -1, val, i;
    lapi_cntr_t cntr;
    RC_CHECK(LAPI_Setcntr(hndl, &cntr, 0));
    ticket = 0;
    RC_CHECK(LAPI_Address_init(hndl, &ticket, tickets));
    for (i = 0; i < 10; i++) {
        RC_CHECK(LAPI_Rmw(hndl, FETCH_AND_ADD, 0, (int *)tickets[0], &one, &prev, &cntr));
        RC_CHECK(LAPI_Waitcntr(hndl, &cntr, 1, &val));
        EXPECT(prev >= 0 && prev < 10 * num_tasks);
    }
    RC_CHECK(LAPI_Gfence(hndl));
    if (task == 0) EXPECT(ticket == 10 * num_tasks);
    free(tickets);
}

static void send_messages(int task, int num_tasks)
{
    void **handlers = (void **)malloc((size_t)num_tasks * sizeof(void *));
    int right = (task + 1) % num_tasks, left = (task + num_tasks - 1) % num_tasks, i;
    struct uhdr header;
    int mine[N];
    lapi_cntr_t cmpl_cntr;
    RC_CHECK(LAPI_Setcntr(hndl, &cmpl_cntr, 0));
    RC_CHECK(LAPI_Address_init(hndl, (void *)header_handler, handlers));
    for (i = 0; i < N; i++) mine[i] = -task - i;
    header.from = task;
    header.elements = N;
    RC_CHECK(LAPI_Amsend(hndl, (uint)right, handlers[right], &header, sizeof header, mine, sizeof mine, NULL, NULL,
                         &cmpl_cntr));
    RC_CHECK(LAPI_Waitcntr(hndl, &cmpl_cntr, 1, NULL));
    RC_CHECK(LAPI_Gfence(hndl));
    EXPECT(completions == N);
    for (i = 0; i < N; i++) EXPECT(received[i] == -left - i);
    free(handlers);
}

int main(void)
{
    int task, num_tasks;
    memset(&info, 0, sizeof info);
    RC_CHECK(LAPI_Init(&hndl, &info));
    RC_CHECK(LAPI_Qenv(hndl, TASK_ID, &task));
    RC_CHECK(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
    RC_CHECK(LAPI_Senv(hndl, ERROR_CHK, 1));
    put_to_the_right(task, num_tasks);
    count_up(task, num_tasks);
    send_messages(task, num_tasks);
    RC_CHECK(LAPI_Gfence(hndl));
    RC_CHECK(LAPI_Term(hndl));
    if (task == 0) printf("pssp_style: correct on %d tasks\n", num_tasks);
    return 0;
}
