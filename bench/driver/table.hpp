// SPDX-License-Identifier: Apache-2.0
// Figures for people: an aligned table with the ratios to the floor and to the best peer, of medians and (by turn) of
// turns.
#pragma once

#include "driver/figures.hpp"

namespace bench {

std::string table(const std::vector<figure> &figures);

// "8 B", "32 KB", "1 MB": binary units, as sizes of memory are.
std::string size_text(std::size_t bytes);
std::string ranks_text(int ranks); // "1 rank", "4 ranks"

// Three significant digits without an exponent.
std::string number_text(double value);

} // namespace bench
