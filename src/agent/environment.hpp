// SPDX-License-Identifier: Apache-2.0
// Environment variables: of ranks, of files, and Onesea's own.
#pragma once

#include "agent/job.hpp"

#include <span>
#include <string_view>

namespace onesea::agent {

// `base` (NAME=value, ends with nullptr) with the changes applied in order; variables of an outer job are left out.
std::vector<std::string> merge_environment(char *const *base, std::span<const variables *const> changes);

// Value of a variable in a merged environment; "" if it is not there.
std::string value_of(const std::vector<std::string> &environment, std::string_view name);

// Lines NAME=value; "#" starts a comment line. Throws request_error with file and line.
variables parse_env_file(std::string_view text, std::string_view name);
variables read_env_file(const std::string &path);

// -x VAR takes the launcher's value, -x VAR=value gives one. Throws request_error if the name is none, or not set.
void add_export(variables &to, const std::string &wish);

// What a rank on another host gets: every ONESEA_ variable, or everything.
variables variables_to_send(char *const *base, bool all);

// Variables ONESEA_... of `base` that nobody reads: name and the nearest known name ("" if none is near).
std::vector<std::pair<std::string, std::string>> unknown_variables(char *const *base);

} // namespace onesea::agent
