// SPDX-License-Identifier: Apache-2.0
// Takes dead children away beside the agent's loop: the kernel has needed up to 29 s for that on a busy machine, and
// the loop has output to pass on and questions to answer meanwhile.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
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
    // process, so that whoever looks for dead children looks again. Without memory for a thread it is taken at once.
    void take(pid_t child);
    bool idle(); // nothing that was given is left

  private:
    void work();
    bool start_thread();

    std::mutex lock_;
    std::condition_variable news_;
    std::deque<pid_t> given_; // the first one is being taken
    bool ends_ = false;
    std::thread thread_;
};

} // namespace onesea::agent
