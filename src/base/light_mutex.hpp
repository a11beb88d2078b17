// SPDX-License-Identifier: Apache-2.0
// A mutex whose release costs no atomic operation: the engine lock, which every small put takes and releases, and those
// of collectives, of which a short call takes six.
//
// Whoever releases it stores 0 and then looks for sleepers. The processor may do the look before the store, and a
// thread that goes to sleep in between would not be seen; so the sleeper, who has the time, lets all threads of the
// process pass a barrier (membarrier(2)) between announcing itself and its last look at the lock: whose store comes
// later finds the announcement. Where the kernel has no such barrier the release is an exchange.
//
// Whoever comes while a sleeper is waking up has it first. So that a thread that lets it go only for a moment, again
// and again, keeps nobody out, it waits behind its release for a sleeper who has been late for too long.
#pragma once

#include <atomic>
#include <cstdint>

namespace onesea {

class light_mutex {
  public:
    struct prepared_t {};
    static constexpr prepared_t prepared{};

    light_mutex() = default;
    explicit light_mutex(prepared_t) { prepare(); }
    light_mutex(const light_mutex &) = delete;
    light_mutex &operator=(const light_mutex &) = delete;

    // Asks the kernel for the barrier; before other threads use the lock. Without it releasing is dearer.
    void prepare();

    bool try_lock()
    {
        return held_.load(std::memory_order_relaxed) == 0 && held_.exchange(1, std::memory_order_acquire) == 0;
    }
    void lock()
    {
        if (!try_lock()) lock_slowly();
    }
    void unlock()
    {
        if (by_store_)
            held_.store(0, std::memory_order_release);
        else
            held_.exchange(0); // sequentially consistent: before the look
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (sleepers_.load(std::memory_order_relaxed)) wake_one();
    }

  private:
    static constexpr int spins = 64;
    std::atomic<std::uint32_t> held_{0}, sleepers_{0};
    std::atomic<std::uint32_t> starved_{0}; // of the sleepers: have been late for too long
    bool by_store_ = false;

    void lock_slowly();
    void wake_one();
    void let_another_in();
};

} // namespace onesea
