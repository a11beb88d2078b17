// SPDX-License-Identifier: Apache-2.0
#include "core/windows.hpp"

#include "core/engine.hpp"
#include "core/transfer.hpp"
#include "shm/native.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace onesea::core {
namespace {

constexpr std::uint64_t nowhere = ~std::uint64_t(0);

// Before sea_init() and after the end: one window that contains no address.
sea_window_ closed{nowhere, 0, nullptr, nullptr, 0, 0, 0, nullptr};

// In the page of this process, so that what the inlined path counts is seen there.
std::span<sea_window_> table;

// Where live memory is mapped; nullptr: it is of no window, or long. What is longer has time for the way without.
char *place_in_window(sea_addr address, std::size_t bytes)
{
    constexpr std::size_t most = 1024;
    if (bytes - 1 >= most) return nullptr;
    const sea_window_ &w = sea_fast_.windows[(address >> SEA_OFFSET_BITS) & sea_fast_.mask];
    const std::uint64_t offset = address - __atomic_load_n(&w.start, __ATOMIC_ACQUIRE);
    if (offset > w.last || bytes > w.last + 8 - offset) return nullptr;
    return shm::heap::in_one_allocation(w.live, offset, bytes) ? w.memory + offset : nullptr;
}

sea_window_ &entry_of(int rank) { return table[std::size_t(rank) & (table.size() - 1)]; }

} // namespace

// Others may look into the entry meanwhile: they read the start first, and find nothing there until all else is right.
void open_window(int rank)
{
    auto &e = engine();
    std::int32_t &owner = e.counts->owners()[std::size_t(rank) & (table.size() - 1)];
    const unsigned slot = e.shm->slot_of(rank);
    if (slot == shm::no_slot || owner != 0)
        return; // two ranks of one place: the second takes the way through the library
    const shm::heap *heap = e.shm->heap_of(rank);
    owner = rank + 1;
    sea_window_ &w = entry_of(rank);
    w.last = heap->capacity() - 8;
    w.memory = reinterpret_cast<char *>(e.shm->heap_memory(rank));
    w.live = heap->live();
    w.asleep = &e.arena.slot_at(slot).sleeping;
    __atomic_store_n(&w.start, std::uint64_t(rank) << SEA_OFFSET_BITS, __ATOMIC_RELEASE);
}

void open_windows()
{
    auto &e = engine();
    static_assert(shm::heap_granule == 1u << SEA_GRANULE_SHIFT_);
    table = e.counts->windows();
    std::fill(table.begin(), table.end(), closed);
    for (unsigned s = 0; s < e.arena.header().slots; ++s)
        if (int rank = e.arena.slot_at(s).rank; rank >= 0) open_window(rank);
    sea_fast_.mask = 0; // never an index out of the table while the two change
    sea_fast_.windows = table.data();
    sea_fast_.mask = table.size() - 1;
}

// What others may be looking into keeps its length: it goes to the end of all addresses, where no heap is. `nowhere`
// would not do, since behind it the addresses of rank 0 begin anew.
void close_window(int rank)
{
    if (table.empty()) return;
    sea_window_ &w = entry_of(rank);
    std::uint64_t own = std::uint64_t(rank) << SEA_OFFSET_BITS;
    if (__atomic_load_n(&w.start, __ATOMIC_ACQUIRE) == own)
        __atomic_compare_exchange_n(&w.start, &own, -(w.last + 8), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void close_windows()
{
    sea_fast_.mask = 0;
    sea_fast_.windows = &closed;
}

bool window_put(sea_addr target, const void *source, std::size_t bytes)
{
    if (!source) return false;
    if (bytes == 8) {
        sea_window_ *window;
        std::uint64_t *word, value;
        if (!sea_fast_word_(target, &window, &word)) return false;
        std::memcpy(&value, source, sizeof value);
        __atomic_store_n(word, value, __ATOMIC_RELAXED);
        sea_fast_count_(&window->puts);
        return true;
    }
    char *to = place_in_window(target, bytes);
    if (!to) return false;
    shm::copy_plain(to, source, bytes);
    count(sea_addr_rank(target), &pair_counts::puts, bytes, 0);
    return true;
}

bool window_get(void *target, sea_addr source, std::size_t bytes)
{
    if (!target) return false;
    if (bytes == 8) {
        sea_window_ *window;
        std::uint64_t *word;
        if (!sea_fast_word_(source, &window, &word)) return false;
        const std::uint64_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
        std::memcpy(target, &value, sizeof value);
        sea_fast_count_(&window->gets);
        return true;
    }
    const char *from = place_in_window(source, bytes);
    if (!from) return false;
    shm::copy_plain(target, from, bytes);
    count(sea_addr_rank(source), &pair_counts::gets, 0, bytes);
    return true;
}

bool window_atomic(sea_addr address, sea_atomic_kind kind, int width, std::uint64_t operand, std::uint64_t compare,
                   std::uint64_t *old)
{
    sea_window_ &w = sea_fast_.windows[(address >> SEA_OFFSET_BITS) & sea_fast_.mask];
    std::uint64_t offset = address - __atomic_load_n(&w.start, __ATOMIC_ACQUIRE);
    if (address % std::uint64_t(width) || offset > w.last || w.live[offset >> SEA_GRANULE_SHIFT_] == 0) return false;
    *old = shm::cpu_atomic(w.memory + offset, kind, width, operand, compare);
    __atomic_store_n(&w.atomics, __atomic_load_n(&w.atomics, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    auto *asleep = static_cast<const std::atomic<std::uint32_t> *>(w.asleep);
    int rank = sea_addr_rank(address);
    if (rank == engine().rank)
        nudge();
    else if (asleep->load(std::memory_order_seq_cst) == shm::asleep_for_memory)
        engine().shm->wake(rank);
    return true;
}

void count_inlined(int rank, sea_pair_stats *stats)
{
    if (table.empty()) return;
    const sea_window_ &w = entry_of(rank);
    if (engine().counts->owners()[std::size_t(rank) & (table.size() - 1)] != rank + 1) return;
    std::uint64_t puts = __atomic_load_n(&w.puts, __ATOMIC_RELAXED), gets = __atomic_load_n(&w.gets, __ATOMIC_RELAXED);
    stats->puts += puts;
    stats->gets += gets;
    stats->atomics += __atomic_load_n(&w.atomics, __ATOMIC_RELAXED);
    stats->bytes_out += puts * 8;
    stats->bytes_in += gets * 8;
}

} // namespace onesea::core

struct sea_fast_ sea_fast_ = {&onesea::core::closed, 0};
