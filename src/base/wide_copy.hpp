// SPDX-License-Identifier: Apache-2.0
// Copies for transfers so long that the caches cannot hold them. An ordinary copy reads each line of its target before
// it overwrites it, which pays where somebody looks at the bytes soon; here they would be gone from the caches by then.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onesea {

// What frames of puts and of answers to gets say in `aux`: whole MiB of the transfer that they are a piece of.
std::uint16_t transfer_scale(std::uint64_t bytes);

// Whether pieces of a transfer of this scale, from another node, are better written past the caches of this machine.
bool passes_caches(std::uint16_t scale);

// memmove() of a piece of what is `whole` bytes long, from memory of this machine: past the caches if they cannot hold
// it.
void copy_of(std::uint64_t whole, void *to, const void *from, std::size_t bytes);

// Bytes of a cache as the kernel tells them in such a file ("32768K"); 0: it does not.
std::uint64_t cache_size_in(const char *file);

// memcpy() past the caches, where the processor can; ordered before everything that the caller writes afterwards.
void copy_past_caches(void *to, const void *from, std::size_t bytes);

} // namespace onesea
