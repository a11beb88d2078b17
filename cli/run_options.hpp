// SPDX-License-Identifier: Apache-2.0
// The command line of `onesea run`.
#pragma once

#include "commands.hpp"

#include "agent/job.hpp"

#include <optional>

namespace onesea::cli {

// nullopt: --help was asked for and has been printed. Throws agent::request_error that names the argument.
std::optional<agent::job_request> parse_run(const arguments &args, bool terminal);

// "64M", "1.5G", "4096": bytes, with binary units.
std::uint64_t parse_size(const std::string &text);

} // namespace onesea::cli
