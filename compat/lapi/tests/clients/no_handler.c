/* SPDX-License-Identifier: Apache-2.0 */
/* Without an error handler an error that no call can return ends the job; the launcher's status tells. */
#include <lapi.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    lapi_handle_t h;
    lapi_info_t info;
    int me, n;
    memset(&info, 0, sizeof info);
    if (LAPI_Init(&h, &info) != LAPI_SUCCESS) return 2;
    LAPI_Qenv(h, TASK_ID, &me);
    LAPI_Qenv(h, NUM_TASKS, &n);
    if (me == 0)
        LAPI_Amsend(h, (uint)(n - 1), (void *)99, NULL, 0, NULL, 0, NULL, NULL, NULL); /* nobody has number 99 */
    LAPI_Gfence(h);
    LAPI_Gfence(h);
    LAPI_Term(h);
    return 0;
}
