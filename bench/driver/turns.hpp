// SPDX-License-Identifier: Apache-2.0
// Everything is measured several times, in turns: ours, floor and peers in each of them, so that all see the same
// phases of the machine, and what they took in the same turn can be compared. A turn measures few sizes at a time, so
// that it compares what was measured within the same seconds.
#pragma once

#include "driver/options.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct turn {
    int number;        // from 1
    std::string title; // "NAME: run 2 of 7"
};

// Has `measure` make as many turns as were asked for, or `own` (`quick` with --quick) if nothing was. --quick leaves
// out turns it has no time for: a whole one or none, so that all figures have as many runs. False if `measure` said so
// once.
bool in_turns(const std::string &name, const options &o, int quick, int own, const budget &time, series_table &series,
              const std::function<bool(const turn &)> &measure);

// `whole` in parts of at most this many. --quick has no time to start every program for each of them.
template <typename T>
std::vector<std::vector<T>> measured_at_once(const std::vector<T> &whole, const options &o)
{
    constexpr std::ptrdiff_t most = 4;
    std::vector<std::vector<T>> parts;
    for (auto first = whole.begin(); first != whole.end();) {
        const auto last = o.quick ? whole.end() : first + std::min(most, whole.end() - first);
        parts.emplace_back(first, last);
        first = last;
    }
    return parts;
}

} // namespace bench
