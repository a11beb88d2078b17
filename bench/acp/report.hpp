// SPDX-License-Identifier: Apache-2.0
// The pictures of `onesea bench acp`.
#pragma once

#include "driver/figures.hpp"

#include <string>
#include <utility>
#include <vector>

namespace bench {

// As (file name, SVG): bandwidth of a copy by its size beside MPIs; time of the calls by where they act; memory by the
// number of processes. A picture without figures is left out.
std::vector<std::pair<std::string, std::string>> acp_pictures(const std::vector<figure> &figures);

} // namespace bench
