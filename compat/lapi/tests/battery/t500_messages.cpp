// SPDX-License-Identifier: Apache-2.0
// Active messages: user headers, data of all sizes, what handlers see and say, handlers that send, errors.
#include "battery.hpp"

#include <cstring>
#include <memory>
#include <thread>

using namespace battery;

namespace {

constexpr int max_data = 300000;
unsigned char landed[max_data];
std::atomic<int> headers = 0, completions = 0, wrong_uhdr = 0;
std::atomic<ulong> last_length = 0, last_packet = 0;
std::atomic<uint> last_uhdr = 0;
std::atomic<int> last_source = -1;

void reset()
{
    headers = completions = wrong_uhdr = 0;
    std::memset(landed, 0, sizeof landed);
    fence_all();
}

void complete(lapi_handle_t *h, void *info)
{
    if (*h != self.h || info != landed) ++wrong_uhdr;
    ++completions;
}

void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp, void **info)
{
    auto *more = reinterpret_cast<lapi_return_info_t *>(msg_len);
    auto *bytes = static_cast<unsigned char *>(uhdr);
    if (*h != self.h || more->MAGIC != LAPI_MAGIC || *comp || more->ctl_flags != LAPI_DELIVER_MSG) ++wrong_uhdr;
    for (uint i = 0; i < *uhdr_len; ++i) wrong_uhdr += bytes[i] != static_cast<unsigned char>(i + *uhdr_len);
    last_length = *msg_len;
    last_uhdr = *uhdr_len;
    last_source = more->src;
    last_packet = more->udata_one_pkt_ptr ? more->bytes : 0;
    ++headers;
    *comp = complete;
    *info = landed;
    return landed;
}

std::vector<unsigned char> user_header(uint bytes)
{
    std::vector<unsigned char> all(bytes);
    for (uint i = 0; i < bytes; ++i) all[i] = static_cast<unsigned char>(i + bytes);
    return all;
}

int max_uhdr()
{
    int most = 0;
    OK(LAPI_Qenv(self.h, MAX_UHDR_SZ, &most));
    return most;
}

void *handler_at(const std::vector<lapi_long_t> &all, uint task) { return reinterpret_cast<void *>(all[task]); }

} // namespace

STEP(messages_bring_header_and_data_of_all_sizes)
{
    auto handlers = everywhere(reinterpret_cast<void *>(header));
    counter arrived, reusable, complete_there;
    std::vector<unsigned char> data(max_data);
    const uint most = uint(max_uhdr());
    int sent = 0;
    reset();
    for (uint uhdr_len : {0u, 4u, 8u, 60u, 800u, most - 4, most})
        for (ulong bytes : {0ul, 1ul, 100ul, 959ul, 960ul, 961ul, 8000ul, 300000ul}) {
            for (ulong i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 3 + uhdr_len + ulong(self.me));
            auto uhdr = user_header(uhdr_len);
            OK(LAPI_Amsend(self.h, self.right(), handler_at(handlers, self.right()), uhdr.data(), uhdr_len, data.data(),
                           bytes, arrived.of(self.right()), reusable.here(), complete_there.here()));
            ++sent;
            reusable.wait(1);
            complete_there.wait(1);
            arrived.wait(1);
            fence_all();
            EQUAL(last_length.load(), bytes);
            EQUAL(last_uhdr.load(), uhdr_len);
            EQUAL(last_source.load(), int(self.left()));
            ulong bad = 0;
            for (ulong i = 0; i < bytes; ++i)
                bad += landed[i] != static_cast<unsigned char>(i * 3 + uhdr_len + ulong(self.left()));
            EQUAL(bad, 0u);
            fence_all();
        }
    EQUAL(headers.load(), sent);
    EQUAL(completions.load(), sent);
    EQUAL(wrong_uhdr.load(), 0);
}

STEP(small_messages_bring_their_data_with_the_header)
{
    auto handlers = everywhere(reinterpret_cast<void *>(header));
    int packet = 0;
    OK(LAPI_Qenv(self.h, MAX_PKT_SZ, &packet));
    counter done;
    std::vector<char> data(std::size_t(packet) + 1);
    for (ulong bytes : {1ul, 8ul, ulong(packet), ulong(packet) + 1}) {
        reset();
        OK(LAPI_Amsend(self.h, self.right(), handler_at(handlers, self.right()), nullptr, 0, data.data(), bytes,
                       nullptr, nullptr, done.here()));
        done.wait(1);
        fence_all();
        EQUAL(last_packet.load(), bytes <= ulong(packet) ? bytes : 0);
    }
}

STEP(a_handler_may_be_a_number)
{
    counter done;
    OK(LAPI_Addr_set(self.h, reinterpret_cast<void *>(header), 7));
    reset();
    for (int t = 0; t < self.n; ++t)
        OK(LAPI_Amsend(self.h, uint(t), reinterpret_cast<void *>(std::uintptr_t(7)), nullptr, 0, nullptr, 0, nullptr,
                       nullptr, done.here()));
    done.wait(self.n);
    fence_all();
    EQUAL(headers.load(), self.n);
    OK(LAPI_Addr_set(self.h, nullptr, 7));
}

