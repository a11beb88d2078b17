// SPDX-License-Identifier: Apache-2.0
// A lock for a few instructions, taken for every small copy and never held while its owner waits.
//
// As long as one thread uses it, it costs no atomic operation: the first thread owns it and only says when it is
// inside. A second thread ends that for good: it announces itself, lets all threads of the process pass a barrier
// (membarrier(2)), and from then on all take the lock by an exchange. The barrier lies between the owner's word that it
// is inside and its look for others, or before both: so either the owner has seen the others, or they see it inside.
#pragma once

#include <atomic>

namespace acp {

// Its address tells threads apart, without a call.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit char this_thread = 0;

class short_lock {
  public:
    void lock()
    {
        if (owner_.load(std::memory_order_relaxed) == &this_thread && !shared_.load(std::memory_order_relaxed)) {
            inside_.store(true, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst); // the compiler keeps the order; see above
            if (!shared_.load(std::memory_order_acquire)) return;
            inside_.store(false, std::memory_order_release);
        }
        lock_slowly();
    }
    void unlock()
    {
        if (owner_.load(std::memory_order_relaxed) == &this_thread && inside_.load(std::memory_order_relaxed))
            inside_.store(false, std::memory_order_release);
        else
            held_.store(false, std::memory_order_release);
    }

  private:
    std::atomic<const char *> owner_{nullptr};
    std::atomic<bool> inside_{false};  // the owner, without held_
    std::atomic<bool> shared_{false};  // the owner must use held_, too ..
    std::atomic<bool> settled_{false}; // .. and knows it
    std::atomic<bool> held_{false};

    bool become_owner();
    void lock_slowly();
};

} // namespace acp
