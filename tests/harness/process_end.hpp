// SPDX-License-Identifier: Apache-2.0
// The moment at which a process of this machine has ended. From the kill to there the kernel may need seconds on a busy
// machine (it has needed ten, for all processes that ended then), which is nobody's fault here.
#pragma once

#include "fair_clock.hpp"

#include <atomic>
#include <poll.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace proof {

class process_end {
  public:
    // Made while the process lives. Where the kernel does not tell, or there is no such process any more, it has ended
    // just now.
    explicit process_end(int pid) : fd_(int(syscall(SYS_pidfd_open, pid, 0))), thread_([this] { watch(); }) {}
    ~process_end()
    {
        stop_ = true;
        thread_.join();
        if (fd_ >= 0) close(fd_);
    }
    process_end(const process_end &) = delete;
    process_end &operator=(const process_end &) = delete;

    // Of now(); 0: it lives.
    double moment() const
    {
        const double seen = moment_;
        return seen == 0 && has_ended(0) ? now() : seen; // nobody has to wait for the thread
    }

  private:
    const int fd_;
    std::atomic<double> moment_{0};
    std::atomic<bool> stop_{false};
    std::thread thread_;

    bool has_ended(int wait_ms) const
    {
        pollfd end{fd_, POLLIN, 0};
        return fd_ < 0 || poll(&end, 1, wait_ms) > 0;
    }
    void watch()
    {
        while (!stop_ && !has_ended(50)) continue;
        if (!stop_) moment_ = now();
    }
};

} // namespace proof
