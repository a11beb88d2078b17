// SPDX-License-Identifier: Apache-2.0
// One operation of the simulation: what it asks for, what was seen of it at its target, how it ended.
#pragma once

#include "base/transport.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace onesea::sim {

enum class action : std::uint8_t {
    put,
    put_signal, // and a word behind it
    bad_put,    // beyond the target's memory
    get,
    bad_get,
    add,       // to a word that all update
    fetch_add, //
    contest,   // compare-and-swap of a word that all try to change
    swap,      // compare-and-swap of a word that nobody else touches meanwhile
    message,   // in any order
    ordered,   // in the order sent
    kinds
};

// A piece of a rank's memory: one operation at a time.
struct cell {
    std::uint64_t offset = 0, bytes = 0; // the last 8 are a word for signals and swaps
    bool taken = false;
    std::uint64_t key = 0;  // of what it holds; see pattern()
    std::uint64_t word = 0; // what its word holds
    // After a put or swap that failed: it may hold what that wrote, in parts, and is not used any more.
    bool unsure = false;
    std::uint64_t other_key = 0, other_word = 0, other_bytes = 0;
};

class rank;

struct operation : delivery {
    std::uint64_t id = 0; // its place in the world's table, from 1
    action what = action::put;
    rank *owner = nullptr;
    unsigned origin = 0, target = 0;
    cell *place = nullptr;
    std::uint64_t offset = 0, bytes = 0;
    std::uint64_t operand = 0, compare = 0, sequence = 0;
    std::vector<std::byte>
        data; // what is sent, or where the answer goes; given back when the transport is done with it

    unsigned messages = 0, settled_messages = 0;
    bool awaits_answer = false, answered = false, done = false;
    std::uint64_t answer_bytes = 0, answer_from_start = 0, result = 0;
    int status = SEA_OK;

    // At the target.
    unsigned executions = 0;
    std::uint64_t executed_bytes = 0, replaced = 0; // the word before
    std::vector<std::uint64_t> pieces;              // positions of those executed
    bool signalled = false;

    bool is_bad() const { return what == action::bad_put || what == action::bad_get; }
    std::string text() const;
};

} // namespace onesea::sim
