/* SPDX-License-Identifier: Apache-2.0 */
/* How programs begin in which the way between two tasks is given up: what both know and hear. */
#ifndef LAPI_TESTS_PAIR_H
#define LAPI_TESTS_PAIR_H

#include <lapi.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static lapi_handle_t handle;
static int me;
static lapi_long_t pids[2];
static volatile int heard;        /* how often the other task did not answer */
static void (*when_told)(void);   /* is called first */
static compl_hndlr_t *completion; /* of messages for header handler 1 */

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *src)
{
    (void)h;
    (void)type;
    (void)task;
    when_told();
    if (*code == LAPI_ERR_TIMEOUT && *src == 1 - me) ++heard;
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp, void **info)
{
    (void)h;
    (void)uhdr;
    (void)uhdr_len;
    (void)msg_len;
    (void)info;
    *comp = completion;
    return NULL;
}

/* 0: both tasks are there. */
static int begin(void)
{
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    info.err_hndlr = hear;
    if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 2;
    LAPI_Qenv(handle, TASK_ID, &me);
    LAPI_Addr_set(handle, (void *)take, 1);
    return LAPI_Address_init64(handle, (lapi_long_t)getpid(), pids) == LAPI_SUCCESS ? 0 : 2;
}

#endif
