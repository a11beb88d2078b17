// SPDX-License-Identifier: Apache-2.0
// How a job ended: the exit status and the words for it, from the ends of its ranks.
#pragma once

#include <csignal>
#include <optional>
#include <string>

namespace onesea::agent {

inline constexpr int status_timeout = 124;
inline constexpr int status_launcher = 125;

struct rank_end {
    int rank = -1;
    int code = 0;            // exit status, if signal is 0
    int signal = 0;          // that killed it
    bool core = false;       // memory image written
    bool unfinished = false; // exit 0 after sea_init() without sea_finalize()
    bool asked = false;      // SIGTERM or SIGKILL was sent to it while it ran
};

// What waitid() told.
rank_end end_from_wait(int rank, const siginfo_t &told);

// As a shell counts: the code, or 128 + signal; an unfinished rank counts as 1.
int shell_status(const rank_end &end);

// Of ends that were found together, whose order nobody knows: the lesser one may have caused the greater. Who loses a
// peer exits, aborts or writes to a closed pipe; other signals come from outside or out of an error of its own.
int order_of_causes(const rank_end &end);

// "rank 3 on host was killed by signal 11 (Segmentation fault)"
std::string describe(const rank_end &end, const std::string &host);

class verdict {
  public:
    // ended_by_launcher: its end is the consequence of ours, and tells nothing.
    void add(const rank_end &end, bool ended_by_launcher);

    bool failed() const { return first_.has_value(); }
    const std::optional<rank_end> &first() const { return first_; }
    unsigned ended_by_launcher() const { return ended_; }
    int exit_status() const { return first_ ? shell_status(*first_) : 0; }

  private:
    std::optional<rank_end> first_;
    unsigned ended_ = 0;
};

} // namespace onesea::agent
