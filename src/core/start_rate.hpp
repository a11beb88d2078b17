// SPDX-License-Identifier: Apache-2.0
// Does a program start operations so closely that a look of the dispatcher behind each would take its processor?
#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace onesea::core {

class start_rate {
  public:
    static constexpr nanoseconds gap = 20'000; // between two, on average
    static constexpr std::uint64_t burst = 8;  // that may come at once after a rest

    // At each look: how many operations have been started since the beginning.
    bool is_high(std::uint64_t started, nanoseconds now)
    {
        const std::uint64_t more = started - std::exchange(started_, started), gaps = (now - since_) / gap;
        since_ += gaps * gap; // looks may come more often than that
        credit_ = std::min(burst, credit_ + gaps);
        any_ = more > 0;
        const bool high = more > credit_;
        credit_ -= std::min(credit_, more);
        return high;
    }
    bool any() const { return any_; } // between the last two looks

  private:
    std::uint64_t started_ = 0, credit_ = burst;
    nanoseconds since_ = 0;
    bool any_ = false;
};

} // namespace onesea::core
