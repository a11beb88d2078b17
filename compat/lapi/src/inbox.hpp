// SPDX-License-Identifier: Apache-2.0
// Work that needs the right to run handlers and could not have it at once: messages that came while the program held
// the context's lock or was outside LAPI in polling mode, and whatever has to come after them. In the order of arrival.
// Who gets the right drains it; a thread of our own does when nobody else comes by.
#pragma once

#include "gate.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lapi {

class inbox {
  public:
    // Called once, with true by a thread that has the right, or with false by one that has not: the inbox has been
    // stopped, and whoever waits for this work is to be told so. Throws nothing.
    using work = std::function<void(bool)>;

    // Runs `w` now if the right is free, else when it is. If it throws, `w` is not in the inbox.
    void push(gate &g, work w);
    void drain(gate &g);
    bool empty() const { return size_.load() == 0; } // nothing waits and nothing runs
    // Ends the thread and calls what waits with false; more that comes too. From the thread itself: does not wait for
    // it.
    void stop(gate &g);

  private:
    bool add(work &w);
    void run_one(gate &g);
    void start_thread(gate &g);
    void serve(gate &g);

    std::mutex mutex_;
    std::deque<work> queue_;
    std::atomic<std::size_t> size_ = 0; // with the one that runs
    std::atomic<bool> stopped_ = false;
    std::thread thread_;
};

} // namespace lapi
