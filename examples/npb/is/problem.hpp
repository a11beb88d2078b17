// SPDX-License-Identifier: Apache-2.0
// The official problem classes of IS and what the ranks of five keys must be (NPB 3.x).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace npb::is {

inline constexpr int iterations = 10; // timed; one more before them is not
inline constexpr int tests = 5;       // keys whose rank is known

struct problem {
    char name;                             // S, W, A or B
    int keys_log, range_log;               // binary logarithms of the number of keys and of the range of their values
    std::array<std::uint32_t, tests> at;   // indices of the keys whose rank is known
    std::array<std::uint32_t, tests> rank; // their published ranks, which change by 1 in every iteration
    unsigned rising;                       // bit i: the rank of test i grows, otherwise it falls
    int rising_from, falling_from;         // the iteration in which those have their published ranks

    std::size_t keys() const { return std::size_t(1) << keys_log; }
    std::uint32_t range() const { return std::uint32_t(1) << range_log; }

    // The rank of test i in that iteration, counted from 1.
    std::uint32_t rank_in(int test, int iteration) const;
};

// The class of that letter, NULL if there is none.
const problem *find_problem(char name);

// Keys ranked in the timed part, in millions: the operations of the official formula.
double million_operations(const problem &given);

// The keys first, first + 1, ... of the problem's sequence, before any iteration changed it.
void make_keys(const problem &given, std::size_t first, std::span<std::uint32_t> keys);

} // namespace npb::is
