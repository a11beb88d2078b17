// SPDX-License-Identifier: Apache-2.0
// Numbers and tables for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace onesea::observe {

// As they are up to seven digits, then with a unit.
std::string count(std::uint64_t n);
std::string bytes(std::uint64_t n);
std::string duration(std::uint64_t ns);

using cells = std::vector<std::string>;

// Lines with columns as wide as their longest cell; all rows have as many as the first one.
std::string laid_out(const std::vector<cells> &rows);

} // namespace onesea::observe
