// SPDX-License-Identifier: Apache-2.0
// One part of a hash table, in the global heap of its rank, worked on by every process of that rank's node.
//
//   part    +--------------------------------+----------------------------------+----------------------+
//           | id, kind, number of slots ...  | 8 stripes: lock, keys, total ... | head of each slot    |
//           +--------------------------------+----------------------------------+-----+----------------+
//                                                                                     |
//   entry   +------+------+------+--------+-------+-----+-------+                     |
//           | next | mark | hash | number | sizes | key | value |  <------------------+   in order of insertion
//           +--+---+------+------+--------+-------+-----+-------+
//              +--> the next entry of the slot, 0: none
//
// All links are offsets in the rank's window. Slot s is protected by stripe s % 8, a robust mutex.
//
// Death. A chain is changed by one store of 8 bytes: a new entry is complete before it is linked, a removed one is
// unlinked before it is freed, a value other than of 8 bytes is changed by linking a new entry in place of the old one.
// So chains are whole whenever a process may be killed; what it had allocated or unlinked and not freed is lost. Who
// finds the lock of a dead holder counts the slots of the stripe again.
//
// Other memory. What an iterator names is looked for in its chain and never followed. Marks catch chains that a stray
// put has overwritten. A part that was destroyed has no id any more; the test before the lock keeps its memory, which
// may belong to somebody else by now, from being locked, and the one behind it ends those who were waiting.
//
// Numbers of entries grow along a chain: a scan that goes on behind a number misses nothing and repeats nothing,
// whatever has been removed.
#pragma once

#include "onesea/table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace onesea::data {

using byte_span = std::span<const std::byte>;

// The heap that a part lies in.
class part_memory {
  public:
    virtual ~part_memory() = default;
    virtual std::uint64_t allocate(std::uint64_t bytes) = 0; // offset, 0: no room
    virtual void release(std::uint64_t offset) = 0;
    virtual bool live(std::uint64_t offset, std::uint64_t bytes) = 0; // inside one allocation

    std::byte *base = nullptr; // of the window
    std::uint64_t end = 0;     // no offset at or above it is touched
    int rank = 0;
};

// What a key of a table leads to.
struct key_place {
    std::uint64_t hash = 0;
    std::uint64_t part = 0;
    std::uint64_t slot = 0;
};
key_place place_of_key(byte_span key, std::uint64_t parts, std::uint64_t slots);

struct part_shape {
    std::uint64_t id = 0; // of the table, never 0
    sea_table_kind kind = SEA_TABLE_SET;
    std::uint64_t parts = 1, index = 0, slots = 1;
};

enum class insert_mode : std::uint8_t {
    keep,    // what is there stays
    replace, // its value is exchanged
    add,     // its value is an integer of 8 bytes and has the new one added
};

// Not a status: somebody has it locked and the deadline has passed.
inline constexpr int part_busy = 1;

// Bounds of one call: others wait while the owner executes it.
inline constexpr std::uint64_t some_slots = 1 << 15, some_entries = 2048;

// What a call tells. `status` is that of the call.
struct part_answer {
    std::int32_t status = SEA_OK;
    std::int32_t slot = 0;
    std::uint64_t result = 0; // inserted, found, count before, keys, items
    std::uint64_t elem = 0;   // offset of an entry, 0: none
    std::uint64_t key_bytes = 0;
    std::uint64_t value_bytes = 0;
    std::uint64_t passed = 0;
};

// Where a value goes.
class value_sink {
  public:
    virtual ~value_sink() = default;
    virtual bool put(byte_span value) = 0; // false: no memory for it
};

struct part_head;
struct part_stripe;
struct entry_head;
struct chain_link;

class table_part {
  public:
    // Makes an empty part; its offset, 0: no room.
    static std::uint64_t make(part_memory &memory, const part_shape &shape);

    // The part at an offset that anybody may have given. `deadline` (monotonic, ns; 0: some
    // microseconds) limits every wait for a lock.
    table_part(part_memory &memory, std::uint64_t offset, std::uint64_t id, std::uint64_t deadline);

    int status() const { return status_; } // SEA_ERR_HANDLE: there is no such part
    sea_table_kind kind() const;
    std::uint64_t slots() const;

    part_answer insert(byte_span key, byte_span value, insert_mode mode);
    part_answer get(byte_span key, value_sink &to);
    part_answer count(byte_span key);
    part_answer remove(byte_span key, bool all);
    part_answer find(byte_span key);

    part_answer entry(std::uint64_t slot, std::uint64_t elem);
    // The next ones look at some_slots slots at most and tell in `slot` where to go on; there is no more if that is
    // slots().
    part_answer next(std::uint64_t slot, std::uint64_t elem); // elem 0: the first from the start of the slot
    // Items from behind entry number `passed` of the slot, at most `room` bytes.
    part_answer scan(std::uint64_t slot, std::uint64_t passed, std::uint64_t room, std::vector<std::byte> &items);
    part_answer clear(std::uint64_t slot); // some_entries at most
    // Inserts what a scan of another part gave; takes away what a scan of this part gave. `result` items have been
    // dealt with; fewer than all without an error: ask again with the rest.
    part_answer insert_items(byte_span items);
    part_answer remove_items(byte_span items);

    part_answer size();
    part_answer total();
    part_answer destroy();

    // Every chain is whole, in its own slot, and counted. For tests.
    bool consistent();
    // For tests: holds the lock of the key's stripe until the calling thread ends, as if killed there.
    void die_holding(byte_span key);

  private:
    class guard;

    part_memory &memory_;
    part_head *part_ = nullptr;
    std::uint64_t offset_;
    std::uint64_t id_;
    std::uint64_t deadline_;
    int status_ = SEA_OK;

    bool is_here() const;
    int lock(part_stripe &s);
    void recount(part_stripe &s);
    std::uint64_t *head(std::uint64_t slot) const;
    part_stripe &stripe_of(std::uint64_t slot) const;
    entry_head *at(std::uint64_t offset) const;
    // The entry that a link leads to. Puts nullptr at the end of a chain; false: the chain is damaged.
    bool follow(std::uint64_t offset, std::uint64_t slot, entry_head **e) const;
    int search(byte_span key, const key_place &place, chain_link *found) const;
    int search(std::uint64_t slot, std::uint64_t elem, chain_link *found) const;
    std::uint64_t make_entry(byte_span key, byte_span value, const key_place &place, std::uint64_t number);
    int change(const chain_link &found, byte_span key, byte_span value, const key_place &place, insert_mode mode);
    int append(const chain_link &found, byte_span key, byte_span value, const key_place &place);
    void unlink(const chain_link &found);
    int take_away(const sea_table_item &item, byte_span value);
    part_answer first_from(std::uint64_t slot);
    int add_items(std::uint64_t slot, std::uint64_t room, part_answer &a, std::vector<std::byte> &items);
    part_answer sum(std::uint64_t part_stripe::*what);
    std::uint64_t free_chain(std::uint64_t slot, std::uint64_t most, int *status);
    part_answer failure(int status) const;
    void describe(const entry_head &e, std::uint64_t slot, part_answer &a) const;
};

} // namespace onesea::data
