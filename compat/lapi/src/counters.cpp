// SPDX-License-Identifier: Apache-2.0
// Counters. A lapi_cntr_t is a counter of onesea: 64 bits that operations add to. LAPI's values are ints and may be set
// below 0, so comparisons are signed here.
#include "context.hpp"
#include "fence.hpp"
#include "local.hpp"
#include "message.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

using namespace lapi;

namespace {

std::int64_t load(lapi_cntr_t *c) { return std::int64_t(__atomic_load_n(&as_sea(c)->value, __ATOMIC_SEQ_CST)); }

// Subtracts `val` if the counter has reached it; *now: what is left.
bool take(lapi_cntr_t *c, int val, int *now)
{
    std::uint64_t before = std::uint64_t(load(c));
    while (std::int64_t(before) >= val) {
        std::uint64_t after = before - std::uint64_t(val);
        if (__atomic_compare_exchange_n(&as_sea(c)->value, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            if (now) *now = int(after);
            return true;
        }
    }
    return false;
}

// Sleeps until the counter may have reached `val`, at most so long; false: the time is over.
bool sleep_until(lapi_cntr_t *c, int val, double seconds)
{
    if (load(c) >= 0) return sea_counter_wait(as_sea(c), std::uint64_t(val), seconds) != SEA_ERR_TIMEOUT;
    sea_poll(); // onesea takes what is below 0 for a large number
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return true;
}

int check(lapi_handle_t hndl, lapi_cntr_t *cntr, context **c)
{
    *c = find(hndl);
    if (!*c) return LAPI_ERR_HNDL_INVALID;
    return cntr ? LAPI_SUCCESS : LAPI_ERR_CNTR_NULL;
}

// How long a wait may be without a look whether another thread has ended the context: nothing of it comes any more
// then.
constexpr double look_every = 0.5; // seconds

int wait_for(context &c, lapi_cntr_t *cntr, int val, int *now)
{
    in_progress here(c.handlers);
    c.waiting.drain(c.handlers);
    sleeping too;
    double until = sea_time() + c.timeout;
    while (!take(cntr, val, now)) {
        if (!c.open) return LAPI_ERR_HNDL_INVALID;
        look_after_answers(c);
        const double left = std::max(until - sea_time(), 0.0);
        if (sleep_until(cntr, val, std::min(left, look_every)) || left > 0) continue;
        report_silent_tasks(c, [&] { return load(cntr) >= val || !c.open; });
        until = sea_time() + c.timeout;
    }
    return LAPI_SUCCESS;
}

int wait_at_most(context &c, lapi_cntr_t *cntr, int val, double seconds)
{
    in_progress here(c.handlers);
    c.waiting.drain(c.handlers);
    sleeping too;
    const double until = sea_time() + seconds;
    while (!take(cntr, val, nullptr)) {
        const double left = until - sea_time();
        if (!c.open) return LAPI_ERR_HNDL_INVALID;
        if (left <= 0) return LAPI_ERR_TIMEOUT;
        look_after_answers(c);
        sleep_until(cntr, val, std::min(left, look_every));
    }
    return LAPI_SUCCESS;
}

int wait_without_polling(context &c, lapi_cntr_t *cntr, int val, int *now)
{
    if (!c.counters.begin_wait(cntr)) return LAPI_ERR_MULTIPLE_WAITERS;
    runs_no_handlers = true;
    sleeping here;
    const bool listed = c.counters.has_destinations(cntr);
    bool purged = false;
    int code = LAPI_SUCCESS;
    while (!take(cntr, val, now)) {
        if (listed && c.counters.all_told(cntr, &purged)) { // so no more will be added
            if (take(cntr, val, now)) break;
            if (now) *now = int(load(cntr));
            if (purged) code = LAPI_ERR_TGT_PURGED;
            break;
        }
        if (!c.open) {
            code = LAPI_ERR_HNDL_INVALID;
            break;
        }
        look_after_answers(c);
        sleep_until(cntr, val, listed ? 0.005 : look_every);
    }
    runs_no_handlers = false;
    c.counters.forget_if_told(cntr);
    c.counters.end_wait(cntr);
    return code;
}

void poll_once(context &c)
{
    in_progress here(c.handlers);
    c.waiting.drain(c.handlers);
    look_after_answers(c);
    sea_poll();
}

} // namespace

extern "C" int PLAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val)
{
    context *c;
    if (int code = check(hndl, cntr, &c)) return code;
    c->counters.forget(cntr);
    __atomic_store_n(&as_sea(cntr)->value, std::uint64_t(std::int64_t(val)), __ATOMIC_SEQ_CST);
    wake_sleepers();
    return LAPI_SUCCESS;
}

