// SPDX-License-Identifier: Apache-2.0
// How long an agent may say nothing. Pure: it is told of each second that has passed, not of the time, since a launcher
// that was stopped or got no processor for a while has not listened then.
#pragma once

#include <algorithm>

namespace onesea::agent {

inline constexpr unsigned silence_at_end_s = 10; // from when it was told to kill or to leave

class silence {
  public:
    enum class step { wait, ask, give_up };

    void broken() { seconds_ = 0; }

    // One more second in which something may be said. Who has nothing to say is asked, and several times before its
    // host is taken for one that has lost its power or its network: no line tells that by itself. A limit of 0: none.
    step second(unsigned limit_s)
    {
        ++seconds_;
        if (limit_s == 0) return step::wait;
        if (seconds_ > limit_s) return step::give_up;
        return seconds_ % std::max(1u, limit_s / 4) == 0 ? step::ask : step::wait;
    }

    // The same of one that has been told to kill or to leave.
    step second_at_end() { return ++seconds_ > silence_at_end_s ? step::give_up : step::wait; }

  private:
    unsigned seconds_ = 0;
};

} // namespace onesea::agent
