// SPDX-License-Identifier: Apache-2.0
// For tests of locks: a thread of low real-time priority holds the lock on the processor on which one of higher
// priority wants it. A lock whose waiters only spin or yield is never handed over then.
#pragma once

#include <atomic>
#include <chrono>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace proof {

class two_priorities {
  public:
    enum class outcome { passed, stuck, not_allowed }; // not_allowed: this user may not run anything in real time

    template <class Lock>
    outcome hand_over(Lock &lock)
    {
        std::thread low([&] {
            if (!take_processor(1)) return void(refused_ = true);
            lock.lock();
            held_ = true;
            while (!wanted_) nap(); // who spins here would starve all that runs on the processor, other tests too
            lock.unlock();
        });
        std::thread high([&] {
            if (!take_processor(2)) return void(refused_ = true);
            while (!held_ && !refused_) nap();
            wanted_ = true;
            if (refused_) return;
            lock.lock();
            lock.unlock();
            passed_ = true;
        });
        for (int i = 0; i < 2000 && !passed_ && !refused_; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        const outcome o = refused_ ? outcome::not_allowed : passed_ ? outcome::passed : outcome::stuck;
        wanted_ = true;
        const sched_param ordinary{};
        pthread_setschedparam(high.native_handle(), SCHED_OTHER, &ordinary); // lets it be ended if it is stuck
        low.join();
        high.join();
        return o;
    }

  private:
    std::atomic<bool> held_{false}, wanted_{false}, passed_{false}, refused_{false};
    const int processor_ = sched_getcpu();

    static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
    bool take_processor(int priority) const
    {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor_, &one);
        const sched_param wanted{.sched_priority = priority};
        return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0 &&
               pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted) == 0;
    }
};

} // namespace proof
