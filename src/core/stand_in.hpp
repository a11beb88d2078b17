// SPDX-License-Identifier: Apache-2.0
// A handler of the program may take long, and the dispatcher that runs it serves nobody meanwhile. The stand-in is a
// thread that then makes progress instead, as the dispatcher does for a program that computes; it runs no handlers.
// It looks every few milliseconds whether the dispatcher is still with the handlers of before, for as long as the
// dispatcher has handlers to run at all, so that short ones cost nothing but two stores.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace onesea::core {

class stand_in {
  public:
    // The dispatcher begins and ends to run handlers. Under the engine lock.
    void begin();
    void end();
    // The dispatcher has ended.
    void stop();

  private:
    void make();
    void stand_by();
    void serve(std::uint64_t run);
    bool kept(std::uint64_t run) const { return runs_.load() == run && !stop_.load(); }

    std::atomic<std::uint64_t> runs_{0}; // odd: the dispatcher runs handlers
    std::atomic<bool> stop_{false}, parked_{false};
    std::mutex mutex_; // of wake_; taken after the engine lock or alone
    std::condition_variable wake_;
    bool tried_ = false; // to make the thread: when the dispatcher runs its first handlers
    std::thread thread_;
};

} // namespace onesea::core
