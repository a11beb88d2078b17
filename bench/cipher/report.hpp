// SPDX-License-Identifier: Apache-2.0
// What `onesea bench cipher` shows.
#pragma once

#include "driver/figures.hpp"

#include <string>
#include <utility>
#include <vector>

namespace bench {

// For each case a row per cipher and a column per size, in ns, and what that is in GB/s for the longest packet.
std::string cipher_table(const std::vector<figure> &figures);

// Curves of the time by size, for each case, as (file name, SVG).
std::vector<std::pair<std::string, std::string>> cipher_pictures(const std::vector<figure> &figures);

} // namespace bench
