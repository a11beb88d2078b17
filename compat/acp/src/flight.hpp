// SPDX-License-Identifier: Apache-2.0
// The global memory accesses of this process that are under way, in the order of their handles.
//
// An access that is complete when its call returns takes a number and nothing else. The others stand in a queue with
// their operation of onesea.h, until they and all before them are complete; that is also how ACP reports: in order. One
// thread at a time waits for, or looks at, the front; others wait for it. Start conditions are looked up here and left
// to onesea.h, which starts each operation as soon as its own condition holds.
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

class flight {
    using guard = std::unique_lock<short_lock>;

  public:
    // The handle of an access that is complete, and of one that is under way.
    acp_handle_t done()
    {
        guard lock(mutex_);
        return next();
    }
    acp_handle_t started(sea_op op, bool open = false);
    // The handle of a copy that has joined those before it; 0: it cannot.
    acp_handle_t join(sea_addr to, const void *from, std::size_t bytes);

    // The operation to start after. False: that access has failed, or was never made; it is told.
    bool condition(const char *function, acp_handle_t order, sea_op *after)
    {
        *after = SEA_OP_NONE;
        return order == acp_handle_t(ACP_HANDLE_NULL) || look_up(function, order, after);
    }

    void complete(acp_handle_t upto);
    bool pending(acp_handle_t upto);
    std::size_t size() const { return size_.load(std::memory_order_acquire); }

  private:
    struct handles {
        acp_handle_t first, last;
    };
    struct access : handles {
        sea_op op;
        bool open; // only the last one
    };
    std::atomic<acp_handle_t> last_{0}; // written under the lock
    std::atomic<std::size_t> size_{0};
    short_lock mutex_;
    std::condition_variable_any front_free_;
    bool front_taken_ = false; // a thread waits for the front, without the lock
    std::deque<access> queue_;
    std::deque<handles> failed_; // the last ones, for start conditions

    acp_handle_t next()
    {
        const acp_handle_t handle = last_.load(std::memory_order_relaxed) + 1;
        last_.store(handle, std::memory_order_relaxed);
        return handle;
    }
    bool look_up(const char *function, acp_handle_t order, sea_op *after);
    bool covers(acp_handle_t upto) const;
    bool finish_front(guard &lock, double seconds);
    void look_at_times(guard &lock, acp_handle_t newest);
};

flight &in_flight();

} // namespace acp
