// SPDX-License-Identifier: Apache-2.0
// Takes dead children away beside the agent's loop: the kernel has needed up to 29 s for that on a busy machine, and
// the loop has output to pass on and questions to answer meanwhile.
#pragma once

#include <atomic>
#include <sys/types.h>
#include <thread>

namespace onesea::agent {

class reaper {
  public:
    reaper() = default;
    ~reaper(); // waits for those that were given
    reaper(const reaper &) = delete;
    reaper &operator=(const reaper &) = delete;

    // A child that has ended, and whose status was read (WNOWAIT); each once. When it is gone SIGCHLD is sent to the
    // process, so that whoever looks for dead children looks again. Where there can be no thread it is taken at once.
    void take(pid_t child);
    bool idle() const { return left_.load() == 0; } // nothing that was given is left

  private:
    bool start();
    void work();

    int pipe_[2] = {-1, -1}; // of the numbers that are given
    std::atomic<unsigned> left_{0};
    std::thread thread_;
};

} // namespace onesea::agent
