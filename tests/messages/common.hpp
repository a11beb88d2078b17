// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share: options that are numbers, the end of a job that found something wrong, and of
// one that hangs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

struct number_option {
    const char *name;
    std::uint64_t *value; // holds the default
    std::uint64_t least = 0;
};

// Reads `--name N ...` into them; anything else ends the process with status 2 and a usage line. The first call of a
// program: from here on MESSAGES_LIMIT counts.
void read_options(int argc, char **argv, std::initializer_list<number_option> options);

// Ends the job with status 1, after why and the last error of this thread.
[[noreturn]] void give_up(const std::string &why);
// Gives up unless it is SEA_OK.
void good(int status, const char *what);
