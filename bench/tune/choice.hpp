// SPDX-License-Identifier: Apache-2.0
// Which of some measured values is the best, on a machine that is never quiet.
//
// All values are measured in turns; what is compared is always of the same turn. A value is better than the usual one
// only if the median of its gains is more than the noise, and it won in nearly every turn. Of those that are about as
// good as the best one the nearest to the usual one is taken: the top of a plateau, not of a wave.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace bench {

struct tried_value {
    std::uint32_t value = 0;
    std::vector<double> scores; // by turn, the same number for all; more is better, all > 0
};

struct choice {
    std::uint32_t value = 0;
    double gain = 0;  // of its score over that of the usual value: 0.1 is a tenth more
    double noise = 0; // gains up to here prove nothing
};

inline constexpr double least_gain = 0.03; // a profile is not changed for less

// `usual` is among the values.
choice choose(const std::vector<tried_value> &all, std::uint32_t usual);

// Times by size, of one turn.
using times_by_size = std::map<std::uint32_t, double>;

// For each switch t out of `least` and the sizes, which are longer: how good it is to do sizes up to t the first way,
// longer ones the second way. By turn, the same sizes everywhere.
std::vector<tried_value> switches(const std::vector<times_by_size> &up_to, const std::vector<times_by_size> &beyond,
                                  std::uint32_t least);

// Of several measurements at once.
double geometric_mean(const std::vector<double> &values);

} // namespace bench
