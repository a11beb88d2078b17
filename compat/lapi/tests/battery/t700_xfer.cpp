// SPDX-License-Identifier: Apache-2.0
// LAPI_Xfer(): all its commands, and the handlers that only it has.
#include "battery.hpp"

#include <cstring>

using namespace battery;

namespace {

std::atomic<int> sent = 0, got = 0;
std::atomic<uint> last_to = 99;

void sender(lapi_handle_t *h, void *param, lapi_sh_info_t *info)
{
    if (*h == self.h && info->reason == LAPI_SUCCESS) last_to = info->src;
    sent += *static_cast<int *>(param);
}

void getter(lapi_handle_t *h, void *param)
{
    if (*h == self.h) got += *static_cast<int *>(param);
}

int one = 1;
char room[70000];

void wait_for(std::atomic<int> &value, int wanted)
{
    lapi_msg_info_t info;
    for (int i = 0; i < 2000000 && value != wanted; ++i) OK(LAPI_Msgpoll(self.h, 1, &info));
    EQUAL(value.load(), wanted);
}

std::atomic<int> headers = 0;
void *header(lapi_handle_t *, void *uhdr, uint *uhdr_len, ulong *len, compl_hndlr_t **, void **)
{
    headers += *uhdr_len == 4 ? *static_cast<int *>(uhdr) : 1;
    return *len ? room : nullptr;
}

lapi_vec_t *xfer_vector_header(lapi_handle_t *, void *, uint *, ulong *len, compl_hndlr_t **, void **)
{
    static void *info[1] = {room};
    static ulong all[1] = {sizeof room};
    static lapi_vec_t vec = {LAPI_GEN_IOVECTOR, 1, info, all};
    headers += *len ? 100 : 0;
    return &vec;
}

} // namespace

STEP(transfers_by_command_tell_by_handlers)
{
    auto where = everywhere(room);
    counter arrived, complete;
    const uint t = self.right();
    for (ulong bytes : {8ul, 70000ul}) {
        std::vector<char> mine(bytes, char('A' + self.me)), back(bytes);
        sent = got = 0;
        fence_all();
        lapi_xfer_t x = {};
        x.Put = {LAPI_PUT_XFER,  0, t, where[t], mine.data(), bytes, sender, &one, lapi_long_t(arrived.of(t)), nullptr,
                 complete.here()};
        OK(LAPI_Xfer(self.h, &x));
        complete.wait(1);
        wait_for(sent, 1);
        EQUAL(last_to.load(), t);
        arrived.wait(1);
        EQUAL(room[bytes - 1], char('A' + self.left()));
        std::memset(&x, 0, sizeof x);
        x.Get = {LAPI_GET_XFER,   0,      t,   where[t], back.data(), bytes, lapi_long_t(arrived.of(t)),
                 complete.here(), getter, &one};
        OK(LAPI_Xfer(self.h, &x));
        complete.wait(1);
        wait_for(got, 1);
        CHECK(back == mine);
        arrived.wait(1);
        fence_all();
    }
}

STEP(messages_by_command_tell_by_handlers)
{
    auto handlers = everywhere(reinterpret_cast<void *>(header));
    counter complete, arrived;
    const uint t = self.right();
    sent = headers = 0;
    fence_all();
    int messages = 0, value = 1;
    for (ulong bytes : {0ul, 100ul, 70000ul}) {
        std::vector<char> mine(bytes);
        lapi_xfer_t x = {};
        x.Am = {LAPI_AM_XFER,
                0,
                t,
                handlers[t],
                sizeof value,
                &value,
                mine.data(),
                bytes,
                sender,
                &one,
                lapi_long_t(arrived.of(t)),
                nullptr,
                complete.here()};
        OK(LAPI_Xfer(self.h, &x));
        complete.wait(1);
        wait_for(sent, ++messages);
    }
    arrived.wait(3);
    fence_all();
    EQUAL(headers.load(), 3);
}

STEP(light_messages_have_numbers_and_one_packet)
{
    counter complete;
    const uint t = self.right();
    OK(LAPI_Addr_set(self.h, reinterpret_cast<void *>(header), 3));
    sent = headers = 0;
    fence_all();
    int value = 5, packet = 0;
    OK(LAPI_Qenv(self.h, MAX_PKT_SZ, &packet));
    char data[2000] = {};
    lapi_xfer_t x = {};
    x.Am = {LAPI_AM_LW_XFER, 0, t, 3, sizeof value, &value, data, 100, sender, &one, 0, nullptr, nullptr};
    OK(LAPI_Xfer(self.h, &x));
    wait_for(sent, 1);
    fence_all();
    EQUAL(headers.load(), 5);
    x.Am.udata_len = ulong(packet) + 1;
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_DATA_LEN);
    x.Am.udata_len = 8;
    x.Am.hdr_hdl = lapi_long_t(&header);
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_ADDR_HNDL_RANGE);
    OK(LAPI_Addr_set(self.h, nullptr, 3));
}

