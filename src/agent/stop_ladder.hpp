// SPDX-License-Identifier: Apache-2.0
// What to send to the ranks when the user wants the job to stop: ask, insist, kill. Pure.
#pragma once

#include <csignal>
#include <vector>

namespace onesea::agent {

struct stop_step {
    double after_s;
    int signal;
};

inline constexpr double insist_after_s = 3, kill_after_s = 5;

class stop_ladder {
  public:
    // The launcher got SIGINT, SIGQUIT or SIGTERM. The second time everything is killed now.
    std::vector<stop_step> asked(int signal)
    {
        if (++times_ > 1) return {{0, SIGKILL}};
        asked_ = signal;
        if (signal == SIGINT) return {{0, SIGINT}, {insist_after_s, SIGTERM}, {kill_after_s, SIGKILL}};
        return {{0, signal}, {kill_after_s, SIGKILL}};
    }

    int first_signal() const { return asked_; } // 0: nobody asked
    unsigned times() const { return times_; }

  private:
    int asked_ = 0;
    unsigned times_ = 0;
};

} // namespace onesea::agent
