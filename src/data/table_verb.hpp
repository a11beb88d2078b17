// SPDX-License-Identifier: Apache-2.0
// What is asked of the rank of a part, or of a directory. All of it is one verb; `what` says which call.
//
//   arguments:  | table_request | the key, if it is short |      data:  | the key, if it is long | value or items |
//   result:     part_answer; its slot is -1 if there is no such part or directory
//   output:     a value, items, or addresses of parts
#pragma once

#include <cstddef>
#include <cstdint>

namespace onesea::data {

enum class table_what : std::uint8_t {
    make_part, // slot: how many slots; number: parts; elem: index of this one; mode: kind. elem: its offset
    free_part,
    make_directory, // data: addresses of the parts; slot: slots of each; mode: kind. elem: its offset
    free_directory,
    look_up, // slot: from which part on. number: id, key_bytes: kind; output: addresses
    insert,
    get, // room: of the value
    count,
    remove, // mode 1: whatever its count
    find,
    entry, // slot, elem
    next,  // slot, elem
    scan,  // slot, number, room
    insert_items,
    remove_items,
    size,
    total,
    clear, // slot
    end
};

struct table_request {
    std::uint64_t id = 0; // of the table
    std::uint64_t slot = 0, number = 0, elem = 0, room = 0;
    std::uint32_t key_bytes = 0;
    table_what what = table_what::end;
    std::uint8_t mode = 0;
    std::uint16_t zero = 0;
};
static_assert(sizeof(table_request) == 48);

inline constexpr std::size_t short_key = 512;   // travels with the request
inline constexpr std::size_t parts_at_once = 8; // of a look-up

// Tags tell tables apart that lay at the same address one after the other.
inline std::uint64_t tag_of_table(std::uint64_t id) { return id % 63 + 1; }

struct execution;
int table_verb(execution &x);

} // namespace onesea::data
