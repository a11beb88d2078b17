// SPDX-License-Identifier: Apache-2.0
// What `onesea bench dsm` shows: a table with both comparison systems, and the paper's figures.
#pragma once

#include "driver/figures.hpp"

#include <string>
#include <utility>
#include <vector>

namespace bench {

// Columns: ours, then for each comparison system its time, how many times ours that is, and what it lost.
std::string dsm_table(const std::vector<figure> &figures);

// Figures 2, 3 and 4 of the paper as (file name, SVG): time of READ, WRITE, WRITE_B by size, on LAPI inside a node and
// between two, on TCP, on UDP.
std::vector<std::pair<std::string, std::string>> dsm_pictures(const std::vector<figure> &figures);

} // namespace bench
