// SPDX-License-Identifier: Apache-2.0
#include "shm/heap.hpp"

#include "base/pages.hpp"
#include "base/robust_mutex.hpp"
#include "shm/arena.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <pthread.h>

namespace onesea::shm {
namespace {

constexpr unsigned levels = 30; // powers of two of granules; with the 16 linear sizes below: up to 2^32
constexpr unsigned sublevels = 16;
constexpr std::uint32_t first_granule = 16; // 1 KiB: offset 0 and the addresses near it stay invalid

constexpr unsigned char start_mark = 1, rest_mark = 2;

struct size_class {
    unsigned level, sub;
};

// The list that a free block of this length hangs in.
size_class class_of(std::uint32_t length)
{
    if (length < sublevels) return {0, length};
    unsigned log = unsigned(std::bit_width(length)) - 1;
    return {log - 3, (length >> (log - 4)) & (sublevels - 1)};
}

// The first list in which every block has at least this length.
size_class class_that_fits(std::uint32_t length)
{
    if (length < sublevels) return {0, length};
    unsigned log = unsigned(std::bit_width(length)) - 1;
    std::uint64_t rounded = std::uint64_t(length) + (std::uint32_t(1) << (log - 4)) - 1;
    return class_of(std::uint32_t(rounded > UINT32_MAX ? UINT32_MAX : rounded));
}

constexpr std::uint64_t control_bytes = 8192;

} // namespace

struct heap::control {
    pthread_mutex_t mutex;
    std::uint32_t granules;
    std::uint32_t high; // granules at and above it were never allocated
    std::atomic<std::uint64_t> used;
    std::atomic<std::uint32_t> numbers; // given out
    std::uint32_t level_bits;
    std::uint32_t broken; // set while a holder changes the lists; tests use it as well
    std::uint16_t sub_bits[levels];
    std::uint32_t head[levels][sublevels];
};

// Takes the robust mutex; repairs the lists if the last holder died inside.
class heap::lock {
  public:
    explicit lock(heap &h) : mutex_(&h.control_->mutex)
    {
        bool died = pthread_mutex_lock(mutex_) == EOWNERDEAD;
        if (died) pthread_mutex_consistent(mutex_);
        if (h.control_->broken) h.rebuild();
        h.control_->broken = 1;
        control_ = h.control_;
    }
    ~lock()
    {
        control_->broken = 0;
        pthread_mutex_unlock(mutex_);
    }
    lock(const lock &) = delete;
    lock &operator=(const lock &) = delete;

