// SPDX-License-Identifier: Apache-2.0
#include "core/node.hpp"

#include "core/engine.hpp"
#include "shm/native.hpp"

namespace onesea::core {

const shm::arena &node_arena() { return engine().arena; }
unsigned own_slot() { return engine().slot; }
unsigned slot_of(int rank) { return engine().shm->slot_of(rank); }
void knock(unsigned slot, std::uint32_t needs) { engine().shm->ring_if_asleep(slot, needs); }
bool crowded() { return engine().sleep.oversubscribed; }

const std::byte *mapped_here(unsigned slot, std::uint64_t address, std::size_t bytes)
{
    return engine().shm->shared_place(slot, address, bytes);
}

int copy_from_process(unsigned slot, std::uint64_t address, void *to, std::size_t bytes)
{
    return shm::copy_anywhere(engine().shm->pid_of(slot), address, to, bytes, false);
}

int copy_to_process(unsigned slot, const void *from, std::uint64_t address, std::size_t bytes)
{
    return shm::copy_anywhere(engine().shm->pid_of(slot), address, const_cast<void *>(from), bytes, true);
}

} // namespace onesea::core
