// SPDX-License-Identifier: Apache-2.0
#include "shm/segments.hpp"

#include "base/pages.hpp"

#include <algorithm>

namespace onesea::shm {
namespace {

constexpr std::uint64_t slice_bytes = std::uint64_t(1) << slice_shift;
constexpr std::uint32_t removed_slice = std::uint32_t(1) << 31;

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

std::uint32_t segments::take_entry()
{
    if (std::uint32_t e = free_entry_) {
        free_entry_ = std::uint32_t(entry_[e].order);
        return e;
    }
    return unused_entry_ <= slices ? unused_entry_++ : 0;
}

std::uint32_t segments::behind(const segment &s) const
{
    return std::uint32_t((s.offset - segments_from + s.bytes + slice_bytes - 1) >> slice_shift);
}

// First gap of n slices; slices + 0 (the end) if there is none.
std::uint32_t segments::free_slices(std::uint32_t n)
{
    std::uint32_t from = low_slice_, at = from;
    while (at < slices && at - from < n) {
        if (std::uint32_t e = slice_[at].load(std::memory_order_relaxed) & ~removed_slice) {
            if (low_slice_ == at) low_slice_ = behind(entry_[e]);
            from = at = behind(entry_[e]);
        } else {
            ++at;
        }
    }
    return at - from >= n ? from : slices;
}

std::uint64_t segments::add(void *memory, std::uint64_t bytes, std::uint32_t flags)
{
    std::uint64_t wanted = (bytes + slice_bytes - 1) / slice_bytes;
    if (wanted == 0 || wanted > slices) return 0;
    auto count = std::uint32_t(wanted);
    std::uint32_t first = free_slices(count), e = first < slices ? take_entry() : 0;
    if (!e) return 0;
    std::uint64_t offset = segments_from + (std::uint64_t(first) << slice_shift);
    entry_[e] = {offset, reinterpret_cast<std::uint64_t>(memory), bytes, flags, 0, ++order_};
    mark(entry_[e], e);
    return offset;
}

segment *segments::at_start(std::uint64_t offset) const
{
    segment *s = find(offset, 1);
    return s && s->offset == offset ? s : nullptr;
}

void segments::mark(const segment &s, std::uint32_t with)
{
    const auto first = std::uint32_t((s.offset - segments_from) >> slice_shift), end = behind(s);
    for (std::uint32_t i = first; i < end; ++i) slice_[i].store(with, std::memory_order_seq_cst);
}

void segments::remove(segment *s)
{
    mark(*s, std::uint32_t(s - entry_) | removed_slice);
    s->order |= segment::removed;
}

void segments::remove_all()
{
    for (std::uint32_t e = 1; e < unused_entry_; ++e)
        if (entry_[e].bytes > 0 && !(entry_[e].order & segment::removed)) remove(&entry_[e]);
}

segment *segments::removed_at(std::uint64_t offset) const
{
    if (offset < segments_from || offset >> 40) return nullptr;
    const std::uint32_t e = slice_[(offset - segments_from) >> slice_shift].load(std::memory_order_relaxed);
    segment &s = entry_[e & ~removed_slice];
    return e & removed_slice && s.offset == offset ? &s : nullptr;
}

void segments::forget(segment *s)
{
    mark(*s, 0);
    low_slice_ = std::min(low_slice_, std::uint32_t((s->offset - segments_from) >> slice_shift));
    s->order = free_entry_;
    s->bytes = 0; // free
    free_entry_ = std::uint32_t(s - entry_);
}

const segment *segments::holding(const void *memory) const
{
    auto at = reinterpret_cast<std::uint64_t>(memory);
    const segment *newest = nullptr;
    for (std::uint32_t e = 1; e < unused_entry_; ++e) {
        const segment &s = entry_[e];
        const bool holds = !(s.order & segment::removed) && at >= s.memory && at - s.memory < s.bytes;
        if (holds && (!newest || s.order > newest->order)) newest = &s;
    }
    return newest;
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
