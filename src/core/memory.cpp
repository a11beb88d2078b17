// SPDX-License-Identifier: Apache-2.0
// The global heap, registrations, and the two kinds of address.
#include "base/pages.hpp"
#include "core/extents.hpp"
#include "core/transfer.hpp"
#include "shm/careful_memory.hpp"

#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <sys/uio.h>
#include <unistd.h>

namespace onesea::core {
namespace {

// What the caller of an allocation waits for; where it no longer does, the block goes back when it comes.
struct claim {
    std::uint64_t offset = 0;
    bool given_up = false;
};

void give_back_late(operation *op)
{
    const auto &c = *static_cast<const claim *>(op->owner.get());
    if (c.given_up && c.offset) free_later(engine_held, std::uint64_t(op->target) << SEA_OFFSET_BITS | c.offset);
}

// Asks the rank and waits for the words of its answer. position goes into the frame.
int ask(int rank, frame_type type, std::uint64_t position, std::uint64_t argument, void *answer, std::size_t bytes,
        const std::shared_ptr<claim> &late = nullptr)
{
    locked lock = enter();
    operation *op = begin(rank, nullptr);
    op->kind = heap_call;
    op->result_is_ours = !late;
    op->owner = late;
    if (late) op->finished = give_back_late;
    run_or_defer(op, [&](operation *o) {
        o->local_at_end = true;
        o->memory = answer;
        o->bytes = bytes;
        outgoing m;
        m.head.type = type;
        m.head.position = position;
        m.payload = &argument;
        m.bytes = type == frame_type::alloc ? sizeof argument : 0;
        send_message(o, rank, m, ends_by::answer);
    });
    const int s = conclude(lock, op, nullptr, true);
    if (late && s == SEA_ERR_TIMEOUT) late->given_up = true;
    return s;
}

void freed_later(operation *op) { forget_extents(op->target); }

int no_room(int rank, std::size_t bytes, std::uint64_t capacity, std::uint64_t used, std::uint64_t largest)
{
    return fail(SEA_ERR_MEMORY,
                "rank {} has no {} bytes of global heap: {} of {} are in use, the largest free range has {}; "
                "--heap sets the capacity",
                rank, bytes, used, capacity, largest);
}

int alloc_far(int rank, std::size_t bytes, std::uint64_t *offset)
{
    const auto answer = std::make_shared<claim>();
    int s = ask(rank, frame_type::alloc, 0, bytes, &answer->offset, sizeof answer->offset, answer);
    if (s == SEA_OK) *offset = answer->offset; // one that comes after all is being written, perhaps
    if (s != SEA_ERR_MEMORY) return s;
    std::uint64_t words[3] = {};
    if (int problem = ask(rank, frame_type::usage, 0, 0, words, sizeof words)) return problem;
    return no_room(rank, bytes, words[0], words[1], words[2]);
}

constexpr std::size_t quick_to_look_at = 64 << 20;

// Every page of the range can be read by this process: the kernel is asked, so that a bad range is an error and not a
// crash. Of a large one all pages are mapped, and some are read.
bool accessible(const void *memory, std::size_t bytes)
{
    auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + bytes;
    if (end < begin) return false;
    if (bytes > quick_to_look_at && !shm::all_mapped(begin, bytes)) return false;
    constexpr std::size_t at_once = 256;
    std::array<iovec, at_once> from;
    std::array<char, at_once> bytes_read;
    for (std::uintptr_t at = begin; at < end;) {
        std::size_t n = 0;
        for (; n < at_once && at < end; ++n) {
            from[n] = {reinterpret_cast<void *>(at), 1};
            const std::uintptr_t step = bytes > quick_to_look_at ? 256 * page_bytes : page_bytes;
            const std::uintptr_t next = (at & ~(page_bytes - 1)) + step;
            at = next >= end && at < end - 1 ? end - 1 : next;
        }
        iovec to{bytes_read.data(), n};
        const ssize_t got = process_vm_readv(getpid(), &to, 1, from.data(), n, 0);
        if (got != ssize_t(n)) return got < 0 && (errno == EPERM || errno == ENOSYS); // else it sets no errno
    }
    return true;
}

} // namespace

void free_later(engine_held_t, sea_addr address)
{
    const int rank = rank_of(address);
    const std::uint64_t offset = sea_addr_offset(address);
    if (engine().check_rank(rank)) return;
    if (shm::heap *heap = engine().shm->heap_of(rank)) {
        heap->release(offset);
        return;
    }
    operation *op = begin(rank, nullptr);
    op->finished = freed_later;
    run_or_defer(op, [=](operation *o) {
        outgoing m;
        m.head.type = frame_type::free_heap;
        m.head.position = offset;
        send_message(o, rank, m, ends_by::answer);
    });
    let_go(op);
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

namespace {

// What a program has allocated of its own heap is what it will look for in a core file.
void show_own_heap(std::uint64_t end)
{
    auto &e = engine();
    if (end > e.in_core_files.load(std::memory_order_relaxed))
        e.in_core_files.store(e.arena.show_in_core_files(e.slot, end), std::memory_order_relaxed);
}

} // namespace

int sea_heap_alloc(int rank, size_t bytes, sea_addr *address)
try {
    if (int s = check_started("sea_heap_alloc")) return s;
    if (!address || bytes == 0)
        return fail(SEA_ERR_INVALID, "sea_heap_alloc: {} bytes on rank {}, output at {}", bytes, rank,
                    fmt::ptr(address));
    auto &e = engine();
    if (int s = e.check_rank(rank)) return s;
    std::uint64_t offset = 0;
    if (shm::heap *heap = e.shm->heap_of(rank)) {
        offset = heap->allocate(bytes);
        if (offset == 0) return no_room(rank, bytes, heap->capacity(), heap->used(), heap->largest_free());
        if (rank == e.rank) show_own_heap(offset + bytes);
    } else if (int s = alloc_far(rank, bytes, &offset)) {
        return s;
    }
    *address = std::uint64_t(rank) << SEA_OFFSET_BITS | offset;
    return SEA_OK;
} catch (const std::bad_alloc &) {
    return no_memory("sea_heap_alloc");
}

int sea_heap_free(sea_addr address)
try {
    if (int s = check_started("sea_heap_free")) return s;
    if (address == SEA_NULL) return SEA_OK;
    auto &e = engine();
    int rank = rank_of(address);
    if (int s = e.check_rank(rank)) return s;
    std::uint64_t offset = sea_addr_offset(address);
    shm::heap *heap = e.shm->heap_of(rank);
    int s = heap ? (heap->release(offset) ? SEA_OK : SEA_ERR_ADDRESS)
                 : ask(rank, frame_type::free_heap, offset, 0, nullptr, 0);
    if (!heap) {
        locked lock = enter();
        forget_extents(rank);
    }
    if (s != SEA_ERR_ADDRESS) return s;
    return fail(s, "sea_heap_free: {:#x} (rank {}, offset {:#x}) is not the start of a live allocation", address, rank,
                offset);
} catch (const std::bad_alloc &) {
    return no_memory("sea_heap_free");
}

int sea_heap_usage(int rank, size_t *capacity, size_t *used)
try {
    if (int s = check_started("sea_heap_usage")) return s;
    auto &e = engine();
    if (int s = e.check_rank(rank)) return s;
    std::uint64_t words[3] = {};
    if (shm::heap *heap = e.shm->heap_of(rank)) {
        words[0] = heap->capacity();
        words[1] = heap->used();
    } else if (int s = ask(rank, frame_type::usage, 0, 0, words, sizeof words)) {
        return s;
    }
    if (capacity) *capacity = words[0];
    if (used) *used = words[1];
    return SEA_OK;
} catch (const std::bad_alloc &) {
    return no_memory("sea_heap_usage");
}

int sea_heap_next(sea_addr from, sea_addr *allocation)
{
    if (int s = check_started("sea_heap_next")) return s;
    if (!allocation) return fail(SEA_ERR_INVALID, "sea_heap_next: the output is null");
    auto &e = engine();
    shm::heap *heap = e.shm->heap_of(e.rank);
    if (from != SEA_NULL && (rank_of(from) != e.rank || sea_addr_offset(from) > heap->capacity()))
        return fail(SEA_ERR_ADDRESS, "sea_heap_next: {:#x} (rank {}, offset {:#x}) is not in the heap of rank {}", from,
                    rank_of(from), sea_addr_offset(from), e.rank);
    const std::uint64_t offset = heap->next(sea_addr_offset(from));
    *allocation = offset ? std::uint64_t(e.rank) << SEA_OFFSET_BITS | offset : SEA_NULL;
    return SEA_OK;
}

int sea_register(void *memory, size_t bytes, unsigned flags, sea_addr *address)
try {
    if (int s = check_started("sea_register")) return s;
    if (!memory || !address || bytes == 0)
        return fail(SEA_ERR_INVALID, "sea_register: {} bytes at {}, output at {}", bytes, fmt::ptr(memory),
                    fmt::ptr(address));
    if (flags & ~SEA_READ_ONLY) return fail(SEA_ERR_INVALID, "sea_register: flags {:#x} has unknown bits", flags);
    if (bytes > shm::segments_from || !accessible(memory, bytes))
        return fail(SEA_ERR_ACCESS, "sea_register: {} bytes at {} are not all mapped", bytes, fmt::ptr(memory));
    if (!(flags & SEA_READ_ONLY) && !shm::ends_writable(reinterpret_cast<std::uintptr_t>(memory), bytes))
        return fail(SEA_ERR_ACCESS,
                    "sea_register: {} bytes at {} may not be written; SEA_READ_ONLY lets others read them", bytes,
                    fmt::ptr(memory));
    auto &e = engine();
    locked lock = enter();
    std::uint64_t offset = e.shm->own_segments().add(memory, bytes, flags);
    if (offset == 0)
        return fail(SEA_ERR_MEMORY, "sea_register: no place in the window of this rank for {} more bytes", bytes);
    *address = std::uint64_t(e.rank) << SEA_OFFSET_BITS | offset;
    return SEA_OK;
} catch (const std::bad_alloc &) {
    return no_memory("sea_register");
}

int sea_unregister(sea_addr address)
try {
    if (int s = check_started("sea_unregister")) return s;
    auto &e = engine();
    locked lock = enter();
    shm::segments &own = e.shm->own_segments();
    const std::uint64_t offset = rank_of(address) == e.rank ? sea_addr_offset(address) : 0;
    if (shm::segment *live = own.at_start(offset)) own.remove(live);
    shm::segment *segment = own.removed_at(offset); // also what a call that ran out of time has left
    if (!segment)
        return fail(SEA_ERR_ADDRESS, "sea_unregister: {:#x} is not the start of a registration of rank {}", address,
                    e.rank);
    const std::uint64_t order = segment->order; // another thread may wait for the same, and forget it first
    std::vector<bool> passed;
    auto unused = [&] { return segment->order != order || (segment->users == 0 && e.shm->nobody_copies(&passed)); };
    int s = wait(lock, unused, thread_deadline(), 1'000'000); // the end of a copy rings no bell
    if (s == SEA_OK && segment->order == order) own.forget(segment);
    return told_by_name(s, [=] { return fmt::format("sea_unregister: {:#x} is in use", address); });
} catch (const std::bad_alloc &) {
    return no_memory("sea_unregister");
}

static void *local_memory(const char *function, sea_addr address, std::size_t bytes)
{
    if (check_started(function)) return nullptr;
    auto &e = engine();
    int rank = rank_of(address);
    std::uint64_t offset = sea_addr_offset(address);
    if (offset < shm::segments_from) {
        shm::heap *heap = e.shm->heap_of(rank);
        if (heap && heap->contains(offset, bytes)) return e.shm->heap_memory(rank) + offset;
    } else if (rank == e.rank) {
        if (const shm::segment *s = e.shm->own_segments().find(offset, bytes))
            return reinterpret_cast<void *>(s->memory + (offset - s->offset));
    }
    fail(SEA_ERR_ADDRESS, "{}: {:#x} (rank {}, offset {:#x}, {} byte{}) is not live memory of this process or its node",
         function, address, rank, offset, bytes, bytes == 1 ? "" : "s");
    return nullptr;
}

void *sea_local(sea_addr address)
{
    sea_window_ *window;
    std::uint64_t *word;
    if (sea_fast_word_(address & ~sea_addr(7), &window, &word)) return reinterpret_cast<char *>(word) + address % 8;
    return local_memory("sea_local", address, 1);
}

void *sea_local_range(sea_addr address, std::size_t bytes) { return local_memory("sea_local_range", address, bytes); }

int sea_global(const void *memory, sea_addr *address)
{
    if (int s = check_started("sea_global")) return s;
    if (!memory || !address) return fail(SEA_ERR_INVALID, "sea_global: an argument is null");
    auto &e = engine();
    std::uint64_t window = std::uint64_t(e.rank) << SEA_OFFSET_BITS;
    auto at = reinterpret_cast<std::uint64_t>(memory);
    std::uint64_t into = at - reinterpret_cast<std::uint64_t>(e.shm->own_heap_memory());
    if (into < e.shm->own_heap().capacity() && e.shm->own_heap().contains(into, 1)) {
        *address = window | into;
        return SEA_OK;
    }
    locked lock = enter();
    if (const shm::segment *s = e.shm->own_segments().holding(memory)) {
        *address = window | (s->offset + (at - s->memory));
        return SEA_OK;
    }
    return fail(SEA_ERR_ADDRESS, "sea_global: {} is neither in the heap nor in a registration of rank {}",
                fmt::ptr(memory), e.rank);
}
