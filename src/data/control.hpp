// SPDX-License-Identifier: Apache-2.0
// What every structure begins with, and its lock.
//
//   handle:  | rank | offset of the control block, 64-byte aligned | 6 bits of tag |
//
// The lock is a word that holds the rank that works on the structure, plus one. It is taken by compare and swap, on the
// memory of the owner's node, by processes of that node only. A rank that has ended loses it to the next who comes.
// What makes that safe: changes become visible by one store (`current` of a sequence, the link of a list), so that
// a change that was cut was not begun or is done but for what the next holder repairs; where this cannot be, `editing`
// is set around the stores, and who finds it set by a dead holder marks the structure as broken.
#pragma once

#include "base/clock.hpp"
#include "base/transport.hpp"
#include "data/owner_heap.hpp"

#include <atomic>

namespace onesea::data {

enum class kind : std::uint32_t { // magic numbers, so that other memory is not taken for a structure
    none = 0,
    vector = 0x76656331,
    deque = 0x64657131,
    queue = 0x71756531,
    list = 0x6c737431,
    table = 0x74626c31, // spread over ranks, with locks of its own: table_part.hpp
};

const char *name_of(kind k);

struct control {
    std::atomic<kind> magic;           // none: destroyed
    std::uint32_t tag;                 // of the handle: 1..63
    std::atomic<std::uint32_t> holder; // of the lock: its rank + 1
    std::atomic<std::uint32_t> editing;
    std::uint32_t broken;                  // the rank + 1 that ended in the middle
    std::uint32_t cut;                     // what was marked then: a level
    std::atomic<std::uint32_t> taken_over; // from a dead holder, and not yet repaired
    std::uint32_t zero;
};
static_assert(sizeof(control) == 32);

inline constexpr std::uint64_t tag_mask = 63;

// A tag comes again with the 63rd structure after it at that owner, whatever lay in its place meanwhile.
inline std::uint32_t next_tag(const owner_heap &heap) { return heap.heap->next_number() % 63 + 1; }

// Who asks for a lock, and how long it may wait.
struct who_locks {
    int rank = -1;
    bool (*alive)(int rank) = nullptr;
    nanoseconds deadline = 0; // 0: only for some microseconds (the thread has others to serve)
};

enum class lock_result { taken, busy, gone };

// gone: it is no such structure (any more). busy: the deadline has passed.
lock_result take_lock(control &c, kind k, std::uint32_t tag, const owner_heap &heap, const who_locks &who);
void give_lock(control &c);

// What a cut change leaves in disorder: contents only, or also what memory belongs to the structure.
enum class level : std::uint32_t { contents = 1, ownership = 2 };

// Around stores that leave a broken structure if only some of them are made.
class editing {
  public:
    editing(control &c, level what) : control_(c) { c.editing.store(std::uint32_t(what), std::memory_order_seq_cst); }
    ~editing() { control_.editing.store(0, std::memory_order_seq_cst); }
    editing(const editing &) = delete;
    editing &operator=(const editing &) = delete;

  private:
    control &control_;
};

} // namespace onesea::data
