// SPDX-License-Identifier: Apache-2.0
// Error handlers that wait: for what the library itself has to end, and for whoever waits for them.
#include "battery.hpp"

#include <chrono>
#include <thread>
#include <unistd.h>

using namespace battery;

namespace {

using std::chrono::steady_clock;

char data[100000], good[sizeof data];
lapi_long_t good_there;

lapi_handle_t another_context(LAPI_err_hndlr *err_hndlr)
{
    lapi_info_t info = {};
    info.err_hndlr = err_hndlr;
    lapi_handle_t h = 0;
    OK(LAPI_Init(&h, &info));
    return h;
}

void nothing(lapi_handle_t *, void *, lapi_sh_info_t *) {}

// A put whose end a thread of the library waits for.
int put_followed(lapi_handle_t h, lapi_long_t to, ulong bytes, lapi_cntr_t *cmpl)
{
    lapi_xfer_t x = {};
    x.Put.Xfer_type = LAPI_PUT_XFER;
    x.Put.tgt = self.right();
    x.Put.tgt_addr = to;
    x.Put.org_addr = data;
    x.Put.len = bytes;
    x.Put.shdlr = nothing;
    x.Put.cmpl_cntr = cmpl;
    return LAPI_Xfer(h, &x);
}

constexpr lapi_long_t nobodys = 4096;

std::atomic<int> waited = -1;

void put_and_wait(lapi_handle_t *h, int *, lapi_err_t *, int *, int *)
{
    lapi_cntr_t done = {};
    OK(put_followed(*h, good_there, sizeof good, &done));
    waited = LAPI_Onesea_waitcntr(*h, &done, 1, 10);
}

} // namespace

STEP(an_error_handler_may_wait_for_any_operation)
{
    good_there = everywhere(good)[self.right()];
    waited = -1;
    lapi_handle_t h = another_context(put_and_wait);
    fence_all();
    if (put_followed(h, nobodys, sizeof data, nullptr) == LAPI_SUCCESS) { // else the call itself has found it
        const auto limit = steady_clock::now() + std::chrono::seconds(20);
        while (waited == -1 && steady_clock::now() < limit) OK(LAPI_Probe(h));
        EQUAL(waited.load(), LAPI_SUCCESS);
    }
    fence_all();
    OK(LAPI_Term(h));
}

namespace {

// False: the call itself has found the error.
bool put_in_vain()
{
    return LAPI_Put(self.h, self.right(), sizeof data, reinterpret_cast<void *>(nobodys), data, nullptr, nullptr,
                    nullptr) == LAPI_SUCCESS;
}

} // namespace

STEP(a_fence_waits_for_the_error_handler_no_longer_than_the_time_limit)
{
    std::mutex mine;
    fence_all();
    OK(LAPI_Senv(self.h, TIMEOUT, 1));
    when_heard([&] { std::lock_guard lock(mine); });
    {
        std::lock_guard lock(mine);
        if (put_in_vain()) {
            EQUAL(LAPI_Fence(self.h), LAPI_ERR_TIMEOUT);
            EQUAL(LAPI_Fence(self.h), LAPI_ERR_TIMEOUT); // nor has it heard now
        }
    }
    OK(LAPI_Senv(self.h, TIMEOUT, 900));
    OK(LAPI_Fence(self.h));
    when_heard(nullptr);
    errors_heard();
    fence_all();
}

namespace {

std::atomic<bool> failed_put = false;
std::atomic<int> fenced = -1;
lapi_handle_t fencing;

void fence_here(lapi_handle_t *, void *)
{
    failed_put = put_in_vain();
    fenced = LAPI_Fence(fencing);
}

void *fencing_header(lapi_handle_t *, void *, uint *, ulong *, compl_hndlr_t **comp, void **)
{
    *comp = fence_here;
    return nullptr;
}

// The fence of a completion handler of a context that the error handler ends.
void end_under_a_fence(bool of_the_first)
{
    fenced = -1;
    lapi_handle_t h = another_context(hear);
    fencing = of_the_first ? self.h : h;
    OK(LAPI_Addr_set(h, reinterpret_cast<void *>(fencing_header), 5));
    when_heard([h] {
        usleep(100000); // the fence waits for this
        LAPI_Term(h);
    });
    fence_all();
    OK(LAPI_Amsend(h, uint(self.me), reinterpret_cast<void *>(5), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr));
    const auto limit = steady_clock::now() + std::chrono::seconds(20);
    while (fenced == -1 && steady_clock::now() < limit) usleep(1000);
    CHECK(fenced != -1);
    OK(LAPI_Fence(self.h)); // the error handler has returned
    when_heard(nullptr);
    if (!failed_put) OK(LAPI_Term(h));
    errors_heard();
    fence_all();
}

} // namespace

STEP(an_error_handler_may_end_a_context_whose_completion_handler_waits_in_a_fence)
{
    end_under_a_fence(false);
    end_under_a_fence(true);
}
