// SPDX-License-Identifier: Apache-2.0
// How much of a rank's memory for messages that nobody has received each sender may fill. What it sends beyond is
// offered, which costs a round trip each; a stream of 64 KB needs some megabytes to need none. So a rank from the start
// has more than one that may come (`onesea run --spawn`), as most never do.
#pragma once

#include <algorithm>
#include <cstddef>

namespace onesea::msg {

class memory_shares {
  public:
    memory_shares() = default;
    // Of the `most` ranks that the job may have, those below `starters` are there from the start.
    memory_shares(std::size_t bound, unsigned starters, unsigned most)
        : starters_(starters),
          least_(bound / std::max<std::size_t>(1, weight * starters + (most - std::min(starters, most))))
    {
    }

    std::size_t of(int rank) const { return unsigned(rank) < starters_ ? weight * least_ : least_; }

  private:
    static constexpr std::size_t weight = 4; // of one that is there from the start
    unsigned starters_ = 0;
    std::size_t least_ = 0;
};

} // namespace onesea::msg
