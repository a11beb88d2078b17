// SPDX-License-Identifier: Apache-2.0
// In the style of the later C++ clients: everything by LAPI_Xfer, handlers by number with LAPI_Addr_set, the message
// information behind msg_len, inline completion, the data used where it lies when it came in one packet, the library's
// lock held for the whole run by the thread that communicates.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lapi.h>
#include <new>
#include <vector>

namespace {

lapi_handle_t hndl;
int mytask, ntasks;
lapi_thread_func_t tf;

[[noreturn]] void fatal(const char *what, int rc)
{
    char text[LAPI_MAX_ERR_STRING];
    LAPI_Msg_string(rc, text);
    std::fprintf(stderr, "[%d] %s: %s\n", mytask, what, text);
    std::exit(1);
}
#define LRC(call)                                   \
    do {                                            \
        int rc_ = (call);                           \
        if (rc_ != LAPI_SUCCESS) fatal(#call, rc_); \
    } while (0)

constexpr int UPDATE_HANDLER = 3, REPLY_HANDLER = 4;
constexpr std::uint64_t LOCAL_TABLE = 1 << 12;
std::vector<std::uint64_t> table(LOCAL_TABLE);
long received_updates, replies;

void batch_update(const std::uint64_t *updates, ulong bytes)
{
    for (ulong i = 0; i < bytes / 8; i++) table[updates[i] % LOCAL_TABLE] ^= updates[i], received_updates++;
}

struct landing {
    std::uint64_t *data;
    ulong bytes;
};

void complete_update(lapi_handle_t *, void *param)
{
    auto *l = static_cast<landing *>(param);
    batch_update(l->data, l->bytes);
    std::free(l->data);
    delete l;
}

void *receive_update(lapi_handle_t *, void *, uint *, ulong *msg_len, compl_hndlr_t **ucomp, void **uinfo)
{
    auto *ret_info = reinterpret_cast<lapi_return_info_t *>(msg_len);
    if (ret_info->udata_one_pkt_ptr) {
        batch_update(static_cast<std::uint64_t *>(ret_info->udata_one_pkt_ptr), *msg_len);
        ret_info->ctl_flags = LAPI_BURY_MSG;
        *ucomp = nullptr;
        return nullptr;
    }
    ret_info->ret_flags = LAPI_LOCAL_STATE;
    auto *l = new landing{static_cast<std::uint64_t *>(std::malloc(*msg_len)), *msg_len};
    *ucomp = complete_update;
    *uinfo = l;
    return l->data;
}

void *receive_reply(lapi_handle_t *, void *uhdr, uint *, ulong *, compl_hndlr_t **ucomp, void **)
{
    replies += *static_cast<int *>(uhdr);
    *ucomp = nullptr;
    return nullptr;
}

void free_buffer(lapi_handle_t *, void *param, lapi_sh_info_t *) { std::free(param); }

void send_updates(int to, int count, std::uint64_t seed)
{
    auto *buffer = static_cast<std::uint64_t *>(std::malloc(sizeof(std::uint64_t) * std::size_t(count)));
    for (int i = 0; i < count; i++) buffer[i] = seed = seed * 6364136223846793005u + 1442695040888963407u;
    lapi_xfer_t xfer;
    std::memset(&xfer, 0, sizeof xfer);
    xfer.Am.Xfer_type = LAPI_AM_XFER;
    xfer.Am.tgt = uint(to);
    xfer.Am.hdr_hdl = UPDATE_HANDLER;
    xfer.Am.udata = buffer;
    xfer.Am.udata_len = sizeof(std::uint64_t) * std::size_t(count);
    xfer.Am.shdlr = free_buffer;
    xfer.Am.sinfo = buffer;
    LRC(LAPI_Xfer(hndl, &xfer));
}

} // namespace

int main()
{
    lapi_info_t info;
    std::memset(&info, 0, sizeof info);
    LRC(LAPI_Init(&hndl, &info));
    LRC(LAPI_Qenv(hndl, TASK_ID, &mytask));
    LRC(LAPI_Qenv(hndl, NUM_TASKS, &ntasks));
    LRC(LAPI_Addr_set(hndl, reinterpret_cast<void *>(receive_update), UPDATE_HANDLER));
    LRC(LAPI_Addr_set(hndl, reinterpret_cast<void *>(receive_reply), REPLY_HANDLER));
    lapi_util_t util;
    util.Util_type = LAPI_GET_THREAD_FUNC;
    LRC(LAPI_Util(hndl, &util));
    tf = util.ThreadUtil;
    LRC(LAPI_Gfence(hndl));
    tf.mutex_lock(hndl);

    long sent = 0;
    for (int round = 0; round < 20; round++)
        for (int t = 0; t < ntasks; t++) {
            int count = round % 2 ? 50 : 1000;
            send_updates(t, count, std::uint64_t(mytask * 1000 + round));
            sent += count;
        }
    LRC(LAPI_Gfence(hndl));
    for (int t = 0; t < ntasks; t++) {
        lapi_xfer_t xfer;
        int one = 1;
        std::memset(&xfer, 0, sizeof xfer);
        xfer.Am.Xfer_type = LAPI_AM_LW_XFER;
        xfer.Am.tgt = uint(t);
        xfer.Am.hdr_hdl = REPLY_HANDLER;
        xfer.Am.uhdr = &one;
        xfer.Am.uhdr_len = sizeof one;
        LRC(LAPI_Xfer(hndl, &xfer));
    }
    LRC(LAPI_Gfence(hndl));
    // As every task sends the same number, each has received what it has sent.
    if (received_updates != sent || replies != ntasks) {
        std::fprintf(stderr, "[%d] %ld of %ld updates, %ld of %d replies\n", mytask, received_updates, sent, replies,
                     ntasks);
        return 1;
    }
    tf.mutex_unlock(hndl);
    LRC(LAPI_Term(hndl));
    if (mytask == 0) std::printf("xfer_style: correct on %d tasks\n", ntasks);
    return 0;
}
