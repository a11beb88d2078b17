// SPDX-License-Identifier: Apache-2.0
// Pages of memory: what is mapped, and what the kernel counts, lends and looks at as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unistd.h>

namespace onesea {

inline constexpr std::uint64_t page_bytes = 4096; // of x86-64; also the places of what processes share follow from it

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr std::uint64_t page_up(std::uint64_t n) { return round_up(n, page_bytes); }

// How many these bytes lie in.
inline std::size_t pages_of(const void *at, std::size_t bytes)
{
    const auto first = reinterpret_cast<std::uintptr_t>(at);
    return bytes ? (first + bytes - 1) / page_bytes - first / page_bytes + 1 : 0;
}

// Bytes of the machine: all (_SC_PHYS_PAGES), or those that are free (_SC_AVPHYS_PAGES).
inline std::uint64_t memory_of_machine(int pages)
{
    return std::uint64_t(sysconf(pages)) * std::uint64_t(sysconf(_SC_PAGESIZE));
}

} // namespace onesea
