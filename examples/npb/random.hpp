// SPDX-License-Identifier: Apache-2.0
// The random numbers of the NAS Parallel Benchmarks (RNR-94-007, section 2.3): x' = a x mod 2^46, the number is
// x' 2^-46. The product is taken in 64-bit integers: its low 46 bits are exact, so no splitting into halves is needed.
#pragma once

#include <cstdint>

namespace npb {

class random_stream {
  public:
    explicit random_stream(std::uint64_t first) : state_(first) {}

    // Uniform in (0, 1).
    double next()
    {
        state_ = (state_ * multiplier) & mask;
        return static_cast<double>(state_) * scale;
    }

  private:
    static constexpr std::uint64_t multiplier = 1220703125; // 5^13
    static constexpr std::uint64_t mask = (std::uint64_t(1) << 46) - 1;
    static constexpr double scale = 0x1p-46;

    std::uint64_t state_;
};

} // namespace npb
