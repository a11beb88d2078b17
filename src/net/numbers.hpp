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
    // Bit i: seen(last - i). There are no numbers below 0.
    std::uint64_t seen_down_from(std::uint64_t last) const
    {
        return last < 63 ? reversed(seen_up_from(0)) >> (63 - last) : reversed(seen_up_from(last - 63));
    }

    // Marks a number; the floor moves up where the window does not reach it.
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
    // Bit i: seen(first + i).
    std::uint64_t seen_up_from(std::uint64_t first) const
    {
        const std::uint64_t all = ~std::uint64_t(0), at = first / 64;
        const unsigned shift = first % 64;
        std::uint64_t word = words_[at % words_.size()] >> shift;
        if (shift) word |= words_[(at + 1) % words_.size()] << (64 - shift);
        // What lies outside of the window has the bits of numbers inside it.
        if (first < floor_) word |= floor_ - first < 64 ? ~(all << (floor_ - first)) : all;
        const std::uint64_t end = floor_ + Bits;
        if (first + 63 >= end) word &= first < end ? ~(all << (end - first)) : 0;
        return word;
    }
    static std::uint64_t reversed(std::uint64_t word)
    {
        word = (word >> 1 & 0x5555'5555'5555'5555u) | (word & 0x5555'5555'5555'5555u) << 1;
        word = (word >> 2 & 0x3333'3333'3333'3333u) | (word & 0x3333'3333'3333'3333u) << 2;
        word = (word >> 4 & 0x0f0f'0f0f'0f0f'0f0fu) | (word & 0x0f0f'0f0f'0f0f'0f0fu) << 4;
        return __builtin_bswap64(word);
    }
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
