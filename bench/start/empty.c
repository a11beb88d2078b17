/* SPDX-License-Identifier: Apache-2.0 */
/* The empty program: joins the job and leaves it. */
#include <onesea.h>

#include <stdio.h>

int main(void)
{
    if (sea_init(NULL) != SEA_OK) {
        fprintf(stderr, "onesea-bench-worker-empty: %s\n", sea_last_error());
        return 1;
    }
    return sea_finalize() == SEA_OK ? 0 : 1;
}
