// SPDX-License-Identifier: Apache-2.0
// The bytes that belong to a key: by them memory tells who has written it. Those of key 0 are zeros, as all memory
// begins.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onesea::sim {

std::byte pattern(std::uint64_t key, std::uint64_t at);

// Of bytes `from` on.
void set_pattern(std::byte *memory, std::uint64_t key, std::uint64_t from, std::uint64_t bytes);
bool holds_pattern(const std::byte *memory, std::uint64_t key, std::uint64_t from, std::uint64_t bytes);

} // namespace onesea::sim
