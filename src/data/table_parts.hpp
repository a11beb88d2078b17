// SPDX-License-Identifier: Apache-2.0
// Tables from the caller's side: where their parts lie, and calls on them.
//
// Where parts lie is read from the directory, 8 at once, and kept in a store of fixed size. What is kept can be out of
// date: the table was destroyed, another one may lie there, even of another kind. The part then does not know the
// table's id, and the directory is asked again, which knows best. So nothing is refused for a kind that is remembered,
// and no request that was made for it goes to a table of another kind.
#pragma once

#include "data/call.hpp"
#include "data/table_part.hpp"
#include "data/table_verb.hpp"

#include <cstdint>
#include <vector>

namespace onesea::data {

struct known_part {
    sea_addr at = SEA_NULL;
    std::uint64_t id = 0; // of the table
    sea_table_kind kind = SEA_TABLE_SET;
    bool fresh = false; // just read from the directory
    int rank() const { return sea_addr_rank(at); }
};

// Not a status: the table is of another kind than was remembered; make the request anew.
inline constexpr int another_kind = 2;

// One call on one part.
struct part_call {
    const char *function;
    sea_table table;
    std::uint64_t index; // of the part
    known_part part = {};
    table_request request = {};
    byte_span key = {}, data = {};
    std::shared_ptr<const void> owner_of_key = {}, owner_of_data = {}; // none: they are the program's
    void *room = nullptr;                                              // for output
    std::size_t room_bytes = 0;
    std::size_t *output_bytes = nullptr;
    std::vector<std::byte> *output = nullptr; // or here
    part_answer answer = {};

    bool depends_on_kind = false; // of the table: the request does

    // Finds the part; SEA_ERR_DEAD if its rank has ended. anew: what is remembered of it is not believed, unless the
    // directory has ended.
    int find(bool anew = false);
    int find_anew(); // asks the directory
    // find(), if that has not been done, and the call. another_kind only if the request depends on it.
    int run(table_what what);

  private:
    int ask_once(table_what what);
};

// The library runs and the handle may be one.
int check_table(const char *function, const sea_table &table);

// The addresses of all parts as the directory tells them.
int all_parts(const char *function, const sea_table &table, std::vector<sea_addr> *parts, known_part *any);

const char *name_of_kind(sea_table_kind kind);

// Whether a call with this scope is about the part.
bool concerns(const known_part &part, sea_table_scope scope);

// Where a call goes by where parts lie, it asks for that once in 8 parts, so that the next ones are right, too.
inline bool to_be_asked(sea_table_scope scope, std::uint64_t index)
{
    return scope == SEA_TABLE_LOCAL && index % parts_at_once == 0;
}

// From a position on, entries of a part as sea_table_scan_next() tells them. *next_slot, *passed: where to go on.
int scan_part(part_call &c, std::uint64_t *slot, std::uint64_t *passed, std::size_t room);

// Removes all entries of a part.
int clear_part(part_call &c);

} // namespace onesea::data