  private:
    pthread_mutex_t *mutex_;
    control *control_;
};

std::uint64_t heap_meta_bytes(std::uint64_t heap_bytes)
{
    std::uint64_t granules = heap_bytes / heap_granule;
    return control_bytes + page_up(granules) + 3 * page_up(granules * sizeof(std::uint32_t));
}

heap::heap(std::byte *meta) : control_(reinterpret_cast<control *>(meta))
{
    static_assert(sizeof(control) <= control_bytes);
    std::uint64_t granules = control_->granules;
    std::byte *at = meta + control_bytes;
    live_ = reinterpret_cast<unsigned char *>(at);
    at += page_up(granules);
    for (std::uint32_t **array : {&extent_, &next_, &prev_}) {
        *array = reinterpret_cast<std::uint32_t *>(at);
        at += page_up(granules * sizeof(std::uint32_t));
    }
}

void heap::format(std::byte *meta, std::uint64_t bytes)
{
    auto *c = new (meta) control{};
    make_robust(&c->mutex);
    c->granules = std::uint32_t(bytes / heap_granule);
    c->high = first_granule;
    heap h(meta);
    if (c->granules > first_granule) h.insert(first_granule, c->granules - first_granule);
}

void heap::insert(std::uint32_t block, std::uint32_t length)
{
    auto [level, sub] = class_of(length);
    extent_[block] = length;
    extent_[block + length - 1] = length;
    std::uint32_t old = control_->head[level][sub];
    next_[block] = old;
    prev_[block] = 0;
    if (old) prev_[old] = block;
    control_->head[level][sub] = block;
    control_->sub_bits[level] = std::uint16_t(control_->sub_bits[level] | 1u << sub);
    control_->level_bits |= 1u << level;
}

void heap::remove(std::uint32_t block, std::uint32_t length)
{
    auto [level, sub] = class_of(length);
    std::uint32_t after = next_[block], before = prev_[block];
    if (after) prev_[after] = before;
    if (before) {
        next_[before] = after;
        return;
    }
    control_->head[level][sub] = after;
    if (after) return;
    control_->sub_bits[level] = std::uint16_t(control_->sub_bits[level] & ~(1u << sub));
    if (!control_->sub_bits[level]) control_->level_bits &= ~(1u << level);
}

// A free block of at least that length, 0 if there is none. The last class that may hold one is searched through, so
// that an allocation fails only when no block is large enough.
std::uint32_t heap::find(std::uint32_t length)
{
    auto [level, sub] = class_that_fits(length);
    unsigned subs = control_->sub_bits[level] & (0xffffu << sub);
    if (!subs) {
        std::uint32_t above = level + 1 < 32 ? control_->level_bits & (~0u << (level + 1)) : 0;
        if (above) {
            level = unsigned(std::countr_zero(above));
            subs = control_->sub_bits[level];
        }
    }
    if (subs) return control_->head[level][unsigned(std::countr_zero(subs))];
    auto [own_level, own_sub] = class_of(length);
    for (std::uint32_t b = control_->head[own_level][own_sub]; b; b = next_[b])
        if (extent_[b] >= length) return b;
    return 0;
}

std::uint64_t heap::allocate(std::uint64_t bytes)
{
    if (bytes == 0 || bytes > capacity()) return 0;
    auto length = std::uint32_t((bytes + heap_granule - 1) / heap_granule);
    lock guard(*this);
    std::uint32_t block = find(length);
    if (!block) return 0;
    std::uint32_t whole = extent_[block];
    remove(block, whole);
    if (whole > length) insert(block + length, whole - length);
    if (block + length > control_->high) control_->high = block + length;
    extent_[block] = length;
    std::memset(live_ + block + 1, rest_mark, length - 1);
    std::atomic_ref(live_[block]).store(start_mark, std::memory_order_release);
    control_->used.fetch_add(std::uint64_t(length) * heap_granule, std::memory_order_relaxed);
    return std::uint64_t(block) * heap_granule;
}

std::uint32_t heap::next_number() { return control_->numbers.fetch_add(1, std::memory_order_relaxed); }

bool heap::release(std::uint64_t offset)
{
    if (offset % heap_granule || offset >= capacity()) return false;
    auto block = std::uint32_t(offset / heap_granule);
    lock guard(*this);
    if (live_[block] != start_mark) return false;
    std::uint32_t length = extent_[block];
    control_->used.fetch_sub(std::uint64_t(length) * heap_granule, std::memory_order_relaxed);
    std::atomic_ref(live_[block]).store(0, std::memory_order_release);
    std::memset(live_ + block + 1, 0, length - 1);
    std::uint32_t begin = block, end = block + length;
    if (block > first_granule && live_[block - 1] == 0) {
        begin -= extent_[block - 1];
        remove(begin, block - begin);
    }
    if (end < control_->granules && live_[end] == 0) {
        std::uint32_t behind = extent_[end];
        remove(end, behind);
        end += behind;
    }
    insert(begin, end - begin);
    return true;
}

namespace {

// Marks are read without the lock, on purpose: what is freed at this moment may be taken for live or not. The thread
// sanitizer is not to look.
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread"))) unsigned char mark_at(const volatile unsigned char *mark) { return *mark; }

__attribute__((no_sanitize("thread"))) bool all_alike(const volatile unsigned char *marks, std::uint64_t n)
{
    for (std::uint64_t i = 1; i < n; ++i)
        if (marks[i] != marks[0]) return false;
    return true;
}
#else
unsigned char mark_at(const unsigned char *mark) { return *mark; }
bool all_alike(const unsigned char *marks, std::uint64_t n) { return std::memcmp(marks, marks + 1, n - 1) == 0; }
#endif

} // namespace

bool heap::contains(std::uint64_t offset, std::uint64_t bytes) const
{
    std::uint64_t size = capacity();
    if (offset >= size || bytes > size - offset) return false;
    return bytes ? in_one_allocation(live_, offset, bytes) : mark_at(live_ + offset / heap_granule) != 0;
}

bool heap::in_one_allocation(const unsigned char *live, std::uint64_t offset, std::uint64_t bytes)
{
    const std::uint64_t first = offset / heap_granule, last = (offset + bytes - 1) / heap_granule;
    if (mark_at(live + first) == 0) return false;
    // all granules behind the first continue the same allocation: they are equal to each other and to rest_mark
    if (last == first) return true;
    const unsigned char *rest = live + first + 1;
    return mark_at(rest) == rest_mark && all_alike(rest, last - first);
}

bool heap::extent(std::uint64_t offset, std::uint64_t *first, std::uint64_t *end)
{
    if (!contains(offset, 1)) return false;
    lock guard(*this);
    const std::uint64_t marks = offset / heap_granule + 1 - first_granule;
    const void *start = memrchr(live_ + first_granule, start_mark, marks);
    if (!start) return false;
    const auto block = std::uint32_t(static_cast<const unsigned char *>(start) - live_);
    const std::uint64_t from = std::uint64_t(block) * heap_granule,
                        behind = from + std::uint64_t(extent_[block]) * heap_granule;
    if (offset >= behind) return false; // it has been freed before the lock was taken
    *first = from;
    *end = behind;
    return true;
}

std::uint64_t heap::next(std::uint64_t offset)
{
    lock guard(*this);
    const std::uint64_t from =
        std::max<std::uint64_t>(first_granule, offset / heap_granule + (offset % heap_granule > 0));
    if (from >= control_->high) return 0;
    const void *found = std::memchr(live_ + from, start_mark, control_->high - from);
    return found ? std::uint64_t(static_cast<const unsigned char *>(found) - live_) * heap_granule : 0;
}

std::uint64_t heap::capacity() const { return std::uint64_t(control_->granules) * heap_granule; }

std::uint64_t heap::used() const { return control_->used.load(std::memory_order_relaxed); }

std::uint64_t heap::largest_free()
{
    lock guard(*this);
    if (!control_->level_bits) return 0;
    unsigned level = unsigned(std::bit_width(control_->level_bits)) - 1;
    unsigned sub = unsigned(std::bit_width(unsigned(control_->sub_bits[level]))) - 1;
    std::uint32_t largest = 0;
    for (std::uint32_t b = control_->head[level][sub]; b; b = next_[b]) largest = std::max(largest, extent_[b]);
    return std::uint64_t(largest) * heap_granule;
}

void heap::rebuild()
{
    control_->level_bits = 0;
    std::memset(control_->sub_bits, 0, sizeof control_->sub_bits);
    std::memset(control_->head, 0, sizeof control_->head);
    std::uint64_t used = 0;
    std::uint32_t free_from = first_granule, g = first_granule;
    auto close_gap = [&](std::uint32_t end) {
        if (end > free_from) insert(free_from, end - free_from);
    };
    while (g < control_->high) {
        if (live_[g] != start_mark) {
            live_[g++] = 0;
            continue;
        }
        close_gap(g);
        used += std::uint64_t(extent_[g]) * heap_granule;
        g += extent_[g];
        free_from = g;
    }
    close_gap(control_->granules);
    control_->used.store(used, std::memory_order_relaxed);
}

bool heap::consistent()
{
    lock guard(*this);
    std::uint64_t used = 0;
    std::uint32_t blocks_free = 0;
    bool before_free = false;
    for (std::uint32_t g = first_granule; g < control_->granules;) {
        std::uint32_t length = extent_[g];
        if (length == 0 || length > control_->granules - g) return false;
        bool is_free = live_[g] == 0;
        if (is_free && (before_free || extent_[g + length - 1] != length)) return false;
        for (std::uint32_t i = 1; i < length && g + i < control_->high; ++i)
            if (live_[g + i] != (is_free ? 0 : rest_mark)) return false;
        if (is_free)
            ++blocks_free;
        else
            used += std::uint64_t(length) * heap_granule;
        before_free = is_free;
        g += length;
    }
    std::uint32_t listed = 0;
    for (unsigned l = 0; l < levels; ++l)
        for (unsigned s = 0; s < sublevels; ++s) {
            bool bit = (control_->sub_bits[l] >> s & 1) && (control_->level_bits >> l & 1);
            if (bit != (control_->head[l][s] != 0)) return false;
            for (std::uint32_t b = control_->head[l][s]; b; b = next_[b], ++listed)
                if (live_[b] != 0 || class_of(extent_[b]).level != l || class_of(extent_[b]).sub != s) return false;
        }
    return listed == blocks_free && used == control_->used.load();
}

void heap::damage_for_test()
{
    std::memset(control_->head, 0x5a, sizeof control_->head);
    control_->level_bits = 0x12345;
    control_->broken = 1;
}

} // namespace onesea::shm
