// SPDX-License-Identifier: Apache-2.0
// Bytes in a block of the owner's heap: vector, deque, and what a queue keeps its elements in.
//
//   block:  |  free  |  contents  |  free  |      begin, size; a vector's contents begin at 0
//
// The words that describe it stand twice; `current` says which ones count. A change writes bytes where none are (or
// into a new block), then the other words, then `current`: whoever dies before that has changed nothing, whoever dies
// behind it leaves at most the old block allocated. Only what moves bytes that count is marked as editing: insert and
// erase in the middle, write, swap, and what is said below.
//
// The contents stay contiguous. Where a deque (or queue) has no room at one end but much at the other they move inside
// the block, if that is to a place that does not overlap the old one; so they are whole at any moment, and since at
// least two thirds of the block are free then, each byte moved stands for one that was popped or is still to come.
// Where less is free they go to a longer block; if the heap has none, and the bytes fit into this one, they move inside
// it over their old place, as editing and at the cost of a copy of all of them.
#pragma once

#include "data/execution.hpp"

namespace onesea::data {

struct sequence_state {
    std::uint64_t block = 0; // 0: none
    std::uint64_t capacity = 0;
    std::uint64_t begin = 0, size = 0;
    std::uint64_t elements = 0; // of a queue
};

struct sequence_control : control {
    std::atomic<std::uint32_t> current;
    std::uint32_t zero;
    sequence_state state[2];
};

using locked_sequence = locked_structure<sequence_control>;

class sequence {
  public:
    // Of a locked structure. status(): SEA_ERR_INTERNAL if the words make no sense.
    sequence(execution &x, sequence_control &c) : x_(x), c_(c), s_(c.state[c.current.load() & 1]) {}
    int check();

    std::uint64_t size() const { return s_.size; }
    std::uint64_t capacity() const { return s_.capacity; }
    std::uint64_t elements() const { return s_.elements; }
    const std::byte *bytes() const { return x_.heap.at(s_.block + s_.begin); }
    std::uint64_t offset_of(std::uint64_t position) const { return s_.block + s_.begin + position; }

    int reserve(std::uint64_t bytes);
    void clear();
    int insert(std::uint64_t position, std::span<const std::byte> data);
    void erase(std::uint64_t position, std::uint64_t bytes); // inside
    void write(std::uint64_t position, std::span<const std::byte> data);
    int assign(std::span<const std::byte> data);
    void drop(); // the block, when the structure is destroyed

    // Room for `bytes` behind the contents: *place; add() makes them part of the contents.
    int room_behind(std::uint64_t bytes, std::byte **place);
    void add(std::uint64_t bytes, std::uint64_t elements);
    // The first bytes are no part of the contents any more.
    void take_front(std::uint64_t bytes, std::uint64_t elements);

    static void exchange(sequence_control &a, sequence_control &b);

  private:
    execution &x_;
    sequence_control &c_;
    sequence_state s_;

    bool fixed_front() const { return c_.magic.load(std::memory_order_relaxed) == kind::vector; }
    bool centred() const { return c_.magic.load(std::memory_order_relaxed) == kind::deque; }
    void publish(const sequence_state &s);
    std::uint64_t place_for(std::uint64_t capacity, std::uint64_t front, std::uint64_t bytes) const;
    bool fits_block(std::uint64_t whole) const;
    bool roomy(std::uint64_t whole) const;
    int slide(std::uint64_t front, std::uint64_t back);
    int new_block(std::uint64_t wanted, std::uint64_t least, sequence_state *s);
    int make_room(std::uint64_t front, std::uint64_t back);
    int insert_at_end(std::uint64_t position, std::span<const std::byte> data);
    int insert_by_copy(std::uint64_t position, std::span<const std::byte> data);
    void insert_in_place(std::uint64_t position, std::span<const std::byte> data);
};

// ---- verbs ----

struct sequence_arguments {
    kind what;
    std::uint32_t flags;
    std::uint64_t position; // create: capacity; swap: the other handle
    std::uint64_t bytes;
};
inline constexpr std::uint32_t from_end =
    1; // position counts from the end: insert: 0 is the end; erase: the last bytes
inline constexpr std::uint32_t want_bytes = 2; // erase: give the bytes out
inline constexpr std::uint32_t rest = 4;       // bytes: all from the position on
inline constexpr std::uint32_t exactly = 8;    // bytes is a number, also if it is SEA_REST

struct sequence_answer {
    std::uint64_t position; // insert: where; at: the address; create: the handle; extent: size
    std::uint64_t capacity;
};

int sequence_create(execution &x, const sequence_arguments &a);
int sequence_destroy(execution &x, const sequence_arguments &a);
int sequence_extent(execution &x, const sequence_arguments &a);
int sequence_reserve(execution &x, const sequence_arguments &a);
int sequence_clear(execution &x, const sequence_arguments &a);
int sequence_insert(execution &x, const sequence_arguments &a);
int sequence_erase(execution &x, const sequence_arguments &a);
int sequence_read(execution &x, const sequence_arguments &a);
int sequence_write(execution &x, const sequence_arguments &a);
int sequence_assign(execution &x, const sequence_arguments &a);
int sequence_at(execution &x, const sequence_arguments &a);
int sequence_swap(execution &x, const sequence_arguments &a);

// A new control block of that kind; C is cleared and has its tag. nullptr: no room (x tells).
template <class C>
C *new_control(execution &x, kind k, sea_addr *handle)
{
    const std::uint64_t offset = x.heap.allocate(sizeof(C));
    if (offset == 0) {
        x.refuse(SEA_ERR_MEMORY, why::no_room, sizeof(C));
        return nullptr;
    }
    const std::uint32_t tag = next_tag(x.heap);
    C *c = new (x.heap.at(offset)) C{};
    c->tag = tag;
    c->magic.store(k, std::memory_order_release);
    *handle = x.heap.address(offset) | tag;
    return c;
}

// Ends a locked structure: nobody takes it for one any more, and its memory is free.
template <class C>
void end_control(execution &x, locked_structure<C> &s)
{
    const std::uint64_t offset = x.heap.offset_of(&*s);
    s->magic.store(kind::none, std::memory_order_release);
    give_lock(*s);
    s.forget();
    x.heap.release(offset);
}

} // namespace onesea::data