extern "C" int PLAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int *val)
{
    context *c;
    if (int code = check(hndl, cntr, &c)) return code;
    if (!val) return LAPI_ERR_RET_PTR_NULL;
    poll_once(*c);
    *val = int(load(cntr));
    return LAPI_SUCCESS;
}

extern "C" int PLAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val)
{
    context *c;
    if (int code = check(hndl, cntr, &c)) return code;
    if (val < 0) return LAPI_ERR_CNTR_VAL;
    if (!take(cntr, val, cur_cntr_val))
        if (int code = guarded([&] { return wait_for(*c, cntr, val, cur_cntr_val); })) return code;
    c->counters.forget_if_told(cntr);
    return LAPI_SUCCESS;
}

extern "C" int LAPI_Onesea_waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, double seconds)
{
    context *c;
    if (int code = check(hndl, cntr, &c)) return code;
    if (val < 0 || !(seconds >= 0)) return LAPI_ERR_CNTR_VAL;
    if (int code = guarded([&] { return wait_at_most(*c, cntr, val, seconds); })) return code;
    c->counters.forget_if_told(cntr);
    return LAPI_SUCCESS;
}

extern "C" int PLAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t *cntr, int num_dest, uint *dest_list,
                                     int *dest_status)
{
    context *c;
    if (int code = check(hndl, cntr, &c)) return code;
    if (num_dest < 0) return LAPI_ERR_SET_VAL;
    if (num_dest > 0 && (!dest_list || !dest_status)) return LAPI_ERR_RET_PTR_NULL;
    return guarded([&] {
        const auto gone = [c](uint t) { return c->tasks[t].purged.load() || sea_alive(int(t)) != 1; };
        c->counters.set_destinations(cntr, {dest_list, dest_list + num_dest}, dest_status, c->n, gone);
        __atomic_store_n(&as_sea(cntr)->value, 0, __ATOMIC_SEQ_CST);
        return LAPI_SUCCESS;
    });
}

extern "C" int PLAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val)
{
    context *c;
    if (int code = check(hndl, cntr, &c)) return code;
    if (val <= 0) return LAPI_ERR_CNTR_VAL;
    return guarded([&] { return wait_without_polling(*c, cntr, val, cur_cntr_val); });
}

extern "C" int PLAPI_Purge_totask(lapi_handle_t hndl, uint dest)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (!c->valid(dest)) return LAPI_ERR_TGT;
    return guarded([&] {
        c->tasks[dest].purged = true;
        c->counters.purged(dest);
        c->asked.fail_all_of(dest, LAPI_ERR_TGT_PURGED);
        return LAPI_SUCCESS;
    });
}

extern "C" int PLAPI_Resume_totask(lapi_handle_t hndl, uint dest)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (!c->valid(dest)) return LAPI_ERR_TGT;
    c->tasks[dest].purged = false;
    return LAPI_SUCCESS;
}

extern "C" int PLAPI_Probe(lapi_handle_t hndl)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    return guarded([&] {
        poll_once(*c);
        return LAPI_SUCCESS;
    });
}

extern "C" int PLAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t *info)
{
    context *c = find(hndl);
    if (!c) return LAPI_ERR_HNDL_INVALID;
    if (!info) return LAPI_ERR_MSG_INFO_NULL;
    return guarded([&] {
        const unsigned received = c->received.load();
        *info = {};
        for (uint i = 0; i < cnt && info->status == LAPI_COMPLETE; ++i) {
            poll_once(*c);
            if (c->received.load() != received) info->status |= LAPI_RECV_COMPLETE;
            if (c->unconfirmed.load(std::memory_order_relaxed) && all_sent_has_arrived(*c))
                info->status |= LAPI_SEND_COMPLETE;
        }
        if (info->status == LAPI_COMPLETE) info->status = LAPI_DISP_CNTR;
        return LAPI_SUCCESS;
    });
}

LAPI_TWIN(Setcntr);
LAPI_TWIN(Getcntr);
LAPI_TWIN(Waitcntr);
LAPI_TWIN(Setcntr_wstatus);
LAPI_TWIN(Nopoll_wait);
LAPI_TWIN(Purge_totask);
LAPI_TWIN(Resume_totask);
LAPI_TWIN(Probe);
LAPI_TWIN(Msgpoll);
