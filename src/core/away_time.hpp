// SPDX-License-Identifier: Apache-2.0
// How long the dispatcher stays away from a program that makes progress itself, before it looks whether it still does.
// A look takes that program's processor, 20 to 30 us of it in a virtual machine; a program that begins to compute waits
// for the next one. So the longer calls have been coming, the longer the pause, up to a small share of that time.
#pragma once

#include "base/clock.hpp"

#include <algorithm>

namespace onesea::core {

class away_time {
  public:
    static constexpr nanoseconds shortest = 1'000'000, longest = 4'000'000;
    static constexpr nanoseconds share = 8; // a pause is this part of the time for which calls have been coming

    // The program has made progress since the last look.
    nanoseconds next(nanoseconds now)
    {
        if (!since_) since_ = now;
        return std::clamp((now - since_) / share, shortest, longest);
    }
    // It has not.
    void reset() { since_ = 0; }

  private:
    nanoseconds since_ = 0; // calls have been seen at every look; 0: not at the last one
};

} // namespace onesea::core
