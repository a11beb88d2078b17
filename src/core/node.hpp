// SPDX-License-Identifier: Apache-2.0
// The memory of the own node, for layers above that have places of their own in the arena. Any thread, between
// sea_init() and sea_finalize().
#pragma once

#include "shm/arena.hpp"

#include <cstddef>
#include <cstdint>

namespace onesea::core {

const shm::arena &node_arena();
unsigned own_slot();
// The slot of a rank that is reached through shared memory, this one among them; shm::no_slot for others.
unsigned slot_of(int rank);
// Wakes the rank of a slot if it sleeps as deeply as that; see shm::asleep_for_messages.
void knock(unsigned slot, std::uint32_t needs);
// More ranks than cores: spinning takes the core from who could do the work.
bool crowded();
// Where memory of the process of a slot, by its address there, is mapped in this one; nullptr: nowhere.
const std::byte *mapped_here(unsigned slot, std::uint64_t address, std::size_t bytes);
// Copies from and to the memory of another process of the node: SEA_OK, not_native (the system does not allow it),
// SEA_ERR_*.
int copy_from_process(unsigned slot, std::uint64_t address, void *to, std::size_t bytes);
int copy_to_process(unsigned slot, const void *from, std::uint64_t address, std::size_t bytes);

} // namespace onesea::core
