// SPDX-License-Identifier: Apache-2.0
// Programs that this command starts in its own place: beside it in a build tree, in ../libexec/onesea in both.
#pragma once

#include "commands.hpp"

#include <filesystem>

namespace onesea::cli {

std::vector<std::filesystem::path> helper_folders();

// Becomes that program; returns if it is nowhere. Throws agent::request_error if it cannot be started.
void run_helper(const std::string &name, const arguments &args);

} // namespace onesea::cli
