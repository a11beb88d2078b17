// SPDX-License-Identifier: Apache-2.0
// Profiles (base/profile.hpp) as files: what `onesea tune` writes and `onesea run` reads.
//
//   { "onesea_profile": 1,
//     "about": { ... },                    whoever wrote it; not looked at
//     "shm":      { "fragment": 8160, "eager": 8192, "eager_message": 8192, "window": 32768 },
//     "loopback": { "fragment": 65000, "eager": 8192, "eager_message": 65536, "batch": 4096, "window": 1572864 },
//     "ethernet": { ... } }
//
// What is left out has its default; what is unknown or out of range is an error that names it.
#pragma once

#include "base/profile.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace onesea::agent {

inline constexpr int profile_format = 1;

// `name`: of the file, for messages. Throws request_error.
profile parse_profile(std::string_view text, std::string_view name);
profile read_profile(const std::string &path);

// Where a user's own profile is: $XDG_CONFIG_HOME/onesea/profile.json, $HOME/.config/onesea/profile.json, or "".
std::string usual_profile();

struct chosen_profile {
    profile values;
    std::string file; // "": the defaults
};

// `wanted`: a file, "none" for the defaults, or "": the user's own if it is there, else the defaults. Throws
// request_error.
chosen_profile choose_profile(const std::string &wanted);

// Throws request_error if write_profile() could not write there now. Makes the folder.
void prepare_profile(const std::string &path);

// Writes it whole or not at all; what was there is kept as PATH.old. Makes the folder. Throws request_error.
void write_profile(const std::string &path, const profile &values, const nlohmann::ordered_json &about);

// All values, by path and name; for messages between launcher and agents too. The second throws
// nlohmann::json::exception or request_error.
nlohmann::ordered_json to_json(const profile &values);
profile profile_from(const nlohmann::json &sections);

} // namespace onesea::agent
