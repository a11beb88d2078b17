// SPDX-License-Identifier: Apache-2.0
// The list: a ring of entries in the owner's heap, through a pair of links in the control block.
//
//   control: | head | chain | stamp | size | outside | version | links |
//   entry:   | links | magic | stamp | chain | bytes | data | the bytes, if they lie here |
//
// The `next` links are the truth. An insertion is made by the store of the one before; a removal by clearing `magic`,
// after which the entry is unlinked and freed. Who dies in between leaves prev links, size and the like behind, which
// the next holder of the lock puts right by walking the ring (repair). Changes of many links are marked as editing.
//
// `stamp` is counted up for each new entry, so that an iterator, which has a copy of it, does not take another entry in
// the same place for its own. `chain` says whose entry it is, in case an iterator names the wrong list; it goes with
// the entries when two lists are swapped.
#pragma once

#include "data/execution.hpp"
#include "onesea/data.h"

namespace onesea::data {

struct list_links {
    std::uint64_t next, prev; // offsets of links
};

struct list_control : control {
    list_links links; // of the first and the last entry
    std::uint64_t chain;
    std::uint64_t stamp;         // of the newest entry
    std::uint64_t size, outside; // entries; those of them whose bytes lie elsewhere
    std::uint64_t version;
};

struct list_entry {
    list_links links;
    std::atomic<std::uint64_t> magic;
    std::uint64_t stamp, chain, bytes;
    sea_addr data; // inside this entry, or of another rank; SEA_NULL: there are no bytes
};
static_assert(sizeof(list_entry) == 56);
inline constexpr std::uint64_t list_entry_magic = 0x6c69737420656e74; // "list ent"

using locked_list = locked_structure<list_control>;

class list {
  public:
    list(execution &x, list_control &c) : x_(x), c_(c), end_(x.heap.offset_of(&c.links)) {}

    // Puts right what a dead holder left; SEA_ERR_ADDRESS if the ring makes no sense.
    int check();

    std::uint64_t end() const { return end_; } // positions are offsets of links
    std::uint64_t first() const { return c_.links.next; }
    std::uint64_t last() const { return c_.links.prev; }
    list_control &control() const { return c_; }
    list_entry &at(std::uint64_t position) const { return *x_.heap.as<list_entry>(position); }
    list_links &links(std::uint64_t position) const { return *x_.heap.as<list_links>(position); }

    // The next position or the one before; 0 if what stands there is no entry.
    std::uint64_t next(std::uint64_t position) const { return believed(links(position).next); }
    std::uint64_t prev(std::uint64_t position) const { return believed(links(position).prev); }

    // The position that an iterator names; 0: its element is gone (x tells).
    std::uint64_t find(sea_addr entry, std::uint64_t stamp) const;
    sea_addr name_of(std::uint64_t position) const; // as in iterators
    bool inline_data(std::uint64_t position) const
    {
        return at(position).data == x_.heap.address(position + sizeof(list_entry));
    }

    // A new entry with its bytes, or (data not null) with bytes that lie elsewhere. 0: no room (x tells).
    std::uint64_t insert(std::uint64_t before, std::span<const std::byte> bytes, sea_addr data, std::uint64_t size);
    // Removes; what lies elsewhere and is to be freed is given back by the address, else SEA_NULL.
    sea_addr erase(std::uint64_t position);
    void reverse();
    // Both in the same heap, both locked; may be the same.
    void splice(std::uint64_t before, list &from, std::uint64_t first, std::uint64_t last, std::uint64_t n);
    void swap(list &other);
    void set_order(std::span<const std::uint64_t> positions);

  private:
    execution &x_;
    list_control &c_;
    std::uint64_t end_;

    std::uint64_t believed(std::uint64_t position) const;
    bool entry_at(std::uint64_t position) const;
    void link(std::uint64_t a, std::uint64_t b) const
    {
        links(a).next = b;
        links(b).prev = a;
    }
    int repair();
};

// ---- verbs ----

struct list_place {
    sea_addr entry = SEA_NULL;
    std::uint64_t stamp = 0;
};

inline constexpr std::uint32_t at_front = 1, at_back = 2; // insert, erase: there, instead of at an iterator
inline constexpr std::uint32_t to_last = 4;               // erase: up to `b`
inline constexpr std::uint32_t want_data = 8;             // erase, advance: the bytes are output, if they fit `bytes`
inline constexpr std::uint32_t unique_only = 16;          // remove: those equal to the one before

// Of a read from another node; more goes straight to its place, by a get.
inline constexpr std::uint64_t read_at_once = 8192;

struct list_arguments {
    std::uint32_t flags = 0;
    std::uint32_t zero = 0;
    list_place a, b; // splice: first, last
    list_place before;
    sea_addr other = SEA_NULL; // swap, splice: the other list; insert: data that lies elsewhere
    std::uint64_t bytes = 0;   // insert: of the element; erase, advance: room; fetch: how many; reorder: version
    std::int64_t distance = 0;
};

struct list_answer {
    sea_addr entry = SEA_NULL;
    std::uint64_t stamp = 0;
    sea_addr data = SEA_NULL;
    std::uint64_t bytes = 0;
    std::uint64_t number = 0; // version; size; distance; removed; 1: bytes lie elsewhere
};

int list_create(execution &x, const list_arguments &a);
int list_destroy(execution &x, const list_arguments &a);
int list_clear(execution &x, const list_arguments &a);
int list_size(execution &x, const list_arguments &a);
int list_insert(execution &x, const list_arguments &a);
int list_erase(execution &x, const list_arguments &a);
int list_advance(execution &x, const list_arguments &a);
int list_distance(execution &x, const list_arguments &a);
int list_fetch(execution &x, const list_arguments &a);
int list_remove(execution &x, const list_arguments &a);
int list_reverse(execution &x, const list_arguments &a);
int list_swap(execution &x, const list_arguments &a);
int list_splice(execution &x, const list_arguments &a);
int list_reorder(execution &x, const list_arguments &a);

// Bytes of an element at a rank of its own: the answer's data is their place. The structure is the heap.
int data_place(execution &x, const list_arguments &a);

// One entry of fetch's output.
struct list_fetched {
    sea_addr entry;
    std::uint64_t stamp;
    sea_addr data;
    std::uint64_t bytes;
};

} // namespace onesea::data
