// SPDX-License-Identifier: Apache-2.0
// What `onesea tune` found, for people, programs and eyes.
#pragma once

#include "tune/session.hpp"

#include <nlohmann/json_fwd.hpp>

namespace bench {

// Curves and what was chosen, as text.
std::string text_of(const path_result &r);

// One object a line: every value tried, and every choice.
std::string json_of(const path_result &r);

// File names and SVG.
std::vector<std::pair<std::string, std::string>> pictures_of(const path_result &r);

// What is in `after` and was not in `before`: one line each; "" if nothing is.
std::string changes(const onesea::profile &before, const onesea::profile &after,
                    const std::vector<path_result> &results);

// For the head of the profile.
nlohmann::ordered_json about(const std::vector<path_result> &results);

} // namespace bench
