// SPDX-License-Identifier: Apache-2.0
// Held for some instructions, or for memory to be made: a mutex would cost more than all else of a request.
#pragma once

#include <atomic>
#include <sched.h>
#include <time.h>

namespace mmp {

class short_lock {
  public:
    void lock()
    {
        for (int i = 0; taken_.exchange(true, std::memory_order_acquire); ++i) give_way(i);
    }
    void unlock() { taken_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> taken_ = false;

    // The holder may have lost its processor to who waits here. If it has a lower real-time priority yielding is not
    // enough.
    [[gnu::noinline]] static void give_way(int times)
    {
        constexpr int yields = 16;
        constexpr timespec pause{0, 50'000};
        if (times < yields)
            sched_yield();
        else
            nanosleep(&pause, nullptr);
    }
};

} // namespace mmp
