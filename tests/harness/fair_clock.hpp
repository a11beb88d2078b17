// SPDX-License-Identifier: Apache-2.0
// Time for tests with limits. A fair clock stands still while the machine keeps the processor from a thread that only
// sleeps, and so from everybody: a limit on it tells of us, not of what else runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <thread>

namespace proof {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
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

// Sleeps for a millisecond; how many seconds more than that, and some slack, it took.
inline double nap()
{
    const double before = now();
    pause_for(0.001);
    return std::max(0.0, now() - before - 0.002);
}

// Only one thread writes `withheld`, those who read it may be others.
class fair_clock {
  public:
    fair_clock()
        : watcher_([this] {
              while (!over_) withheld_ = withheld_ + nap();
          })
    {
    }
    ~fair_clock()
    {
        over_ = true;
        watcher_.join();
    }
    fair_clock(const fair_clock &) = delete;
    fair_clock &operator=(const fair_clock &) = delete;

    double withheld() const { return withheld_; }
    double now() const { return proof::now() - withheld_; }

  private:
    std::atomic<double> withheld_{0};
    std::atomic<bool> over_{false};
    std::thread watcher_;
};

} // namespace proof
