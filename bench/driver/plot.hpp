// SPDX-License-Identifier: Apache-2.0
// Curves as text, for a terminal.
#pragma once

#include "driver/picture.hpp"

namespace bench {

// Both axes logarithmic; each curve has a letter, which stands at its points, and '#' where it is marked. Ends with the
// letters' meanings.
std::string text_plot(const std::string &title, const std::string &unit, const std::vector<curve> &curves);

} // namespace bench
