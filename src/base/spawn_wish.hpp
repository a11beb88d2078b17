// SPDX-License-Identifier: Apache-2.0
// What a rank says to its agent on the descriptor `wishes` of its birth, and the answer: one datagram each.
//
//   wish:   | "1SPW" | id | node | arguments | variables | directory\0 argument\0 ... NAME=value\0 ... |
//   answer: | id | status | rank | text                                                              |
//   Numbers are 32 bits, in the byte order of the machine that both run on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onesea {

inline constexpr std::size_t most_wish_bytes = 96 * 1024; // fits a socket's buffer as systems come

struct spawn_wish {
    std::uint32_t id = 0;
    int node = -1;                        // -1: any
    std::vector<std::string> arguments;   // the program first; empty: those of the rank that asks
    std::vector<std::string> environment; // NAME=value
    std::string directory;                // "": as the job's
};

struct spawn_answer {
    std::uint32_t id = 0;
    int status = 0; // of sea_spawn()
    int rank = -1;
    std::string text;
};

std::string encode(const spawn_wish &wish);
std::string encode(const spawn_answer &answer);

// nullopt if the bytes are none. Names of variables are not empty.
std::optional<spawn_wish> spawn_wish_from(std::string_view bytes);
std::optional<spawn_answer> spawn_answer_from(std::string_view bytes);

} // namespace onesea
