/* SPDX-License-Identifier: Apache-2.0 */
/* A profiler: has its own LAPI_Put in front of the library's, which it reaches as PLAPI_Put. */
#include <lapi.h>
#include <stdio.h>
#include <string.h>

static int puts_seen;

int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
             lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
    ++puts_seen;
    return PLAPI_Put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr);
}

int main(void)
{
    lapi_handle_t h;
    lapi_info_t info;
    lapi_cntr_t done = {0};
    int me, word = 0, value = 5;
    memset(&info, 0, sizeof info);
    if (LAPI_Init(&h, &info) != LAPI_SUCCESS) return 1;
    LAPI_Qenv(h, TASK_ID, &me);
    if (LAPI_Put(h, (uint)me, sizeof word, &word, &value, NULL, NULL, &done) != LAPI_SUCCESS) return 2;
    LAPI_Waitcntr(h, &done, 1, NULL);
    LAPI_Gfence(h);
    LAPI_Term(h);
    if (me == 0) printf("%d put seen\n", puts_seen);
    return puts_seen == 1 && word == 5 ? 0 : 3;
}
