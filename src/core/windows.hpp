// SPDX-License-Identifier: Apache-2.0
// The table behind the inlined path of onesea/inline.h, and the counts of operations towards ranks of the node.
#pragma once

#include "onesea.h"

#include <cstddef>
#include <cstdint>

namespace onesea::core {

void open_windows();         // all ranks of the node
void open_window(int rank);  // one that came later; nothing if it is of another node
void close_window(int rank); // it has ended: the library tells. Any thread
void close_windows();

// Puts, gets and atomics on live heap memory of the node, the short way; false: take the long one, which also finds
// what is wrong. Up to 1 KB. width is 4 or 8, kind is known.
bool window_put(sea_addr target, const void *source, std::size_t bytes);
bool window_get(void *target, sea_addr source, std::size_t bytes);
bool window_atomic(sea_addr address, sea_atomic_kind kind, int width, std::uint64_t operand, std::uint64_t compare,
                   std::uint64_t *old);

// How often the inlined path was taken towards that rank.
void count_inlined(int rank, sea_pair_stats *stats);

} // namespace onesea::core
