// SPDX-License-Identifier: Apache-2.0
// usage: throws HOW. Task 0 has a "header" handler, an "inline" completion handler or a "send" handler of a program in
// C++ let an exception out. Its process ends, and so the job: nobody waits for an answer that cannot come any more.
#include <cstdio>
#include <cstring>
#include <lapi.h>
#include <stdexcept>

namespace {

const char *how = "";

void fail(const char *where)
{
    if (std::strcmp(how, where) == 0) throw std::runtime_error(where);
}

void complete(lapi_handle_t *, void *) { fail("inline"); }

void *header(lapi_handle_t *, void *, uint *, ulong *msg_len, compl_hndlr_t **comp, void **)
{
    fail("header");
    auto *info = reinterpret_cast<lapi_return_info_t *>(msg_len);
    info->ret_flags = LAPI_LOCAL_STATE;
    *comp = complete;
    return nullptr;
}

void sent(lapi_handle_t *, void *, lapi_sh_info_t *) { fail("send"); }

} // namespace

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : "";
    lapi_handle_t h = 0;
    lapi_info_t info = {};
    lapi_cntr_t done = {};
    int me = 0;
    if (LAPI_Init(&h, &info) != LAPI_SUCCESS) return 2;
    LAPI_Qenv(h, TASK_ID, &me);
    LAPI_Addr_set(h, reinterpret_cast<void *>(header), 5);
    LAPI_Gfence(h);
    lapi_xfer_t x = {};
    x.Am.Xfer_type = LAPI_AM_XFER;
    x.Am.tgt = 0;
    x.Am.hdr_hdl = 5;
    x.Am.cmpl_cntr = &done;
    if (me == 0) x.Am.shdlr = sent;
    if (me != 0 || std::strcmp(how, "send") == 0) LAPI_Xfer(h, &x);
    std::printf("fence: %d\n", LAPI_Gfence(h));
    return 0;
}
