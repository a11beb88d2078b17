// SPDX-License-Identifier: Apache-2.0
#include "msg/spin_lock.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>

using onesea::msg::spin_lock;

namespace {

// A thread of low real-time priority holds the lock on the processor on which one of higher priority wants it.
class two_priorities {
  public:
    enum class outcome { passed, stuck, not_allowed };

    outcome hand_over(spin_lock &lock)
    {
        std::thread low([&] {
            if (!take_processor(1)) return void(refused_ = true);
            lock.lock();
            held_ = true;
            while (!wanted_) {
            }
            lock.unlock();
        });
        std::thread high([&] {
            if (!take_processor(2)) return void(refused_ = true);
            while (!held_ && !refused_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
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

} // namespace

TEST(SpinLockTest, is_handed_to_a_thread_of_higher_real_time_priority_on_the_same_processor)
{
    spin_lock lock;
    const auto o = two_priorities().hand_over(lock);
    if (o == two_priorities::outcome::not_allowed) GTEST_SKIP() << "this user may not run anything in real time";
    EXPECT_EQ(o, two_priorities::outcome::passed);
}
