// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same everywhere.
#pragma once

#include <cstdint>

namespace battery {

extern std::uint64_t seed; // of the run: --seed

class random_numbers {
  public:
    explicit random_numbers(std::uint64_t number) : state_(number * 0x9e3779b97f4a7c15u + 0x1234567) {}
    std::uint64_t next()
    {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t limit) { return std::size_t(next() % limit); }

  private:
    std::uint64_t state_;
};

} // namespace battery
