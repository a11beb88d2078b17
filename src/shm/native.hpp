// SPDX-License-Identifier: Apache-2.0
// What a process does directly to memory: copies, CPU atomics, and copies from and to another process.
#pragma once

#include "base/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace onesea::shm {

// copy_of() of all; but aligned words of 4 and 8 bytes are moved whole, so that a reader never sees half of one.
void copy_plain(void *to, const void *from, std::size_t bytes);

// The value before. `address` is aligned to `width`, 4 or 8.
std::uint64_t cpu_atomic(void *address, sea_atomic_kind kind, int width, std::uint64_t operand, std::uint64_t compare);

// SEA_OK, not_native (this system does not allow it), SEA_ERR_ACCESS, SEA_ERR_DEAD. *done, if given: bytes copied.
int copy_other_process(int pid, void *remote, void *local, std::size_t bytes, bool write, std::size_t *done = nullptr);

// The same for any address, so that the error tells more: SEA_ERR_ADDRESS (not mapped) or SEA_ERR_ACCESS (read only).
int copy_anywhere(int pid, std::uint64_t remote, void *local, std::size_t bytes, bool write);

// Many pieces with few calls; raw_space in their positions is ignored. *bad: as transport::copy_pieces().
int copy_anywhere(int pid, std::span<const piece> pieces, bool write, std::size_t *bad);

} // namespace onesea::shm
