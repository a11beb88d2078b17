// SPDX-License-Identifier: Apache-2.0
// The allocator of a rank's global heap, run by any process of the node on shared memory.
//
// Two-level segregated fit: free blocks hang in lists by size class (power of two, split in 16), two levels of bitmaps
// find a class that fits, so that allocating and freeing take constant time. All of it is kept apart from the data, in
// granules of 64 bytes, as numbers and not pointers:
//
//   live[g]    0: free   1: first granule of an allocation   2: its continuation        <- read by the inlined path
//   extent[g]  at the first granule of a block, free or not: its length; at the last granule of a free block also
//              (so that the block behind it finds its start)
//   next[g], prev[g]  links of a free list, at the first granule of a free block
//
// `live`, with `extent` at the start of allocations, is the truth: a process may be killed at any instant while it
// holds the lock (a robust mutex). The next to take the lock rebuilds lists, bitmaps and extents of free space from the
// allocations that are complete in `live`. Order of writes: an allocation gets its extent before its first live mark;
// marks of a freed block go first granule first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>

namespace onesea::shm {

std::uint64_t heap_meta_bytes(std::uint64_t heap_bytes);

class heap {
  public:
    // Makes an empty heap of `bytes` (multiple of 64) in zeroed memory at `meta`. The first granules, reserved so that
    // offset 0 is never given out, stay not live.
    static void format(std::byte *meta, std::uint64_t bytes);

    explicit heap(std::byte *meta);

    // Offset of `bytes` (> 0) of fresh memory, or 0 if there is no such room.
    std::uint64_t allocate(std::uint64_t bytes);

    // False if nothing starts there.
    bool release(std::uint64_t offset);

    // True if offset .. offset + bytes lies inside one allocation. No lock.
    bool contains(std::uint64_t offset, std::uint64_t bytes) const;
    // The same by what live() gave, of one byte or more inside the capacity.
    static bool in_one_allocation(const unsigned char *live, std::uint64_t offset, std::uint64_t bytes);

    // Offset of the first allocation that starts there or behind, 0 if none does.
    std::uint64_t next(std::uint64_t offset);

    // Consecutive numbers over all processes, to tell what is made here from what was. They start again after 2^32.
    std::uint32_t next_number();

    // The allocation that holds this byte: first and end offset; false if there is none.
    bool extent(std::uint64_t offset, std::uint64_t *first, std::uint64_t *end);

    std::uint64_t capacity() const;
    std::uint64_t used() const;
    std::uint64_t largest_free();
    const unsigned char *live() const { return live_; }

    // Checks every invariant of lists, bitmaps and marks; for tests.
    bool consistent();

    // For tests: the next lock() acts as if the last holder had died inside.
    void damage_for_test();

  private:
    struct control;
    class lock;
    control *control_;
    unsigned char *live_;
    std::uint32_t *extent_;
    std::uint32_t *next_;
    std::uint32_t *prev_;

    void insert(std::uint32_t block, std::uint32_t length);
    void remove(std::uint32_t block, std::uint32_t length);
    std::uint32_t find(std::uint32_t length);
    void rebuild();
};

} // namespace onesea::shm
