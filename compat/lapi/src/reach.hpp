// SPDX-License-Identifier: Apache-2.0
// Where a pointer of another task leads.
#pragma once

#include "context.hpp"

#include <cstring>

namespace lapi {

// The global address of memory that `t` shares with its node, or SEA_NULL: private memory.
inline sea_addr shared_address(const context &c, uint t, lapi_long_t pointer, ulong bytes)
{
    const task &peer = c.tasks[t];
    lapi_long_t offset = pointer - peer.heap;
    if (offset >= peer.heap_bytes || bytes > peer.heap_bytes - offset) return SEA_NULL;
    return lapi_long_t(t) << SEA_OFFSET_BITS | offset;
}

// That memory as this task sees it, if it can load and store it and all of it is allocated; else null.
inline char *near_memory(const context &c, uint t, lapi_long_t pointer, ulong bytes)
{
    if (!c.tasks[t].near.load(std::memory_order_relaxed) || bytes == 0) return nullptr;
    sea_addr first = shared_address(c, t, pointer, bytes);
    if (first == SEA_NULL) return nullptr;
    return static_cast<char *>(sea_local_range(first, bytes));
}

// Words that are aligned on both sides are not torn; whoever asks for more uses Rmw.
inline void copy_here(void *to, const void *from, ulong bytes)
{
    auto aligned = [&](std::uintptr_t n) {
        return ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % n) == 0;
    };
    if (bytes == 8 && aligned(8))
        __atomic_store_n(static_cast<std::uint64_t *>(to),
                         __atomic_load_n(static_cast<const std::uint64_t *>(from), __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    else if (bytes == 4 && aligned(4))
        __atomic_store_n(static_cast<std::uint32_t *>(to),
                         __atomic_load_n(static_cast<const std::uint32_t *>(from), __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    else
        std::memcpy(to, from, bytes);
}

} // namespace lapi
