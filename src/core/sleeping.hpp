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

// What to sleep at. Waking up takes time for each descriptor that is looked at, so those where something comes rarely
// lie behind one of epoll. The sockets do not: epoll would be told of each packet, also while nobody sleeps.
class sleeping_place {
  public:
    sleeping_place() = default;
    sleeping_place(const sleeping_place &) = delete;
    sleeping_place &operator=(const sleeping_place &) = delete;

    int open(const wakers &wake, int lifeline); // 0 or errno; lifeline: -1 if there is none
    void close();

    void look_around();            // under the engine lock: transports may have opened descriptors
    void sleep(nanoseconds until); // without it; ends the process if the agent has died
    void woken();                  // under it again: tells the transports that were woken

  private:
    static constexpr unsigned most_of_transports = 2 * transport::most_wake_fds;

    int rare_fd_ = -1;                                 // of epoll: kicks, times, lifeline
    std::array<pollfd, 1 + most_of_transports> fds_{}; // that, and those of the transports

    bool watch(int fd);
    void take_rare();
};

} // namespace onesea::core
