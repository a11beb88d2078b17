// SPDX-License-Identifier: Apache-2.0
#include "net/outbox.hpp"

#include "base/copy.hpp"
#include "base/pages.hpp"
#include "net/packet.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace onesea::net {
namespace {

constexpr std::size_t least_part = 8; // bytes: full datagrams have equal sizes, and such share a send

// Put together in registers: fields that have just been stored one by one are read slowly as one piece, and that took
// longer than all the rest of a small put.
void write_head(std::byte *to, const outgoing &m, std::size_t payload)
{
    const frame &h = m.head;
    const auto flags = std::uint8_t((h.flags & ~notice_flag) | frame_flags::last | (m.notice ? notice_flag : 0));
    const std::uint64_t words[] = {std::uint64_t(h.type) | std::uint64_t(flags) << 8 | std::uint64_t(h.aux) << 16 |
                                       std::uint64_t(payload) << 32,
                                   h.position, h.id};
    static_assert(sizeof words == frame_bytes && offsetof(frame, flags) == 1 && offsetof(frame, aux) == 2 &&
                  offsetof(frame, length) == 4);
    for (std::size_t i = 0; i < 3; ++i) std::memcpy(to + 8 * i, &words[i], 8);
}

void append(bundle &b, const void *from, std::size_t bytes)
{
    const std::size_t before = b.content.size();
    b.content.resize(before + bytes);
    std::memcpy(b.content.data() + before, from, bytes);
}

} // namespace

std::unique_ptr<bundle> bundle_pool::take()
{
    auto &from = large_.empty() ? small_ : large_; // what may grow saves the growing
    if (from.empty()) [[unlikely]]
        return std::make_unique<bundle>();
    auto b = std::move(from.back());
    from.pop_back();
    return b;
}

void bundle_pool::give(std::unique_ptr<bundle> used)
{
    const bool is_large = used->content.capacity() > large;
    auto &to = is_large ? large_ : small_;
    if (to.size() >= (is_large ? most_large : most)) [[unlikely]]
        return;
    used->content.clear();
    used->parts.clear();
    used->done.clear();
    used->bytes = 0;
    used->ordered = used->asks = used->acked = used->tried = used->there = false;
    used->in_flight = used->cuts = 0;
    used->parts_done = used->parts_flying = 0;
    to.push_back(std::move(used));
}

void bundle_pool::clear()
{
    small_.clear();
    large_.clear();
}

void outbox::push(const outgoing &m, std::size_t limit)
{
    if (!m.borrow || m.bytes <= copy_limit) return pack(m, limit);
    item long_one;
    long_one.message = long_message_ref(m);
    long_one.ordered = m.ordered || m.notice;
    if (only_lazy()) take_along(long_one.ordered);
    queue_.push_back(std::move(long_one));
    bytes_ += m.bytes + frame_bytes;
}

// The lazy ones go with what comes now. They are in no need of order, so they take any.
void outbox::take_along(bool ordered)
{
    item &lazy = queue_.front();
    lazy.ordered = lazy.packed->ordered = ordered;
    lazy.lazy = false;
}

// Adds a small message to the open item at the end of the queue, or begins one.
void outbox::pack(const outgoing &m, std::size_t limit)
{
    const std::size_t payload = m.prefix_bytes + m.bytes, need = frame_bytes + padded(payload);
    item *last = queue_.empty() ? nullptr : &queue_.back();
    const bool along = m.lazy && last && last->packed;                  // in whatever order
    const bool ordered = along ? last->ordered : m.ordered || m.notice; // notices are counted, so they come in order
    if (!m.lazy && only_lazy()) take_along(ordered);
    if (!last || !last->packed || last->ordered != ordered || last->packed->bytes + need > limit) {
        item open;
        open.packed = pool_.take();
        open.ordered = open.packed->ordered = ordered;
        open.lazy = m.lazy && queue_.empty();
        queue_.push_back(std::move(open));
        last = &queue_.back();
    }
    bundle &b = *last->packed;
    b.content.resize(b.bytes + need); // an open item has no parts
    std::byte *to = b.content.data() + b.bytes;
    write_head(to, m, payload);
    to += frame_bytes;
    if (m.prefix_bytes) std::memcpy(to, m.prefix, m.prefix_bytes);
    if (m.bytes == 8 && !m.prefix_bytes) { // the put that programs make most
        std::memcpy(to, m.payload, 8);
    } else {
        if (m.bytes) copy_bytes(to + m.prefix_bytes, m.payload, m.bytes);
        if (payload % 8) std::memset(to + payload, 0, padded(payload) - payload);
    }
    b.bytes += need;
    bytes_ += need;
    if (!m.done) return;
    if (!b.done.empty() && b.done.back().done == m.done)
        ++b.done.back().times;
    else
        b.done.push_back({m.done, 1});
    b.asks |= !m.at_leisure;
}

