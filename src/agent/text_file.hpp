// SPDX-License-Identifier: Apache-2.0
// Files that a user names: lists of hosts, variables, profiles.
#pragma once

#include <string>
#include <string_view>

namespace onesea::agent {

// All of it. Throws request_error, which names it as "the `what` 'path'".
std::string read_text_file(std::string_view what, const std::string &path);

} // namespace onesea::agent
