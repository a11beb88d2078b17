// SPDX-License-Identifier: Apache-2.0
#include "driver/turns.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace bench {

bool in_turns(const std::string &name, const options &o, int quick, int own, const budget &time, series_table &series,
              const std::function<bool(const turn &)> &measure)
{
    const int turns = o.runs ? o.runs : o.quick ? quick : own;
    bool good = true;
    double longest = 0;
    for (int number = 1; number <= turns; number++) {
        const double before = time.left();
        if (number > 1 && before < longest) {
            progress(fmt::format("{}: {} of {} runs fit into --quick", name, number - 1, turns));
            break;
        }
        series.begin_turn();
        good = measure({number, fmt::format("{}: run {} of {}", name, number, turns)}) && good;
        longest = std::max(longest, before - time.left());
    }
    return good;
}

} // namespace bench
