// SPDX-License-Identifier: Apache-2.0
// Decides when a socket takes from nobody but the ranks of the job, by their addresses, so that the kernel drops a
// flood: when many packets had to be refused between two looks, and from then on for a while. Then, if the kernel had
// less to drop, anybody's are looked at again; else the same once more, with the addresses of ranks that came
// meanwhile.
#pragma once

#include "base/clock.hpp"
#include "net/constants.hpp"

#include <cstdint>

namespace onesea::net {

class flood_guard {
  public:
    enum class order { none, close, open };
    static constexpr std::uint64_t many = 64;
    static constexpr nanoseconds while_closed = 250 * millisecond;

    // Both numbers are sums since the beginning: packets refused here, and what the kernel has dropped.
    order look(nanoseconds now, std::uint64_t refused, std::uint64_t dropped)
    {
        const bool flooded = refused > refused_ + many;
        refused_ = refused;
        if (closed() ? now < until_ : !flooded) return order::none;
        const bool goes_on = flooded || dropped > dropped_ + many;
        dropped_ = dropped;
        until_ = goes_on ? now + while_closed : never;
        return goes_on ? order::close : order::open;
    }
    bool closed() const { return until_ != never; }
    nanoseconds until() const { return until_; } // when look() has to be called; `never` if that is so

  private:
    nanoseconds until_ = never;
    std::uint64_t refused_ = 0, dropped_ = 0;
};

} // namespace onesea::net
