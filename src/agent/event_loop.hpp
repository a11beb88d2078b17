// SPDX-License-Identifier: Apache-2.0
// Descriptors and timers of a single-threaded program. Callbacks may watch, forget and cancel anything.
#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

namespace onesea::agent {

// The descriptor that a call of the system has given; if it has given none, a runtime_error that says why.
int granted(int fd, const char *call);

class event_loop {
  public:
    using callback = std::function<void(std::uint32_t events)>;
    using timer = std::pair<std::uint64_t, std::uint64_t>; // when, number

    event_loop();
    ~event_loop();
    event_loop(const event_loop &) = delete;
    event_loop &operator=(const event_loop &) = delete;

    // events: EPOLLIN | EPOLLOUT. False if the kernel cannot watch it (a regular file, which is always ready).
    bool watch(int fd, std::uint32_t events, callback fn);
    void change(int fd, std::uint32_t events);
    void forget(int fd);

    timer after(double seconds, std::function<void()> fn);
    void cancel(timer t);

    // Waits for the next event or timer and handles what is there.
    void run_once();

  private:
    struct watched {
        std::uint32_t events;
        callback fn;
    };
    void run_timers();

    int epoll_ = -1;
    std::unordered_map<int, std::shared_ptr<watched>> watched_;
    std::map<timer, std::function<void()>> timers_;
    std::uint64_t timers_made_ = 0;
};

} // namespace onesea::agent
