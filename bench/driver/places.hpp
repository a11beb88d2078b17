// SPDX-License-Identifier: Apache-2.0
// Where things are: our own programs beside this one, others in PATH, and the processors to measure on.
#pragma once

#include <optional>
#include <string>

namespace bench {

// The full name of a program in PATH.
std::optional<std::string> in_path(const std::string &name);

// A program of ours: beside this one, or in ../bin and ../libexec/onesea from here. Throws std::runtime_error that
// names the program and the places if it is nowhere.
std::string own_program(const std::string &name);
std::optional<std::string> find_own_program(const std::string &name);

struct core_pair {
    int origin, target;
    std::string text() const { return std::to_string(origin) + "," + std::to_string(target); }
};

// The first two processors that this process may use; the same twice if there is only one.
core_pair measuring_cores();

} // namespace bench
