// SPDX-License-Identifier: Apache-2.0
// The threads that run completion handlers. These may wait and send, so they never run on a thread that makes progress.
// A thread is made when there is work for it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lapi {

class workers {
  public:
    void set_most(int threads) { most_ = threads; }
    // False: they have been stopped and none is left to do it. If it throws, the work is not theirs.
    bool push(std::function<void()> work);
    // Waits until all work that has come is done, at most so long; false: it is not. Not from one of the threads.
    bool finish(double seconds);
    bool runs_here() const; // this is one of them
    // Waits until all work is done and the threads have ended. From one of them: does not wait for itself.
    void stop();

  private:
    void serve();

    std::mutex mutex_;
    std::condition_variable changed_, quiet_;
    std::deque<std::function<void()>> queue_;
    std::vector<std::thread> threads_;
    int most_ = 1;
    int living_ = 0, idle_ = 0, busy_ = 0;
    bool stopped_ = false;
};

} // namespace lapi
