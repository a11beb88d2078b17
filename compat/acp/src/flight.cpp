// SPDX-License-Identifier: Apache-2.0
#include "flight.hpp"

#include "errors.hpp"

#include <algorithm>
#include <vector>

namespace acp {
namespace {

constexpr std::size_t failures_kept = 1 << 16; // runs of failed accesses: 1 MiB
constexpr acp_handle_t look_each = 256;        // accesses: how often the front is looked at without being asked for

// What this thread holds: one, and more in handlers that run inside the call that does.
[[gnu::tls_model("initial-exec")]] thread_local constinit int held_here = 0;
// This thread waits for the front, or looks at it; a handler may run inside that.
[[gnu::tls_model("initial-exec")]] thread_local constinit bool taken_here = false;

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
    const acp_handle_t handle = append(op, open, false).last;
    look_at_times(lock, handle);
    return handle;
}

acp_handle_t flight::started(sea_op op, start_condition &after)
{
    if (op == SEA_OP_NONE) return done();
    guard lock(mutex_);
    if (after.held_) let_go(after);
    const acp_handle_t handle = append(op, false, false).last;
    look_at_times(lock, handle);
    return handle;
}

flight::access &flight::append(sea_op op, bool open, bool stand_in)
{
    const acp_handle_t handle = next();
    if (!queue_.empty()) queue_.back().open = false;
    queue_.push_back({{handle, handle}, op, open, stand_in, 0});
    size_.store(queue_.size(), std::memory_order_release);
    return queue_.back();
}

acp_handle_t flight::join(sea_addr to, const void *from, std::size_t bytes)
{
    if (size() == 0) return 0;
    guard lock(mutex_);
    if (queue_.empty() || !queue_.back().open) return 0;
    access &before = queue_.back();
    joining_.op = &before.op;
    if (sea_put(to, from, bytes, &joining_) != SEA_OK) {
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
    while (!queue_.empty() && !queue_.front().open && !front_in_use() && finish_front(lock, 0)) {
    }
}

// nullptr: it is over.
flight::access *flight::find(acp_handle_t order)
{
    auto place = std::lower_bound(queue_.begin(), queue_.end(), order,
                                  [](const access &a, acp_handle_t h) { return a.last < h; });
    return place != queue_.end() && place->first <= order ? &*place : nullptr;
}

// Of one that is over. Nobody knows it of one that came before a forgotten failure.
bool flight::has_failed(acp_handle_t order) const
{
    if (order <= forgotten_) return true;
    auto place = std::lower_bound(failed_.begin(), failed_.end(), order,
                                  [](const handles &a, acp_handle_t h) { return a.last < h; });
    return place != failed_.end() && place->first <= order;
}

bool flight::look_up(const char *function, acp_handle_t order, start_condition *after)
{
    if (means_all(order)) {
        if (size() > 0) after->op_ = SEA_OP_ALL;
        return true;
    }
    if (order < 0 || order > last_.load(std::memory_order_relaxed)) {
        report(function, "the start condition %lld is no handle that was given out", (long long)order);
        return false;
    }
    guard lock(mutex_);
    looked result = looked::again;
    while (result == looked::again) {
        access *under_way = find(order);
        if (under_way && under_way == &queue_.front() && front_taken_) {
            result = stand_in_for_front(lock, after);
        } else {
            if (under_way) hold(*under_way, after);
            result = under_way || !has_failed(order) ? looked::found : looked::failed;
        }
    }
    if (result == looked::found) return true;
    report(function,
           order > forgotten_ ? "the access %lld, which it was to start after, has failed"
                              : "the access %lld, which it was to start after, is older than the failures still known",
           (long long)order);
    return false;
}

// A thread waits for the front and may have used it up at any moment.
flight::looked flight::stand_in_for_front(guard &lock, start_condition *after)
{
    const sea_op front = queue_.front().op;
    lock.unlock();
    sea_op empty = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.op = &empty;
    opts.after = front;
    const bool well = sea_copy(SEA_NULL, SEA_NULL, 0, &opts) == SEA_OK;
    const bool in_time = sea_wait_local(front, 0) != SEA_ERR_HANDLE; // the front was still there, and so before
    if (!in_time) sea_wait(empty, SEA_FOREVER);                      // it has ended as its condition has
    lock.lock();
    if (!in_time) {
        while (!queue_.empty() && queue_.front().op == front && front_taken_) front_free_.wait(lock);
        return looked::again;
    }
    if (well && empty != SEA_OP_NONE) hold(append(empty, false, true), after);
    return well ? looked::found : looked::failed;
}

void flight::hold(access &what, start_condition *after)
{
    ++held_here;
    ++what.held;
    after->held_ = &what;
    after->op_ = what.op;
}

void flight::let_go(start_condition &after)
{
    --held_here;
    if (--after.held_->held == 0) front_free_.notify_all();
    after.held_ = nullptr;
}

void flight::release(start_condition &after)
{
    guard lock(mutex_);
    let_go(after);
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
    front_taken_ = taken_here = true;
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
    if (over && s != SEA_OK && !front.stand_in) tell(front.first, front.last);
    lock.lock();
    front_taken_ = taken_here = false;
    if (over) {
        queue_.pop_front();
        size_.store(queue_.size(), std::memory_order_release);
    }
    if (over && s != SEA_OK) note_failure(front);
    front_free_.notify_all();
    return over;
}

void flight::note_failure(const handles &failed)
{
    if (!failed_.empty() && failed_.back().last + 1 == failed.first) {
        failed_.back().last = failed.last;
        return;
    }
    failed_.push_back(failed);
    if (failed_.size() <= failures_kept) return;
    forgotten_ = failed_.front().last;
    failed_.pop_front();
}

// A handler that runs inside a call that starts an access, or waits for one: what that holds cannot be finished before.
// Nothing else is waited for: a message of this process may wait for a handler that waits so at its target.
void flight::wait_inside_a_call(guard &lock, acp_handle_t upto)
{
    std::vector<sea_op> under_way;
    for (const access &a : queue_)
        if (upto == acp_handle_t(ACP_HANDLE_ALL) || a.first <= upto) under_way.push_back(a.op);
    lock.unlock();
    for (const sea_op op : under_way) {
        sea_op empty = SEA_OP_NONE;
        sea_opts opts = SEA_OPTS_INIT;
        opts.op = &empty;
        opts.after = op;
        if (sea_copy(SEA_NULL, SEA_NULL, 0, &opts) == SEA_OK) sea_wait(empty, SEA_FOREVER);
    }
}

void flight::complete(acp_handle_t upto)
{
    if (size() == 0) return;
    guard lock(mutex_);
    while (covers(upto)) {
        if (taken_here || (queue_.front().held > 0 && held_here > 0)) return wait_inside_a_call(lock, upto);
        if (front_in_use())
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
        if (front_in_use() || !finish_front(lock, 0)) return true;
    return false;
}

} // namespace acp