// False: it does not fit any more.
bool outbox::add_packed(bundle &to, item &from, std::size_t limit)
{
    bundle &b = *from.packed;
    if (to.bytes + b.bytes > limit) return false;
    bytes_ -= b.bytes;
    append(to, b.content.data(), b.content.size());
    to.done.insert(to.done.end(), b.done.begin(), b.done.end());
    to.bytes += b.bytes;
    to.asks |= b.asks;
    pool_.give(std::move(from.packed));
    queue_.pop_front();
    return true;
}

namespace {

// Pages that so many bytes lie in, as far as one knows that does not know where they begin.
std::size_t about_pages(std::size_t bytes) { return bytes ? 1 + bytes / page_bytes : 0; }

// What a datagram refers to beside the data of the next part: header and frames, the parts before it, and the tag.
std::size_t pages_taken(const bundle &b)
{
    std::size_t pages = 2, from = 0; // what lies before the first part goes with the header if it is short
    for (const bundle::part &part : b.parts) {
        pages += from || part.at > short_run ? about_pages(part.at - from) : 0;
        pages += pages_of(part.data, part.bytes);
        from = part.at;
    }
    const std::size_t before = b.content.size() + frame_bytes - from;
    return pages + (from || before > short_run ? about_pages(before) : 0);
}

bool has_long_part(const bundle &b)
{
    return std::ranges::any_of(b.parts, [](const bundle::part &p) { return p.bytes >= least_lent; });
}

// Of so many bytes that there is room for, in multiples of 8 if the message is cut there. 0: all pages are taken.
std::size_t cut_by_pages(const bundle &to, const std::byte *data, std::size_t bytes, bool all)
{
    const std::size_t inside = reinterpret_cast<std::uintptr_t>(data) % page_bytes;
    const bool lent_along = has_long_part(to);
    if (inside % 8 || (bytes < least_lent && !lent_along)) return bytes;
    const std::size_t taken = pages_taken(to), free = most_spliced - std::min(taken, most_spliced);
    if (all && pages_of(data, bytes) <= free) return bytes;
    const std::size_t whole = std::min(free, (inside + bytes) / page_bytes) * page_bytes;
    const std::size_t cut = whole - std::min(whole, inside);
    return cut >= least_lent || lent_along ? cut : bytes;
}

} // namespace

// True: all that was left of it, so that there may be room for more.
bool outbox::add_part(bundle &to, item &from, std::size_t limit, bool by_pages)
{
    long_message &m = *from.message;
    const std::size_t left = m.message.bytes - m.cut;
    const std::size_t room = to.bytes + frame_bytes < limit ? limit - to.bytes - frame_bytes : 0;
    const bool too_long = room < left && to.bytes && (room < least_part || m.message.whole);
    const bool begins_a_packet = by_pages && m.message.lands && m.cut == 0;
    if (to.parts.size() == most_parts || too_long || (begins_a_packet && to.bytes)) return false;
    const std::byte *const data = static_cast<const std::byte *>(m.message.payload) + m.cut;
    std::size_t bytes = m.message.whole ? left : std::min(left, room & ~std::size_t(7));
    if (by_pages && !m.message.whole) bytes = cut_by_pages(to, data, bytes, bytes == left);
    if (bytes == 0) return false;
    const std::size_t pad = padded(bytes) - bytes;
    frame head = m.message.head;
    head.position += m.cut;
    head.length = std::uint32_t(bytes);
    head.flags &= std::uint8_t(~notice_flag);
    if (bytes == left) head.flags |= std::uint8_t(frame_flags::last | (m.message.notice ? notice_flag : 0));
    append(to, &head, sizeof head);
    to.parts.push_back({from.message, data, std::uint32_t(bytes), std::uint32_t(to.content.size())});
    to.content.resize(to.content.size() + pad, std::byte{});
    to.bytes += frame_bytes + bytes + pad;
    m.cut += bytes;
    bytes_ -= bytes;
    if (bytes < left) return false;
    to.asks |= !m.message.at_leisure;
    bytes_ -= frame_bytes;
    queue_.pop_front();
    return true;
}

std::unique_ptr<bundle> outbox::take(std::size_t limit, bool by_pages)
{
    std::unique_ptr<bundle> b;
    if (queue_.front().packed) {
        b = std::move(queue_.front().packed);
        bytes_ -= b->bytes;
        queue_.pop_front();
    } else {
        b = pool_.take();
        b->ordered = queue_.front().ordered;
    }
    while (!queue_.empty() && queue_.front().ordered == b->ordered) {
        item &next = queue_.front();
        if (!(next.packed ? add_packed(*b, next, limit) : add_part(*b, next, limit, by_pages))) break;
    }
    return b;
}

} // namespace onesea::net
