// SPDX-License-Identifier: Apache-2.0
// The random numbers of the NAS Parallel Benchmarks (RNR-94-007, section 2.3): x' = a x mod 2^46, the number is
// x' 2^-46. The product is taken in 64-bit integers: its low 46 bits are exact, so no splitting into halves is needed.
#pragma once

#include <cstdint>

namespace npb {

inline constexpr std::uint64_t seed = 314159265;

class random_stream {
  public:
    explicit random_stream(std::uint64_t first) : state_(first) {}

    // Uniform in (0, 1).
    double next()
    {
        state_ = (state_ * multiplier) & mask;
        return static_cast<double>(state_) * scale;
    }

    // As if next() had been called so often, in logarithmic time: x a^count, the power by repeated squaring.
    void skip(std::uint64_t count)
    {
        for (std::uint64_t power = multiplier; count > 0; count /= 2, power = (power * power) & mask)
            if (count % 2 == 1) state_ = (state_ * power) & mask;
    }

  private:
    static constexpr std::uint64_t multiplier = 1220703125; // 5^13
    static constexpr std::uint64_t mask = (std::uint64_t(1) << 46) - 1;
    static constexpr double scale = 0x1p-46;

    std::uint64_t state_;
};

} // namespace npb
