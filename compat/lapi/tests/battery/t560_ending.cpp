// SPDX-License-Identifier: Apache-2.0
// LAPI_Term() while messages wait for their handlers, and from the error handler.
#include "battery.hpp"

#include <chrono>
#include <thread>

using namespace battery;

namespace {

using std::chrono::steady_clock;

std::atomic<int> headers_called = 0;

void *count_call(lapi_handle_t *, void *, uint *, ulong *, compl_hndlr_t **, void **)
{
    ++headers_called;
    return nullptr;
}

// Waits without Waitcntr, which would wait for ever if the counter never came.
void reaches(lapi_handle_t h, lapi_cntr_t *c, int value)
{
    int now = -1;
    const auto limit = steady_clock::now() + std::chrono::seconds(20);
    do {
        OK(LAPI_Getcntr(h, c, &now));
    } while (now < value && steady_clock::now() < limit);
    EQUAL(now, value);
}

lapi_handle_t another_context(LAPI_err_hndlr *err_hndlr, bool polling)
{
    lapi_info_t info = {};
    info.err_hndlr = err_hndlr;
    if (polling) info.protocol = LAPI_INTERRUPT_OFF;
    lapi_handle_t h = 0;
    OK(LAPI_Init(&h, &info));
    return h;
}

// Three messages that nobody handles, and a fence that waits for them.
void send_in_vain(lapi_handle_t h, counter &sent)
{
    static char data[40000];
    static lapi_cntr_t done;
    OK(LAPI_Senv(h, TIMEOUT, 30));
    for (ulong bytes : {0ul, 100ul, ulong(sizeof data)})
        OK(LAPI_Amsend(h, 1, reinterpret_cast<void *>(5), nullptr, 0, data, bytes, nullptr, nullptr, &done));
    std::thread fence([&] { OK(LAPI_Fence(h)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // they have arrived, most likely
    OK(LAPI_Put(self.h, 1, 0, nullptr, nullptr, sent.of(1), nullptr, nullptr));
    reaches(h, &done, 3);
    fence.join();
    auto errors = errors_heard(3);
    EQUAL(errors.size(), 3u);
    for (const heard &e : errors) {
        EQUAL(e.code, LAPI_ERR_HNDL_INVALID);
        EQUAL(e.type, AM_ERR);
        EQUAL(e.other, 1);
    }
}

std::atomic<int> ended = -1;

void end_in_handler(lapi_handle_t *h, int *, lapi_err_t *, int *, int *) { ended = LAPI_Term(*h); }

void end_unnoticed(lapi_handle_t *, void *, lapi_sh_info_t *) {}

} // namespace

STEP(messages_that_wait_when_the_context_ends_are_answered)
{
    counter sent;
    headers_called = 0;
    lapi_handle_t h = another_context(hear, true);
    OK(LAPI_Addr_set(h, reinterpret_cast<void *>(count_call), 5));
    fence_all();
    if (self.me == 1) sent.wait(1); // of the other context: this one is not made to go on
    if (self.me == 0 && self.n > 1) {
        send_in_vain(h, sent);
        OK(LAPI_Term(h));
    } else {
        OK(LAPI_Term(h));
        EQUAL(headers_called.load(), 0);
    }
    fence_all();
}

namespace {

// What fails at the target, and is told by a thread of the library: false if the call knew it, as it may inside a node.
bool put_in_vain(lapi_handle_t h)
{
    static char data[100000];
    lapi_xfer_t x = {};
    x.Put.Xfer_type = LAPI_PUT_XFER;
    x.Put.tgt = self.right();
    x.Put.tgt_addr = 4096; // nobody's memory
    x.Put.org_addr = data;
    x.Put.len = sizeof data;
    x.Put.shdlr = end_unnoticed; // so its end is waited for
    return LAPI_Xfer(h, &x) == LAPI_SUCCESS;
}

bool message_in_vain(lapi_handle_t h)
{
    static lapi_cntr_t done;
    OK(LAPI_Amsend(h, self.right(), reinterpret_cast<void *>(77), nullptr, 0, nullptr, 0, nullptr, nullptr, &done));
    return true;
}

} // namespace

STEP(the_error_handler_may_end_its_context)
{
    for (auto fail : {put_in_vain, message_in_vain}) {
        ended = -1;
        lapi_handle_t h = another_context(end_in_handler, false);
        fence_all();
        if (self.n == 1 || !fail(h)) {
            OK(LAPI_Term(h));
        } else {
            const auto limit = steady_clock::now() + std::chrono::seconds(20);
            while (ended == -1 && steady_clock::now() < limit) OK(LAPI_Probe(self.h));
            EQUAL(ended.load(), LAPI_SUCCESS);
            EQUAL(LAPI_Term(h), LAPI_ERR_HNDL_INVALID);
        }
        fence_all();
    }
}

STEP(who_waits_for_a_counter_of_a_context_that_ends_is_told)
{
    lapi_handle_t h = another_context(hear, false);
    fence_all();
    lapi_cntr_t never[3] = {};
    using wait = std::function<int(lapi_cntr_t *)>;
    const wait waits[] = {[h](lapi_cntr_t *c) { return LAPI_Waitcntr(h, c, 1, nullptr); },
                          [h](lapi_cntr_t *c) { return LAPI_Nopoll_wait(h, c, 1, nullptr); },
                          [h](lapi_cntr_t *c) { return LAPI_Onesea_waitcntr(h, c, 1, 100); }};
    std::vector<std::thread> threads(3);
    for (std::size_t i = 0; i < threads.size(); ++i)
        threads[i] = std::thread([&, i] { EQUAL(waits[i](&never[i]), LAPI_ERR_HNDL_INVALID); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // they wait
    const auto begin = steady_clock::now();
    OK(LAPI_Term(h));
    for (std::thread &t : threads) t.join();
    CHECK(steady_clock::now() - begin < std::chrono::seconds(20));
    fence_all();
}
