// SPDX-License-Identifier: Apache-2.0
// A handler of the program may take long, and the dispatcher that runs it serves nobody meanwhile. The stand-in is a
// thread that then makes progress instead, as the dispatcher does for a program that computes; it runs no handlers of
// it. It sleeps at a timer. The dispatcher sets that when it begins to run handlers, unless it is set: a system call,
// but at most one in each few milliseconds, and it wakes nobody. When the time has come, the stand-in serves if these
// are still the handlers for which the timer was set, and sets it again if these are later ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace onesea::core {

class alarm_clock {
  public:
    alarm_clock() = default;
    alarm_clock(const alarm_clock &) = delete;
    alarm_clock &operator=(const alarm_clock &) = delete;

    void open(); // throws std::system_error
    void close();
    void set(std::int64_t nanoseconds_from_now); // an earlier time counts no more
    void await() const;

  private:
    int fd_ = -1;
};

class stand_in {
  public:
    // The dispatcher begins and ends to run handlers. Under the engine lock.
    void begin();
    void end();
    // The dispatcher has ended.
    void stop();

  private:
    void make(std::uint64_t run);
    void set_alarm(std::uint64_t run);
    void stand_by();
    void serve(std::uint64_t run);
    bool kept(std::uint64_t run) const { return runs_.load() == run && !stop_.load(); }

    std::atomic<std::uint64_t> runs_{0};     // odd: the dispatcher runs handlers
    std::atomic<std::uint64_t> alarm_of_{0}; // for which of them the alarm was set
    std::atomic<bool> stop_{false};
    std::atomic<bool> asleep_{false}; // and no alarm is set
    alarm_clock alarm_;
    bool tried_ = false; // to make the thread: when the dispatcher runs its first handlers
    std::thread thread_;
};

} // namespace onesea::core
