// SPDX-License-Identifier: Apache-2.0
// What others wrote (agents, shells, files) as one line for the user's terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace onesea::agent {

inline constexpr std::size_t most_told = 6000; // a path, as long as can be, in a sentence

// UTF-8 as it is; '.' for what is none, and for what ends a line or commands a terminal.
std::string printable(std::string_view bytes, std::size_t most = most_told);
std::string printable_lines(std::string_view bytes);

} // namespace onesea::agent
