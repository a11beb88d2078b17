// SPDX-License-Identifier: Apache-2.0
// Which numbers of the peer have come: packets (against replay, and for acks) and bundles (against doing work twice).
#pragma once

#include <array>
#include <cstdint>

namespace onesea::net {

// A sliding set of numbers: everything below `floor()` counts as seen, Bits numbers from there on have a bit each.
template <unsigned Bits>
class number_window {
    static_assert(Bits % 64 == 0);

  public:
    std::uint64_t floor() const { return floor_; }
    bool seen(std::uint64_t n) const { return n < floor_ || (n < floor_ + Bits && bit(n)); }
    bool too_far(std::uint64_t n) const { return n >= floor_ + Bits; }

    // Marks a number; moves the floor up when `slide` lets numbers be forgotten.
    void mark(std::uint64_t n)
    {
        if (n - floor_ >= 2 * std::uint64_t(Bits) && n >= floor_) jump(n - Bits + 1);
        while (n >= floor_ + Bits) drop_lowest();
        if (n >= floor_) words_[n / 64 % words_.size()] |= std::uint64_t(1) << (n % 64);
    }
    // Moves the floor over all numbers that have been seen without a gap.
    void advance()
    {
        while (bit(floor_)) drop_lowest();
    }

  private:
    std::uint64_t floor_ = 0;
    std::array<std::uint64_t, Bits / 64> words_{};

    bool bit(std::uint64_t n) const { return words_[n / 64 % words_.size()] >> (n % 64) & 1; }
    // Forgets all at once: a number from far away must not cost a walk to it.
    void jump(std::uint64_t floor)
    {
        words_.fill(0);
        floor_ = floor;
    }
    void drop_lowest()
    {
        words_[floor_ / 64 % words_.size()] &= ~(std::uint64_t(1) << (floor_ % 64));
        ++floor_;
    }
};

} // namespace onesea::net
