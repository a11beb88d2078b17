// SPDX-License-Identifier: Apache-2.0
// The options that acp_init() takes out of a program's arguments.
#pragma once

#include <cstddef>
#include <string>

namespace acp {

struct options {
    std::size_t starter_bytes = 0; // 0: not given
};

// "4096", "64K", "1M", "2G"; false if it is not such a number, or 0.
bool parse_size(const char *text, std::size_t *bytes);

// Removes the --acp- options. False: *problem says what is wrong with one of them; the arguments are as before.
bool take_options(int *argc, char ***argv, options *found, std::string *problem);

} // namespace acp
