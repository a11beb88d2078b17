// SPDX-License-Identifier: Apache-2.0
// Two kinds of pictures as SVG text: groups of bars, and curves over a logarithmic size.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

struct bar_group {
    std::string label;
    std::vector<double> values; // one per series; 0: absent
};

// Bars on a logarithmic axis, so that 4 ns and 40 us are both seen.
std::string bar_picture(const std::string &title, const std::string &unit, const std::vector<std::string> &series,
                        const std::vector<bar_group> &groups);

struct curve {
    std::string label;
    std::vector<std::pair<double, double>> points; // size in bytes, value > 0
    double marked = 0;                             // the size of a point that stands out; 0: none
};

// Both axes logarithmic.
std::string curve_picture(const std::string &title, const std::string &unit, const std::vector<curve> &curves);

} // namespace bench
