// SPDX-License-Identifier: Apache-2.0
// Own memory as operations reach it, whoever asks: by its position in the window or in the raw space. The own heap is
// always mapped, so that it needs no care, also where it is named as raw space. All under the lock.
#include "core/engine.hpp"
#include "core/transfer.hpp"
#include "shm/native.hpp"

namespace onesea::core {
namespace {

// SEA_OK: *address may be tried.
int check_raw(std::uint64_t position, std::uint64_t bytes, std::uint64_t *address)
{
    auto &e = engine();
    if (!e.raw || !e.raw->open) return SEA_ERR_ACCESS;
    *address = position & ~raw_space;
    return in_raw_space(position, bytes) ? SEA_OK : SEA_ERR_ADDRESS;
}

} // namespace

std::byte *own_heap_place(std::uint64_t position, std::uint64_t bytes)
{
    auto &e = engine();
    std::uint64_t address = 0;
    if (check_raw(position, bytes, &address) != SEA_OK) return nullptr;
    std::byte *heap = e.shm->heap_memory(e.rank);
    const std::uint64_t into = address - reinterpret_cast<std::uint64_t>(heap);
    const std::uint64_t capacity = e.arena.header().heap_bytes;
    return into < capacity && bytes <= capacity - into ? heap + into : nullptr;
}

int own_write(std::uint64_t position, const void *from, std::size_t bytes)
{
    auto &e = engine();
    void *memory = nullptr;
    shm::segment *segment = nullptr;
    if (position & raw_space) {
        std::uint64_t address = 0;
        if (int s = check_raw(position, bytes, &address)) return s;
        if (!(memory = own_heap_place(position, bytes))) return e.raw->memory().write(address, from, bytes);
    } else if (int s = e.resolve(position, bytes, true, &memory, &segment)) {
        return s;
    }
    shm::copy_plain(memory, from, bytes);
    return SEA_OK;
}

int own_read(void *to, std::uint64_t position, std::size_t bytes)
{
    auto &e = engine();
    void *memory = nullptr;
    shm::segment *segment = nullptr;
    if (position & raw_space) {
        std::uint64_t address = 0;
        if (int s = check_raw(position, bytes, &address)) return s;
        if (!(memory = own_heap_place(position, bytes))) return e.raw->memory().read(to, address, bytes);
    } else if (int s = e.resolve(position, bytes, false, &memory, &segment)) {
        return s;
    }
    shm::copy_plain(to, memory, bytes);
    return SEA_OK;
}

int own_update(std::uint64_t position, sea_atomic_kind kind, int width, std::uint64_t operand, std::uint64_t compare,
               std::uint64_t *old)
{
    auto &e = engine();
    const auto bytes = std::uint64_t(width);
    void *memory = nullptr;
    shm::segment *segment = nullptr;
    if (position & raw_space) {
        std::uint64_t address = 0;
        if (int s = check_raw(position, bytes, &address)) return s;
        if (address % bytes) return SEA_ERR_ALIGN;
        memory = own_heap_place(position, bytes);
        if (!memory) return e.raw->memory().update(address, kind, width, operand, compare, old);
    } else if (int s = e.resolve(position, bytes, true, &memory, &segment)) {
        return s;
    }
    if (reinterpret_cast<std::uintptr_t>(memory) % bytes) return SEA_ERR_ALIGN;
    *old = shm::cpu_atomic(memory, kind, width, operand, compare);
    return SEA_OK;
}

int own_writable(std::uint64_t position, std::uint64_t bytes)
{
    std::uint64_t address = 0;
    if (int s = check_raw(position, bytes, &address)) return s;
    return engine().raw->memory().writable(address, bytes);
}

} // namespace onesea::core
