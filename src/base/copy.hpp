// SPDX-License-Identifier: Apache-2.0
// memcpy() without the slow case of `rep movsb`, with which the C library and the kernel copy a few KB and more.
//
// Some processors (measured: Zen 3; glibc's bug 30994 names Zen 4, too) take up to twenty times as long for it where
// the target lies a little behind the source modulo the size of a page: 4 KB took 2.2 us instead of 0.1, 64 KB 22 to 35
// instead of 1.6, a datagram of 32 KB 11 to 17 to receive instead of 1.5 to 2. Heaps begin at a page and long blocks of
// malloc() 16 bytes behind one, so what is copied from the start of a heap to such a block meets it each time.
#pragma once

#include "base/pages.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace onesea {

inline bool copies_slowly(const void *to, const void *from)
{
    const auto ahead = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
    return (ahead - 1) % page_bytes < 31;
}

// As memcpy(), in pieces for which the C library takes loops.
void copy_in_short_pieces(void *to, const void *from, std::size_t bytes);

inline void copy_bytes(void *to, const void *from, std::size_t bytes)
{
    constexpr std::size_t least_slow = 2048;
    if (bytes >= least_slow && copies_slowly(to, from))
        copy_in_short_pieces(to, from, bytes);
    else
        std::memcpy(to, from, bytes);
}

} // namespace onesea
