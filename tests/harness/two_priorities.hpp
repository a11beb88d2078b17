// SPDX-License-Identifier: Apache-2.0
// For tests of locks: two threads of different real-time priorities on one processor. hand_over(): that of lower
// priority holds the lock that the other one wants; if waiters only spin or yield it is never handed over then.
// let_in(): that of higher priority lets it go for a moment again and again, and sleeps with it; whoever then only
// yields behind the release keeps the other one out.
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

    template <class Lock>
    outcome let_in(Lock &lock)
    {
        constexpr int rounds = 50;
        std::thread low([&] {
            if (!take_processor(1)) return void(refused_ = true);
            while (!held_ && !refused_) nap();
            wanted_ = true;
            if (refused_) return;
            lock.lock();
            passed_ = true;
            lock.unlock();
        });
        std::thread high([&] {
            if (!take_processor(2)) return void(refused_ = true);
            lock.lock();
            held_ = true;
            while (!wanted_ && !refused_) nap();
            for (int i = 0; i < rounds && !passed_; ++i) {
                for (int k = 0; k < 3; ++k) nap();
                lock.unlock();
                lock.lock();
            }
            stuck_ = !passed_;
            lock.unlock();
        });
        low.join();
        high.join();
        return refused_ ? outcome::not_allowed : stuck_ ? outcome::stuck : outcome::passed;
    }

  private:
    std::atomic<bool> stuck_{false};
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
