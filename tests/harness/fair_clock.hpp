// SPDX-License-Identifier: Apache-2.0
// Time for tests with limits. A fair clock stands still while the machine keeps the processor from a thread that only
// sleeps, and so from everybody: a limit on it tells of us, not of what else runs. A virtual machine may also lose one
// of its processors for a while, with whatever was on it, while the others go on: so there is a watcher on each.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <deque>
#include <mutex>
#include <optional>
#include <sched.h>
#include <thread>

namespace proof {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// From a kill to the end of what it has to end; a sanitizer makes everything slower.
inline constexpr double death_limit = sanitized ? 8 : 1;

// Seconds of the monotonic clock, the same for all processes of a machine.
inline double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

inline void pause_for(double seconds)
{
    timespec t{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR) {
    }
}

// How many seconds more than these, and some slack, a sleep takes.
inline double nap(double seconds = 0.001, double slack = 0.001)
{
    const double before = now();
    pause_for(seconds);
    return std::max(0.0, now() - before - seconds - slack);
}

// Sleeps again and again. What a sleep takes too long counts while it goes on: who was kept waiting together with it
// may ask before it has woken.
class sleeper {
  public:
    sleeper(double seconds, double slack) : seconds_(seconds), slack_(slack) {}

    void sleep()
    {
        {
            std::lock_guard lock(mutex_);
            sleeps_until_ = now() + seconds_ + slack_;
        }
        pause_for(seconds_);
        std::lock_guard lock(mutex_);
        withheld_ += std::max(0.0, now() - sleeps_until_);
        sleeps_until_ = never;
    }
    double withheld() const
    {
        std::lock_guard lock(mutex_);
        return withheld_ + std::max(0.0, now() - sleeps_until_);
    }

  private:
    static constexpr double never = 1e300;
    const double seconds_, slack_;
    mutable std::mutex mutex_;
    double withheld_ = 0, sleeps_until_ = never;
};

class fair_clock {
  public:
    fair_clock()
    {
        watch({}, 0.001, 0.001);
        cpu_set_t all;
        if (sched_getaffinity(0, sizeof all, &all) != 0) return;
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &all)) watch(cpu, 0.02, 0.1); // no wait for others that run there takes so long
    }
    ~fair_clock()
    {
        over_ = true;
        for (watcher &w : watchers_) w.thread.join();
    }
    fair_clock(const fair_clock &) = delete;
    fair_clock &operator=(const fair_clock &) = delete;

    double withheld() const
    {
        double most = 0;
        for (const watcher &w : watchers_) most = std::max(most, w.sleeper.withheld());
        return most;
    }
    double now() const { return proof::now() - withheld(); }

  private:
    struct watcher {
        watcher(double seconds, double slack) : sleeper(seconds, slack) {}
        proof::sleeper sleeper;
        std::thread thread;
    };
    std::deque<watcher> watchers_;
    std::atomic<bool> over_{false};

    void watch(std::optional<int> cpu, double seconds, double slack)
    {
        watcher &w = watchers_.emplace_back(seconds, slack);
        w.thread = std::thread([this, &w, cpu] {
            cpu_set_t one;
            CPU_ZERO(&one);
            if (cpu) CPU_SET(*cpu, &one);
            if (cpu && sched_setaffinity(0, sizeof one, &one) != 0) return;
            while (!over_) w.sleeper.sleep();
        });
    }
};

} // namespace proof
