// SPDX-License-Identifier: Apache-2.0
// The global heap of a rank, as a process of its node works on it: offsets as in global addresses.
#pragma once

#include "onesea.h"
#include "shm/heap.hpp"

#include <cstddef>
#include <cstdint>

namespace onesea::data {

struct owner_heap {
    int rank = -1;
    shm::heap *heap = nullptr; // nullptr: not of this node
    std::byte *memory = nullptr;

    explicit operator bool() const { return heap != nullptr; }
    std::byte *at(std::uint64_t offset) const { return memory + offset; }
    template <class T>
    T *as(std::uint64_t offset) const
    {
        return reinterpret_cast<T *>(memory + offset);
    }
    std::uint64_t offset_of(const void *place) const
    {
        return std::uint64_t(static_cast<const std::byte *>(place) - memory);
    }
    sea_addr address(std::uint64_t offset) const { return std::uint64_t(rank) << SEA_OFFSET_BITS | offset; }

    // 0: there is no room
    std::uint64_t allocate(std::uint64_t bytes) const { return heap->allocate(bytes); }
    bool release(std::uint64_t offset) const { return heap->release(offset); }

    // Some allocation holds the first and the last byte; in constant time.
    bool live(std::uint64_t offset, std::uint64_t bytes) const
    {
        return bytes <= heap->capacity() && heap->contains(offset, 1) &&
               (bytes == 0 || heap->contains(offset + bytes - 1, 1));
    }
};

} // namespace onesea::data
