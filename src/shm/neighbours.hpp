// SPDX-License-Identifier: Apache-2.0
// The ranks of this node: their slots and heaps, for any thread without a lock, also while ranks come. Those from the
// start have consecutive numbers and slots; the others are few, and are looked up in the arena once.
#pragma once

#include "shm/arena.hpp"
#include "shm/heap.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

namespace onesea::shm {

class neighbours {
  public:
    // only_self: no other rank is reached.
    neighbours(const arena &a, unsigned own_slot, bool only_self);

    unsigned slot_of(int rank) const // no_slot: it is no rank of this node
    {
        if (unsigned i = unsigned(rank) - unsigned(first_); i < starters_) return offset_ + i;
        return only_self_ || unsigned(rank) < world_ ? no_slot : late_slot_of(rank);
    }
    heap &heap_at(unsigned slot) const { return *heaps_[slot]; } // of a slot that slot_of() has given

  private:
    const arena &arena_;
    const bool only_self_;
    int first_;                     // of the ranks that were there at the start
    unsigned starters_, offset_;    // how many they are, and the slot of the first
    unsigned world_;                // how many the job started with
    mutable std::vector<int> late_; // their ranks, by slot from `starters_` on; the first late_known_ are good
    mutable std::atomic<unsigned> late_known_{0};
    mutable std::mutex mutex_;                       // of learning
    mutable std::vector<std::optional<heap>> heaps_; // by slot

    unsigned late_slot_of(int rank) const;
    unsigned learn(int rank) const;
};

} // namespace onesea::shm
