// SPDX-License-Identifier: Apache-2.0
#include "flight.hpp"

#include "errors.hpp"

#include <algorithm>

namespace acp {
namespace {

constexpr std::size_t failures_kept = 256;
constexpr acp_handle_t look_each = 256; // accesses: how often the front is looked at without being asked for

bool means_all(acp_handle_t h) { return h == acp_handle_t(ACP_HANDLE_ALL) || h == acp_handle_t(ACP_HANDLE_CONT); }

void tell(acp_handle_t first, acp_handle_t last)
{
    if (first == last)
        report("global memory access", "%lld: %s", (long long)first, sea_last_error());
    else
        report("global memory access", "one of the copies %lld to %lld: %s", (long long)first, (long long)last,
               sea_last_error());
}

} // namespace

flight &in_flight()
{
    static auto &all = *new flight; // never destroyed: programs may finalize at their exit
    return all;
}

acp_handle_t flight::started(sea_op op, bool open)
{
    if (op == SEA_OP_NONE) return done();
    guard lock(mutex_);
    const acp_handle_t handle = next();
    if (!queue_.empty()) queue_.back().open = false;
    queue_.push_back({{handle, handle}, op, open});
    size_.store(queue_.size(), std::memory_order_release);
    look_at_times(lock, handle);
    return handle;
}

acp_handle_t flight::join(sea_addr to, const void *from, std::size_t bytes)
{
    if (size() == 0) return 0;
    guard lock(mutex_);
    if (queue_.empty() || !queue_.back().open) return 0;
    access &before = queue_.back();
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_JOIN;
    opts.op = &before.op;
    if (sea_put(to, from, bytes, &opts) != SEA_OK) {
        before.open = false;
        return 0;
    }
    const acp_handle_t handle = before.last = next();
    look_at_times(lock, handle);
    return handle;
}

void flight::look_at_times(guard &lock, acp_handle_t newest)
{
    if (newest % look_each != 0) return;
    while (!queue_.empty() && !queue_.front().open && !front_taken_ && finish_front(lock, 0)) {
    }
}

bool flight::look_up(const char *function, acp_handle_t order, sea_op *after)
{
    if (means_all(order)) {
        if (size() > 0) *after = SEA_OP_ALL;
        return true;
    }
    if (order < 0 || order > last_.load(std::memory_order_relaxed)) {
        report(function, "the start condition %lld is no handle that was given out", (long long)order);
        return false;
    }
    guard lock(mutex_);
    const auto covers_it = [order](const handles &h) { return h.first <= order && order <= h.last; };
    if (std::any_of(failed_.begin(), failed_.end(), covers_it)) {
        report(function, "the access %lld, which it was to start after, has failed", (long long)order);
        return false;
    }
    auto place = std::lower_bound(queue_.begin(), queue_.end(), order,
                                  [](const access &a, acp_handle_t h) { return a.last < h; });
    if (place != queue_.end() && place->first <= order) *after = place->op;
    return true;
}

bool flight::covers(acp_handle_t upto) const
{
    return !queue_.empty() && (upto == acp_handle_t(ACP_HANDLE_ALL) || queue_.front().first <= upto);
}

// Waits for the front without the lock. False: it is not complete yet.
bool flight::finish_front(guard &lock, double seconds)
{
    queue_.front().open = false;
    const access front = queue_.front();
    front_taken_ = true;
    lock.unlock();
    int s = SEA_ERR_TIMEOUT;
    if (seconds == 0) {
        int done = 0;
        const int status = sea_test(front.op, &done);
        if (done || status != SEA_OK) s = status;
    } else {
        s = sea_wait(front.op, seconds);
    }
    const bool over = s != SEA_ERR_TIMEOUT;
    if (over && s != SEA_OK) tell(front.first, front.last);
    lock.lock();
    front_taken_ = false;
    if (over) {
        queue_.pop_front();
        size_.store(queue_.size(), std::memory_order_release);
    }
    if (over && s != SEA_OK) {
        failed_.push_back(front);
        if (failed_.size() > failures_kept) failed_.pop_front();
    }
    front_free_.notify_all();
    return over;
}

void flight::complete(acp_handle_t upto)
{
    if (size() == 0) return;
    guard lock(mutex_);
    while (covers(upto)) {
        if (front_taken_)
            front_free_.wait(lock);
        else
            finish_front(lock, SEA_FOREVER);
    }
}

bool flight::pending(acp_handle_t upto)
{
    if (size() == 0) return false;
    guard lock(mutex_);
    while (covers(upto))
        if (front_taken_ || !finish_front(lock, 0)) return true;
    return false;
}

} // namespace acp
