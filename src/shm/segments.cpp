// SPDX-License-Identifier: Apache-2.0
#include "shm/segments.hpp"

namespace onesea::shm {
namespace {

constexpr std::uint64_t slice_bytes = std::uint64_t(1) << slice_shift;
constexpr std::uint64_t page_up(std::uint64_t n) { return (n + 4095) / 4096 * 4096; }

} // namespace

std::uint64_t segment_table_bytes()
{
    return page_up(slices * sizeof(std::atomic<std::uint32_t>)) + page_up((slices + 1) * sizeof(segment));
}

segments::segments(std::byte *table)
    : slice_(reinterpret_cast<std::atomic<std::uint32_t> *>(table)),
      entry_(reinterpret_cast<segment *>(table + page_up(slices * sizeof(std::atomic<std::uint32_t>))))
{
}

std::uint32_t segments::free_entry()
{
    for (std::uint32_t tried = 0; tried < slices; ++tried) {
        std::uint32_t e = next_entry_;
        next_entry_ = next_entry_ == slices ? 1 : next_entry_ + 1;
        if (!order_of_.contains(e)) return e;
    }
    return 0;
}

// First gap of n slices; slices + 0 (the end) if there is none.
std::uint32_t segments::free_slices(std::uint32_t n) const
{
    std::uint32_t from = 0;
    for (auto [first, count] : taken_) {
        if (first - from >= n) return from;
        from = first + count;
    }
    return slices - from >= n ? from : slices;
}

std::uint64_t segments::add(void *memory, std::uint64_t bytes, std::uint32_t flags)
{
    std::uint64_t wanted = (bytes + slice_bytes - 1) / slice_bytes;
    if (wanted == 0 || wanted > slices) return 0;
    auto count = std::uint32_t(wanted);
    std::uint32_t first = free_slices(count), e = first < slices ? free_entry() : 0;
    if (!e) return 0;
    std::uint64_t offset = segments_from + (std::uint64_t(first) << slice_shift);
    entry_[e] = {offset, reinterpret_cast<std::uint64_t>(memory), bytes, flags, 0};
    for (std::uint32_t s = first; s < first + count; ++s) slice_[s].store(e, std::memory_order_release);
    taken_[first] = count;
    entries_[++order_] = e;
    order_of_[e] = order_;
    return offset;
}

segment *segments::at_start(std::uint64_t offset) const
{
    segment *s = find(offset, 1);
    return s && s->offset == offset ? s : nullptr;
}

void segments::remove(segment *s)
{
    auto first = std::uint32_t((s->offset - segments_from) >> slice_shift);
    auto place = taken_.find(first);
    for (std::uint32_t i = 0; i < place->second; ++i) slice_[first + i].store(0, std::memory_order_seq_cst);
    taken_.erase(place);
    auto e = std::uint32_t(s - entry_);
    entries_.erase(order_of_[e]);
}

void segments::forget(segment *s) { order_of_.erase(std::uint32_t(s - entry_)); }

const segment *segments::holding(const void *memory) const
{
    auto at = reinterpret_cast<std::uint64_t>(memory);
    for (auto i = entries_.rbegin(); i != entries_.rend(); ++i) {
        const segment &s = entry_[i->second];
        if (at >= s.memory && at - s.memory < s.bytes) return &s;
    }
    return nullptr;
}

segment *segments::find(std::uint64_t offset, std::uint64_t bytes) const
{
    if (offset < segments_from || offset >> 40) return nullptr;
    std::uint32_t e = slice_[(offset - segments_from) >> slice_shift].load(std::memory_order_acquire);
    if (e == 0 || e > slices) return nullptr;
    segment &s = entry_[e];
    std::uint64_t into = offset - s.offset;
    return into < s.bytes && bytes <= s.bytes - into ? &s : nullptr;
}

} // namespace onesea::shm
