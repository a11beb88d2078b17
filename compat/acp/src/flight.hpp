// SPDX-License-Identifier: Apache-2.0
// The global memory accesses of this process that are under way, in the order of their handles.
//
// An access that is complete when its call returns takes a number and nothing else. The others stand in a queue with
// their operation of onesea.h, until they and all before them are complete; that is also how ACP reports: in order. One
// thread at a time waits for, or looks at, the front; others wait for it. Start conditions are looked up here and left
// to onesea.h, which starts each operation as soon as its own condition holds.
//
// onesea.h takes a handle that is used up for one that went well. So nobody uses up an operation while a call starts
// another after it: a start_condition holds it. If a thread waits for it already, which may use it up at any moment, an
// empty operation is started after it and stands in for it, unless it came too late; then the thread soon says what the
// end was.
//
// Small copies to one process of another node that follow each other share an operation (SEA_JOIN) and a place in the
// queue, which is complete as a whole. The last one is open to further copies until it is full, another access comes,
// or somebody asks for its end, so that nobody waits for copies made later. Joining never waits, and so is done under
// the mutex.
#pragma once

#include "acp.h"
#include "short_lock.hpp"

#include <onesea.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace acp {

class start_condition;

class flight {
    using guard = std::unique_lock<short_lock>;
    friend start_condition;

  public:
    // The handle of an access that is complete, and of one that is under way.
    acp_handle_t done()
    {
        guard lock(mutex_);
        return next();
    }
    acp_handle_t started(sea_op op, bool open = false);
    acp_handle_t started(sea_op op, start_condition &after);
    // The handle of a copy that has joined those before it; 0: it cannot.
    acp_handle_t join(sea_addr to, const void *from, std::size_t bytes);

    void complete(acp_handle_t upto);
    bool pending(acp_handle_t upto);
    std::size_t size() const { return size_.load(std::memory_order_acquire); }

  private:
    struct handles {
        acp_handle_t first, last;
    };
    struct access : handles {
        sea_op op;
        bool open;     // only the last one
        bool stand_in; // whose failure is that of another
        int held;      // calls that are starting another one after it
    };
    enum class looked { found, again, failed };
    std::atomic<acp_handle_t> last_{0}; // written under the lock
    std::atomic<std::size_t> size_{0};
    short_lock mutex_;
    std::condition_variable_any front_free_;
    bool front_taken_ = false;             // a thread waits for the front, without the lock
    std::deque<access> queue_;             // its elements do not move
    sea_opts joining_ = options_to_join(); // one for all: what was just stored is read more slowly
    std::deque<handles> failed_;           // for start conditions; in order
    acp_handle_t forgotten_ = 0;           // up to here there are failures that are not in it any more

    static sea_opts options_to_join()
    {
        sea_opts opts = SEA_OPTS_INIT;
        opts.flags = SEA_JOIN;
        return opts;
    }
    acp_handle_t next()
    {
        const acp_handle_t handle = last_.load(std::memory_order_relaxed) + 1;
        last_.store(handle, std::memory_order_relaxed);
        return handle;
    }
    access &append(sea_op op, bool open, bool stand_in);
    access *find(acp_handle_t order);
    bool look_up(const char *function, acp_handle_t order, start_condition *after);
    bool has_failed(acp_handle_t order) const;
    looked stand_in_for_front(guard &lock, start_condition *after);
    void hold(access &what, start_condition *after);
    void let_go(start_condition &after);
    void release(start_condition &after);
    bool covers(acp_handle_t upto) const;
    bool front_in_use() const { return front_taken_ || queue_.front().held > 0; }
    bool finish_front(guard &lock, double seconds);
    void wait_inside_a_call(guard &lock, acp_handle_t upto);
    void note_failure(const handles &failed);
    void look_at_times(guard &lock, acp_handle_t newest);
};

flight &in_flight();

// The operation that a call is to start another one after. It is not used up before that has been started or given up.
class start_condition {
  public:
    start_condition() = default;
    start_condition(const start_condition &) = delete;
    start_condition &operator=(const start_condition &) = delete;
    ~start_condition()
    {
        if (held_) in_flight().release(*this);
    }
    // False: the access has failed, or was never made; it is told.
    bool take(const char *function, acp_handle_t order)
    {
        return order == acp_handle_t(ACP_HANDLE_NULL) || in_flight().look_up(function, order, this);
    }
    sea_op op() const { return op_; }

  private:
    friend flight;
    sea_op op_ = SEA_OP_NONE;
    flight::access *held_ = nullptr;
};

} // namespace acp
