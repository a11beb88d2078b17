/* SPDX-License-Identifier: Apache-2.0 */
/* usage: exits HOW. Task 0 calls exit(0) in a function that LAPI calls on a thread of its own: the "send" handler, the
 * "completion" handler or the error handler, which hears of a put with a send handler ("error"), of one without
 * ("fault") or of a message ("answer"). The others return from main. The job ends well.
 * exits header: task 0 sends a message to itself whose header handler calls it. Such a one cannot leave the job well:
 * the process ends, and the launcher ends the others. */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static lapi_handle_t h;

static void leave(void)
{
    printf("task 0 exits\n");
    exit(0);
}

static void on_error(lapi_handle_t *hndl, int *code, lapi_err_t *type, int *task, int *src)
{
    (void)hndl;
    (void)code;
    (void)type;
    (void)task;
    (void)src;
    leave();
}

static void on_sent(lapi_handle_t *hndl, void *info, lapi_sh_info_t *about)
{
    (void)hndl;
    (void)about;
    if (info) leave();
}

static void on_complete(lapi_handle_t *hndl, void *info)
{
    (void)hndl;
    (void)info;
    leave();
}

static void *on_header(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp,
                       void **user_info)
{
    (void)hndl;
    (void)uhdr;
    (void)uhdr_len;
    (void)msg_len;
    (void)comp;
    (void)user_info;
    leave();
    return NULL;
}

int main(int argc, char **argv)
{
    static char data[100000], from[sizeof data];
    static lapi_cntr_t done;
    const char *how = argc > 1 ? argv[1] : "";
    void *all[16];
    lapi_info_t info;
    lapi_xfer_t x;
    int me;
    memset(&info, 0, sizeof info);
    info.err_hndlr = on_error;
    if (LAPI_Init(&h, &info) != LAPI_SUCCESS) return 2;
    LAPI_Qenv(h, TASK_ID, &me);
    if (LAPI_Address_init(h, data, all) != LAPI_SUCCESS) return 3;
    if (me != 0) return 0;
    memset(&x, 0, sizeof x);
    if (strcmp(how, "completion") == 0) {
        x.Get.Xfer_type = LAPI_GET_XFER;
        x.Get.tgt = 1;
        x.Get.tgt_addr = (lapi_long_t)all[1];
        x.Get.org_addr = from;
        x.Get.len = sizeof from;
        x.Get.chndlr = on_complete;
    } else if (strcmp(how, "answer") == 0) {
        x.Am.Xfer_type = LAPI_AM_XFER;
        x.Am.tgt = 1;
        x.Am.hdr_hdl = 77;
        x.Am.cmpl_cntr = &done;
    } else if (strcmp(how, "header") == 0) {
        if (LAPI_Addr_set(h, (void *)on_header, 5) != LAPI_SUCCESS) return 5;
        x.Am.Xfer_type = LAPI_AM_XFER;
        x.Am.tgt = 0;
        x.Am.hdr_hdl = 5;
    } else {
        x.Put.Xfer_type = LAPI_PUT_XFER;
        x.Put.tgt = 1;
        x.Put.tgt_addr = strcmp(how, "send") == 0 ? (lapi_long_t)all[1] : 4096;
        x.Put.org_addr = from;
        x.Put.len = sizeof from;
        x.Put.shdlr = strcmp(how, "fault") == 0 ? NULL : on_sent;
        x.Put.sinfo = strcmp(how, "send") == 0 ? &x : NULL;
    }
    if (LAPI_Xfer(h, &x) != LAPI_SUCCESS) return 4;
    for (;;) pause();
}
