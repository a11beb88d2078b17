// SPDX-License-Identifier: Apache-2.0
// How the thread sleeps that sleeps for all, and how others wake it.
#pragma once

#include "base/transport.hpp"

#include <array>
#include <poll.h>

namespace onesea::core {

// Under the engine lock, but for kick().
class wakers {
  public:
    wakers() = default;
    wakers(const wakers &) = delete;
    wakers &operator=(const wakers &) = delete;

    int open(); // 0 or errno
    void close();

    void kick();

    // At a time that became known after it fell asleep; an earlier call counts no more. To kick it, so that it asks for
    // less time, would take the processor from the program that has just told the time. False: there is no timer left.
    bool wake_at(nanoseconds at);
    void forget_time();

    int kicks() const { return kick_fd_; } // readable: somebody kicked
    int times() const { return time_fd_; } // readable: it is later than wake_at() said
    void take_kicks();

  private:
    int kick_fd_ = -1, time_fd_ = -1;
    bool time_set_ = false;
};

// What to sleep at. Made under the lock, since a poll() may exchange descriptors; sleep() runs without it.
class sleeping_place {
  public:
    sleeping_place();
    void sleep(nanoseconds until); // ends the process if the agent has died

  private:
    void add(int fd);

    std::array<pollfd, 3 + 2 * transport::most_wake_fds> fds_;
    nfds_t n_ = 0;
};

} // namespace onesea::core
