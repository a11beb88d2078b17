// SPDX-License-Identifier: Apache-2.0
// Own memory as operations reach it, whoever asks: by its position in the window or in the raw space. The own heap is
// always mapped, so that it needs no care, also where it is named as raw space. All under the lock.
#include "base/wide_copy.hpp"
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
    std::byte *heap = e.shm->own_heap_memory();
    const std::uint64_t into = address - reinterpret_cast<std::uint64_t>(heap);
    const std::uint64_t capacity = e.arena.header().heap_bytes;
    return into < capacity && bytes <= capacity - into ? heap + into : nullptr;
}

namespace {

// Where it is mapped; nullptr: at the address `raw`, which may be a bad one.
struct own_place {
    void *memory = nullptr;
    std::uint64_t raw = 0;
};

int find_own(std::uint64_t position, std::uint64_t bytes, bool write, own_place *at)
{
    if (position & raw_space) {
        if (int s = check_raw(position, bytes, &at->raw)) return s;
        at->memory = own_heap_place(position, bytes);
        return SEA_OK;
    }
    shm::segment *segment = nullptr;
    return engine().resolve(position, bytes, write, &at->memory, &segment);
}

} // namespace

int own_write(std::uint64_t position, const void *from, std::size_t bytes, bool past_caches)
{
    own_place at;
    if (int s = find_own(position, bytes, true, &at)) return s;
    if (!at.memory) return engine().raw->memory().write(at.raw, from, bytes);
    if (past_caches)
        copy_past_caches(at.memory, from, bytes);
    else
        shm::copy_plain(at.memory, from, bytes);
    return SEA_OK;
}

int own_read(void *to, std::uint64_t position, std::size_t bytes)
{
    own_place at;
    if (int s = find_own(position, bytes, false, &at)) return s;
    if (!at.memory) return engine().raw->memory().read(to, at.raw, bytes);
    shm::copy_plain(to, at.memory, bytes);
    return SEA_OK;
}

int own_update(std::uint64_t position, sea_atomic_kind kind, int width, std::uint64_t operand, std::uint64_t compare,
               std::uint64_t *old)
{
    const auto bytes = std::uint64_t(width);
    own_place at;
    if (int s = find_own(position, bytes, true, &at)) return s;
    if ((at.memory ? reinterpret_cast<std::uintptr_t>(at.memory) : at.raw) % bytes) return SEA_ERR_ALIGN;
    if (!at.memory) return engine().raw->memory().update(at.raw, kind, width, operand, compare, old);
    *old = shm::cpu_atomic(at.memory, kind, width, operand, compare);
    return SEA_OK;
}

int own_writable(std::uint64_t position, std::uint64_t bytes)
{
    std::uint64_t address = 0;
    if (int s = check_raw(position, bytes, &address)) return s;
    return engine().raw->memory().writable(address, bytes);
}

} // namespace onesea::core