namespace {
std::atomic<int> inlined = 0, buried = 0, spilled = 0;
std::atomic<std::thread::id> header_thread;

void complete_at_once(lapi_handle_t *, void *)
{
    inlined += header_thread.load() == std::this_thread::get_id();
    ++completions;
}

void *inline_header(lapi_handle_t *, void *, uint *, ulong *len, compl_hndlr_t **comp, void **)
{
    reinterpret_cast<lapi_return_info_t *>(len)->ret_flags = LAPI_LOCAL_STATE;
    header_thread = std::this_thread::get_id();
    *comp = complete_at_once;
    return landed;
}

void *burying_header(lapi_handle_t *, void *, uint *, ulong *len, compl_hndlr_t **, void **)
{
    auto *info = reinterpret_cast<lapi_return_info_t *>(len);
    info->ctl_flags = LAPI_BURY_MSG;
    if (info->udata_one_pkt_ptr) spilled += static_cast<char *>(info->udata_one_pkt_ptr)[0];
    ++buried;
    return nullptr;
}
} // namespace

STEP(completion_may_run_inline)
{
    auto handlers = everywhere(reinterpret_cast<void *>(inline_header));
    counter done;
    inlined = 0;
    reset();
    char data[500] = {};
    for (int i = 0; i < 20; ++i) {
        OK(LAPI_Amsend(self.h, self.right(), handler_at(handlers, self.right()), nullptr, 0, data, sizeof data, nullptr,
                       nullptr, done.here()));
        done.wait(1);
    }
    fence_all();
    EQUAL(completions.load(), 20);
    EQUAL(inlined.load(), 20);
}

STEP(messages_may_be_buried)
{
    auto handlers = everywhere(reinterpret_cast<void *>(burying_header));
    counter done, arrived;
    std::vector<char> data(100000, 1);
    buried = spilled = 0;
    reset();
    for (ulong bytes : {0ul, 10ul, 100000ul})
        OK(LAPI_Amsend(self.h, self.right(), handler_at(handlers, self.right()), nullptr, 0, data.data(), bytes,
                       arrived.of(self.right()), nullptr, done.here()));
    done.wait(3);
    arrived.wait(3);
    fence_all();
    EQUAL(buried.load(), 3);
    EQUAL(spilled.load(), 1);
}

namespace {
struct relay {
    lapi_long_t handler, counter;
    int hops, pad;
};
std::atomic<int> relayed = 0;
std::vector<lapi_long_t> relay_handlers;
std::vector<lapi_long_t> relay_counters;

void *relay_header(lapi_handle_t *h, void *uhdr, uint *, ulong *, compl_hndlr_t **comp, void **info)
{
    auto *copy = new relay;
    std::memcpy(copy, uhdr, sizeof *copy);
    *info = copy;
    *comp = [](lapi_handle_t *handle, void *p) {
        std::unique_ptr<relay> r(static_cast<relay *>(p));
        ++relayed;
        if (--r->hops == 0) { // back at somebody: tell all of them
            char nothing = 0;
            for (int t = 0; t < self.n; ++t)
                OK(LAPI_Put(*handle, uint(t), 0, &nothing, &nothing,
                            reinterpret_cast<lapi_cntr_t *>(relay_counters[std::size_t(t)]), nullptr, nullptr));
            return;
        }
        lapi_cntr_t org = {};
        OK(LAPI_Amsend(*handle, self.right(), reinterpret_cast<void *>(relay_handlers[self.right()]), r.get(),
                       sizeof *r, nullptr, 0, nullptr, &org, nullptr));
        OK(LAPI_Waitcntr(*handle, &org, 1, nullptr)); // completion handlers may wait
    };
    (void)h;
    return nullptr;
}
} // namespace

STEP(handlers_send_and_wait)
{
    relay_handlers = everywhere(reinterpret_cast<void *>(relay_header));
    counter told;
    relay_counters.clear();
    for (int t = 0; t < self.n; ++t) relay_counters.push_back(lapi_long_t(told.of(uint(t))));
    relayed = 0;
    fence_all();
    relay r = {0, 0, 3 * self.n, 0};
    OK(LAPI_Amsend(self.h, self.right(), reinterpret_cast<void *>(relay_handlers[self.right()]), &r, sizeof r, nullptr,
                   0, nullptr, nullptr, nullptr));
    told.wait(self.n); // everybody's message has made its three rounds
    fence_all();
    EQUAL(relayed.load(), 3 * self.n);
}

namespace {
std::atomic<int> flood_headers = 0, flood_sum = 0, flood_done = 0;

void *flood_header(lapi_handle_t *, void *uhdr, uint *, ulong *, compl_hndlr_t **comp, void **)
{
    int value;
    std::memcpy(&value, uhdr, sizeof value);
    flood_sum += value;
    ++flood_headers;
    if (value % 2) *comp = [](lapi_handle_t *, void *) { ++flood_done; };
    return nullptr;
}
} // namespace

