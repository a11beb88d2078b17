// SPDX-License-Identifier: Apache-2.0
// A rank's registrations of its own memory: which part of its window stands for which private range. The table lies in
// the arena, so that ranks of the node can find the range and copy with process_vm_readv/writev without asking.
//
// The upper half of a window (offsets from 2^39) is divided into slices of 1 MiB. A registration takes as many
// consecutive slices as it needs; slice_[s] tells which entry a slice belongs to (0: none; beyond all entries: to one
// that was removed and may still be used), so that a lookup is two loads whatever the number of registrations. Only the
// owner changes the table, under its own lock; readers of other processes see an entry whole or not at all: `slice_` is
// published last and taken back first.
//
// A registration costs an entry and a slice's word, and nothing in its own process: what the owner needs to find room
// (which entries are free, which is the newest) stands in the entries themselves.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace onesea::shm {

inline constexpr std::uint64_t segments_from = std::uint64_t(1) << 39;
inline constexpr unsigned slice_shift = 20;
inline constexpr std::uint32_t slices = 1u << (39 - slice_shift);

struct segment {
    std::uint64_t offset; // in the window; a multiple of a slice
    std::uint64_t memory; // address in the owner's process
    std::uint64_t bytes;
    std::uint32_t flags;
    std::uint32_t users; // transfers of the owner that read or write it now; the owner's own field
    // Of registration, from 1, with `removed` once it is; of a free entry: the next free one. The owner's own field.
    std::uint64_t order;

    static constexpr std::uint64_t removed = std::uint64_t(1) << 63;
};
static_assert(sizeof(segment) + sizeof(std::uint32_t) <= 64);

std::uint64_t segment_table_bytes();

class segments {
  public:
    explicit segments(std::byte *table); // zeroed memory is an empty table

    // Owner only, serialised by the caller. The offset, or 0 if the half window or the table is full.
    std::uint64_t add(void *memory, std::uint64_t bytes, std::uint32_t flags);
    // The segment that starts at this offset, nullptr if none; then take it away.
    segment *at_start(std::uint64_t offset) const;
    void remove(segment *s); // nobody finds it any more, but its place stays taken
    void remove_all();
    segment *removed_at(std::uint64_t offset) const;
    void forget(segment *s); // nobody uses it any more: its place may be given to another
    // The newest segment that holds this byte, nullptr if none.
    const segment *holding(const void *memory) const;

    // Any process of the node, no lock: the segment that contains the whole range, nullptr if none does.
    segment *find(std::uint64_t offset, std::uint64_t bytes) const;

  private:
    std::atomic<std::uint32_t> *slice_;
    segment *entry_;
    // of the owner's object alone
    std::uint32_t unused_entry_ = 1; // from here on none was ever used
    std::uint32_t free_entry_ = 0;   // the first of those that were
    std::uint32_t low_slice_ = 0;    // no slice below it is free
    std::uint64_t order_ = 0;

    std::uint32_t take_entry();
    std::uint32_t free_slices(std::uint32_t n);
    std::uint32_t behind(const segment &s) const; // the slice behind it
    void mark(const segment &s, std::uint32_t with);
};

} // namespace onesea::shm
