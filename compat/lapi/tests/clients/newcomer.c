/* SPDX-License-Identifier: Apache-2.0 */
/* A process that sea_spawn() has started is no task of LAPI, and is told so each time it asks; the tasks go on. */
#include <lapi.h>
#include <onesea.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int newcomer(void)
{
    for (int i = 0; i < 2; ++i) {
        lapi_handle_t handle;
        lapi_info_t info;
        char words[LAPI_MAX_ERR_STRING];
        memset(&info, 0, sizeof info);
        const int code = LAPI_Init(&handle, &info);
        LAPI_Msg_string(code, words);
        printf("newcomer: %s\n", words);
        if (code != LAPI_ERR_CSS_LOAD_FAILED || !strstr(words, "sea_spawn()")) return 1;
    }
    printf("newcomer: told twice\n");
    return sea_finalize() == SEA_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc > 1) return newcomer();
    lapi_handle_t handle;
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 2;
    const char *arguments[] = {argv[0], "newcomer", NULL};
    sea_spawn_opts opts = SEA_SPAWN_INIT;
    opts.arguments = arguments;
    int rank;
    if (sea_rank() == 0 && sea_spawn(&opts, &rank) != SEA_OK) return 2;
    if (LAPI_Gfence(handle) != LAPI_SUCCESS || LAPI_Term(handle) != LAPI_SUCCESS) return 2;
    return 0;
}