STEP(ten_thousand_messages_are_under_way_together)
{
    auto handlers = everywhere(reinterpret_cast<void *>(flood_header));
    counter done;
    flood_headers = flood_sum = flood_done = 0;
    fence_all();
    const int messages = 10000;
    for (int i = 0; i < messages; ++i) {
        int value = i % 10;
        uint to = uint(i % self.n);
        OK(LAPI_Amsend(self.h, to, handler_at(handlers, to), &value, sizeof value, nullptr, 0, nullptr, nullptr,
                       done.here()));
    }
    done.wait(messages);
    fence_all();
    int mine = 0, sum = 0;
    for (int i = 0; i < messages; ++i)
        if (i % self.n == self.me) ++mine, sum += i % 10;
    EQUAL(flood_headers.load(), mine * self.n);
    EQUAL(flood_sum.load(), sum * self.n);
}

STEP(messages_refuse_bad_arguments)
{
    void *handler = reinterpret_cast<void *>(header);
    int x[2] = {};
    const uint most = uint(max_uhdr());
    std::vector<char> big(most + 4);
    auto send = [&](uint tgt, void *h, void *uhdr, uint uhdr_len, void *data, ulong bytes) {
        return LAPI_Amsend(self.h, tgt, h, uhdr, uhdr_len, data, bytes, nullptr, nullptr, nullptr);
    };
    EQUAL(send(uint(self.n), handler, x, 4, x, 4), LAPI_ERR_TGT);
    EQUAL(send(0, nullptr, x, 4, x, 4), LAPI_ERR_HDR_HNDLR_NULL);
    EQUAL(send(0, handler, nullptr, 4, x, 4), LAPI_ERR_UHDR_NULL);
    EQUAL(send(0, handler, big.data(), most + 4, x, 4), LAPI_ERR_UHDR_LEN);
    EQUAL(send(0, handler, x, 5, x, 4), LAPI_ERR_HDR_LEN);
    EQUAL(send(0, handler, x, 4, nullptr, 4), LAPI_ERR_ORG_ADDR_NULL);
    EQUAL(send(0, handler, x, 4, x, LAPI_MAX_MSG_SZ + 1), LAPI_ERR_DATA_LEN);
}

namespace {
void *forgetful_header(lapi_handle_t *, void *, uint *, ulong *, compl_hndlr_t **, void **) { return nullptr; }
} // namespace

STEP(messages_that_nobody_can_take_are_errors)
{
    counter done;
    auto lost = everywhere(reinterpret_cast<void *>(forgetful_header));
    auto taken = everywhere(reinterpret_cast<void *>(header));
    static char data[300000];
    auto expect = [&](void *handler, ulong bytes, int code) {
        OK(LAPI_Amsend(self.h, self.right(), handler, nullptr, 0, data, bytes, nullptr, nullptr, done.here()));
        done.wait(1); // also after an error
        auto errors = errors_heard(1);
        EQUAL(errors.size(), 1u);
        if (errors.empty()) return;
        EQUAL(errors[0].code, code);
        EQUAL(errors[0].type, AM_ERR);
        EQUAL(errors[0].other, int(self.right()));
    };
    expect(reinterpret_cast<void *>(std::uintptr_t(99)), 0, LAPI_ERR_HDR_HNDLR_NULL); // no number
    expect(reinterpret_cast<void *>(std::uintptr_t(99)), 2000, LAPI_ERR_HDR_HNDLR_NULL);
    expect(reinterpret_cast<void *>(std::uintptr_t(0x2000)), 0, LAPI_ERR_HDR_HNDLR_NULL); // no function
    expect(static_cast<void *>(landed), 0, LAPI_ERR_HDR_HNDLR_NULL);
    auto *bad_counter = reinterpret_cast<lapi_cntr_t *>(std::uintptr_t(0x1000));
    reset();
    OK(LAPI_Amsend(self.h, self.right(), handler_at(taken, self.right()), nullptr, 0, nullptr, 0, bad_counter, nullptr,
                   done.here()));
    done.wait(1);
    auto bad = errors_heard(1); // of the left one's message, whose counter would be here
    EQUAL(bad.size(), 1u);
    if (!bad.empty()) {
        EQUAL(bad[0].code, LAPI_ERR_ONESEA_ADDRESS);
        EQUAL(bad[0].type, PUT_ERR);
        EQUAL(bad[0].other, self.me);
    }
    expect(handler_at(lost, self.right()), 4, LAPI_ERR_TGT_ADDR_NULL); // data, and no place for it
    expect(handler_at(lost, self.right()), 2000, LAPI_ERR_TGT_ADDR_NULL);
    expect(handler_at(lost, self.right()), sizeof data, LAPI_ERR_TGT_ADDR_NULL);
}
