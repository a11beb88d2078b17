/* SPDX-License-Identifier: Apache-2.0 */
/* In the style of the benchmarks with a LAPI module: polling mode, the counter of the target looked at with
 * LAPI_Getcntr and LAPI_Probe in a loop and then taken with LAPI_Waitcntr, sizes doubling, pairs of tasks. */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIZE (1 << 18)

static lapi_handle_t t_hndl;
static lapi_info_t t_info;
static lapi_cntr_t l_cntr, t_cntr, c_cntr;
static void **t_buf, **t_cntr_addr;
static char s_ptr[MAX_SIZE], r_ptr[MAX_SIZE];
static int iproc, nproc, othernode;

static void check(int rc, int line)
{
    char msg[LAPI_MAX_ERR_STRING];
    if (rc == LAPI_SUCCESS) return;
    LAPI_Msg_string(rc, msg);
    fprintf(stderr, "line %d: %s\n", line, msg);
    exit(1);
}
#define CALL(c) check((c), __LINE__)

static void send_data(int len)
{
    CALL(LAPI_Put(t_hndl, (uint)othernode, (ulong)len, t_buf[othernode], s_ptr, (lapi_cntr_t *)t_cntr_addr[othernode],
                  &l_cntr, &c_cntr));
    CALL(LAPI_Waitcntr(t_hndl, &c_cntr, 1, NULL));
    CALL(LAPI_Waitcntr(t_hndl, &l_cntr, 1, NULL));
}

static void recv_data(void)
{
    int val = 0, cur;
    CALL(LAPI_Getcntr(t_hndl, &t_cntr, &val));
    while (val < 1) {
        CALL(LAPI_Probe(t_hndl));
        CALL(LAPI_Getcntr(t_hndl, &t_cntr, &val));
    }
    CALL(LAPI_Waitcntr(t_hndl, &t_cntr, 1, &cur));
}

int main(void)
{
    int len, i, k, errors = 0;
    memset(&t_info, 0, sizeof t_info);
    t_info.err_hndlr = NULL;
    CALL(LAPI_Init(&t_hndl, &t_info));
    CALL(LAPI_Qenv(t_hndl, TASK_ID, &iproc));
    CALL(LAPI_Qenv(t_hndl, NUM_TASKS, &nproc));
    CALL(LAPI_Senv(t_hndl, INTERRUPT_SET, 0));
    othernode = iproc % 2 ? iproc - 1 : iproc + 1 < nproc ? iproc + 1 : iproc;
    t_buf = malloc((size_t)nproc * sizeof *t_buf);
    t_cntr_addr = malloc((size_t)nproc * sizeof *t_cntr_addr);
    CALL(LAPI_Setcntr(t_hndl, &l_cntr, 0));
    CALL(LAPI_Setcntr(t_hndl, &t_cntr, 0));
    CALL(LAPI_Setcntr(t_hndl, &c_cntr, 0));
    CALL(LAPI_Address_init(t_hndl, r_ptr, t_buf));
    CALL(LAPI_Address_init(t_hndl, &t_cntr, t_cntr_addr));
    for (len = 1; len <= MAX_SIZE; len *= 2)
        for (i = 0; i < 5; i++) {
            memset(s_ptr, iproc + len + i, (size_t)len);
            if (iproc % 2 == 0) send_data(len);
            recv_data();
            for (k = 0; k < len; k++) errors += r_ptr[k] != (char)(othernode + len + i);
            if (iproc % 2) send_data(len);
        }
    CALL(LAPI_Gfence(t_hndl));
    CALL(LAPI_Term(t_hndl));
    free(t_buf);
    free(t_cntr_addr);
    if (errors) fprintf(stderr, "%d wrong bytes\n", errors);
    if (iproc == 0 && !errors) printf("pingpong_style: correct on %d tasks\n", nproc);
    return errors != 0;
}
