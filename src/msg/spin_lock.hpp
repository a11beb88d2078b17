// SPDX-License-Identifier: Apache-2.0
// A lock that is held for fractions of a microsecond: taking it is one instruction with a bus lock, leaving it none.
// Who finds it taken spins shortly, then lets others run, for its holder may have lost its core; then it sleeps, for if
// the holder has a lower real-time priority yielding is not enough.
#pragma once

#include <atomic>
#include <sched.h>
#include <time.h>

namespace onesea::msg {

class spin_lock {
  public:
    void lock()
    {
        if (taken_.exchange(true, std::memory_order_acquire)) lock_later();
    }
    void unlock() { taken_.store(false, std::memory_order_release); }
    // Somebody waits for it: asked by its holder.
    bool wanted() const { return waiting_.load(std::memory_order_relaxed) > 0; }

  private:
    std::atomic<bool> taken_{false};
    std::atomic<int> waiting_{0};

    [[gnu::noinline]] void lock_later()
    {
        waiting_.fetch_add(1, std::memory_order_relaxed);
        int times = 0;
        do wait(times++);
        while (taken_.exchange(true, std::memory_order_acquire));
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }

    void wait(int times)
    {
        for (int i = 0; i < 100; ++i) {
            if (!taken_.load(std::memory_order_relaxed)) return;
            __builtin_ia32_pause();
        }
        constexpr int yields = 16;
        constexpr timespec pause{0, 50'000};
        if (times < yields)
            sched_yield();
        else
            nanosleep(&pause, nullptr);
    }
};

} // namespace onesea::msg