STEP(updates_by_command_tell_by_handlers)
{
    static long long wide;
    static int narrow;
    wide = narrow = 10;
    auto wides = everywhere(&wide), narrows = everywhere(&narrow);
    counter c;
    const uint t = self.right();
    sent = 0;
    fence_all();
    long long add = 5, old = 0;
    lapi_xfer_t x = {};
    x.Rmw = {LAPI_RMW_XFER, FETCH_AND_ADD, t, 64, wides[t], &add, &old, c.here(), sender, &one};
    OK(LAPI_Xfer(self.h, &x));
    c.wait(1);
    EQUAL(old, 10);
    wait_for(sent, 1);
    for (int i = 2; i < 30; ++i) { // nobody wants the value before
        x.Rmw = {LAPI_RMW_XFER, SWAP, t, 64, wides[t], &add, nullptr, c.here(), sender, &one};
        add = 14 + i % 2;
        OK(LAPI_Xfer(self.h, &x));
        c.wait(1);
        wait_for(sent, i);
    }
    sent = 1;
    int pair[2] = {10, 77}, told = -1;
    x.Rmw = {LAPI_RMW_XFER, COMPARE_AND_SWAP, t, 32, narrows[t], pair, &told, c.here(), sender, &one};
    OK(LAPI_Xfer(self.h, &x));
    c.wait(1);
    EQUAL(told, 1);
    wait_for(sent, 2);
    fence_all();
    EQUAL(wide, 15);
    EQUAL(narrow, 77);
}

STEP(vectors_by_command)
{
    auto where = everywhere(room), handlers = everywhere(reinterpret_cast<void *>(xfer_vector_header));
    counter c;
    const uint t = self.right();
    std::memset(room, 0, sizeof room);
    sent = got = headers = 0;
    fence_all();
    char a[10] = "123456789", b[10] = "abcdefghi", back[20] = {};
    void *from[2] = {a, b}, *into[2] = {back, back + 10};
    void *to[2] = {reinterpret_cast<void *>(where[t] + 10), reinterpret_cast<void *>(where[t])};
    ulong len[2] = {10, 10};
    lapi_vec_t org = {LAPI_GEN_IOVECTOR, 2, from, len}, tgt = {LAPI_GEN_IOVECTOR, 2, to, len},
               in = {LAPI_GEN_IOVECTOR, 2, into, len};
    lapi_xfer_t x = {};
    x.Putv = {LAPI_PUTV_XFER, int(USE_TGT_VEC_TYPE), t, sender, &one, &org, &tgt, 0, nullptr, c.here()};
    OK(LAPI_Xfer(self.h, &x));
    c.wait(1);
    wait_for(sent, 1);
    std::memset(&x, 0, sizeof x);
    x.Getv = {LAPI_GETV_XFER, 0, t, &in, &tgt, 0, c.here(), getter, &one};
    OK(LAPI_Xfer(self.h, &x));
    c.wait(1);
    wait_for(got, 1);
    EQUAL(std::memcmp(back, a, 10), 0);
    EQUAL(std::memcmp(back + 10, b, 10), 0);
    fence_all();
    EQUAL(std::memcmp(room, b, 10), 0);
    fence_all();
    std::memset(&x, 0, sizeof x);
    x.Amv = {LAPI_AMV_XFER, 0, t, handlers[t], 0, nullptr, sender, &one, &org, 0, nullptr, c.here()};
    OK(LAPI_Xfer(self.h, &x));
    c.wait(1);
    wait_for(sent, 2);
    fence_all();
    EQUAL(headers.load(), 100);
    EQUAL(std::memcmp(room, a, 10), 0);
}

STEP(commands_refuse_bad_arguments)
{
    lapi_xfer_t x = {};
    int v = 0;
    EQUAL(LAPI_Xfer(self.h, nullptr), LAPI_ERR_XFER_CMD);
    for (int type : {int(LAPI_DGSP_XFER), int(LAPI_LAST_XFER), -1}) {
        x.Xfer_type = lapi_xfer_type_t(type);
        EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_XFER_CMD);
    }
    x.Put = {LAPI_PUT_XFER, 0, uint(self.n), lapi_long_t(&v), &v, 4, nullptr, nullptr, 0, nullptr, nullptr};
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_TGT);
    x.Put.tgt = 0;
    x.Put.tgt_addr = 0;
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_TGT_ADDR_NULL);
    x.Put.tgt_addr = lapi_long_t(&v);
    x.Put.org_addr = nullptr;
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_ORG_ADDR_NULL);
    x.Put.len = LAPI_MAX_MSG_SZ + 1;
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_DATA_LEN);
    x.Rmw = {LAPI_RMW_XFER, SWAP, 0, 16, lapi_long_t(&v), &v, &v, nullptr, nullptr, nullptr};
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_OP_SZ);
    x.Rmw.size = 32;
    x.Rmw.op = RMW_ops_t(9);
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_RMW_OP);
    x.Rmw.op = SWAP;
    x.Rmw.in_val = nullptr;
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_IN_VAL_NULL);
    x.Rmw.tgt_var = 0;
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_TGT_VAR_NULL);
    x.Am = {LAPI_AM_XFER, 0, 0, 0, 0, nullptr, nullptr, 0, nullptr, nullptr, 0, nullptr, nullptr};
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_HDR_HNDLR_NULL);
    x.Getv = {LAPI_GETV_XFER, 0, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr};
    EQUAL(LAPI_Xfer(self.h, &x), LAPI_ERR_ORG_VEC_NULL);
}
