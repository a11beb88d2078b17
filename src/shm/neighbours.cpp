// SPDX-License-Identifier: Apache-2.0
#include "shm/neighbours.hpp"

#include "base/log.hpp"

#include <cstring>
#include <new>

namespace onesea::shm {

neighbours::neighbours(const arena &a, unsigned own_slot, bool only_self)
    : arena_(a), only_self_(only_self), first_(a.slot_at(only_self ? own_slot : 0).rank),
      starters_(only_self ? 1 : a.header().starters), offset_(only_self ? own_slot : 0), world_(a.header().world),
      late_(only_self ? 0 : a.header().slots - a.header().starters), heaps_(a.header().slots)
{
    if (a.map_heap(own_slot) != 0) throw std::bad_alloc();
    for (unsigned s = offset_; s < offset_ + starters_; ++s) heaps_[s].emplace(a.heap_meta(s));
}

unsigned neighbours::late_slot_of(int rank) const
{
    const unsigned known = late_known_.load(std::memory_order_acquire);
    for (unsigned i = 0; i < known; ++i)
        if (late_[i] == rank) return starters_ + i;
    const arena_header &h = arena_.header();
    if (unsigned(rank) >= h.ranks.load(std::memory_order_acquire) || arena_.ranks().node(rank) != h.node)
        return no_slot;
    return learn(rank);
}

unsigned neighbours::learn(int rank) const
{
    std::lock_guard lock(mutex_);
    unsigned found = no_slot;
    for (unsigned i = 0; i < late_.size(); ++i) {
        const unsigned slot = starters_ + i;
        const int theirs = arena_.slot_at(slot).rank.load(std::memory_order_acquire);
        if (theirs < 0) break; // slots are given in order
        if (i >= late_known_.load(std::memory_order_relaxed)) {
            if (int error = arena_.map_heap(slot)) {
                log(level::warn, "the heap of rank {} cannot be mapped: {}", theirs, std::strerror(-error));
                break;
            }
            late_[i] = theirs;
            heaps_[slot].emplace(arena_.heap_meta(slot));
            late_known_.store(i + 1, std::memory_order_release);
        }
        if (theirs == rank) found = slot;
    }
    return found;
}

} // namespace onesea::shm
