// SPDX-License-Identifier: Apache-2.0
#include "data/list.hpp"

#include <algorithm>
#include <utility>

namespace onesea::data {

bool list::entry_at(std::uint64_t position) const
{
    return position % 64 == 0 && x_.heap.live(position, sizeof(list_entry)) &&
           at(position).magic.load(std::memory_order_relaxed) == list_entry_magic && at(position).chain == c_.chain;
}

std::uint64_t list::believed(std::uint64_t position) const
{
    return position == end_ || entry_at(position) ? position : 0;
}

int list::check()
{
    if (c_.taken_over.load()) return repair();
    if (believed(first()) && believed(last())) return SEA_OK;
    return x_.refuse(SEA_ERR_ADDRESS, why::damaged);
}

// Follows the next links; entries that were being removed are removed.
int list::repair()
{
    std::uint64_t size = 0, outside = 0, before = end_;
    const std::uint64_t most = x_.heap.heap->capacity() / 64;
    for (std::uint64_t p = first(); p != end_;) {
        if (p % 64 || !x_.heap.live(p, sizeof(list_entry)) || at(p).chain != c_.chain || size > most)
            return x_.refuse(SEA_ERR_ADDRESS, why::damaged);
        const std::uint64_t behind = at(p).links.next;
        if (at(p).magic.load() != list_entry_magic) {
            links(before).next = behind;
            x_.heap.release(p);
        } else {
            at(p).links.prev = before;
            ++size;
            outside += at(p).data != SEA_NULL && !inline_data(p);
            before = p;
        }
        p = behind;
    }
    c_.links.prev = before;
    c_.size = size;
    c_.outside = outside;
    ++c_.version;
    c_.taken_over.store(0);
    return SEA_OK;
}

std::uint64_t list::find(sea_addr entry, std::uint64_t stamp) const
{
    if (entry == x_.at) return end_;
    const std::uint64_t position = sea_addr_offset(entry) & ~tag_mask;
    if (sea_addr_rank(entry) == x_.heap.rank && entry_at(position)) {
        const list_entry &e = at(position);
        const bool same = stamp ? e.stamp == stamp : (e.stamp & tag_mask) == (entry & tag_mask);
        if (same && next(position) && prev(position)) return position;
    }
    x_.refuse(SEA_ERR_HANDLE, why::no_element, entry);
    return 0;
}

sea_addr list::name_of(std::uint64_t position) const
{
    return position == end_ ? x_.at : x_.heap.address(position) | (at(position).stamp & tag_mask);
}

std::uint64_t list::insert(std::uint64_t before, std::span<const std::byte> bytes, sea_addr data, std::uint64_t size)
{
    const std::uint64_t whole = sizeof(list_entry) + bytes.size();
    const std::uint64_t position = x_.heap.allocate(whole);
    if (position == 0) {
        x_.refuse(SEA_ERR_MEMORY, why::no_room, whole);
        return 0;
    }
    auto *e = new (x_.heap.at(position)) list_entry{};
    if (!bytes.empty()) {
        std::memcpy(x_.heap.at(position + sizeof *e), bytes.data(), bytes.size());
        e->data = x_.heap.address(position + sizeof *e);
    } else {
        e->data = data;
    }
    e->bytes = size;
    e->stamp = ++c_.stamp;
    e->chain = c_.chain;
    const std::uint64_t behind = links(before).prev; // of it the new one comes
    e->links = {before, behind};
    e->magic.store(list_entry_magic, std::memory_order_release);
    std::atomic_ref(links(behind).next).store(position, std::memory_order_release);
    links(before).prev = position;
    ++c_.size;
    c_.outside += bytes.empty() && data != SEA_NULL;
    ++c_.version;
    return position;
}

sea_addr list::erase(std::uint64_t position)
{
    list_entry &e = at(position);
    const bool elsewhere = e.data != SEA_NULL && !inline_data(position);
    const sea_addr data = elsewhere ? e.data : SEA_NULL;
    e.magic.store(0, std::memory_order_release);
    std::atomic_ref(links(e.links.prev).next).store(e.links.next, std::memory_order_release);
    links(e.links.next).prev = e.links.prev;
    --c_.size;
    c_.outside -= elsewhere;
    ++c_.version;
    x_.heap.release(position);
    return data;
}

void list::reverse()
{
    editing mark(c_, level::ownership);
    for (std::uint64_t p = end_;;) {
        list_links &l = links(p);
        std::swap(l.next, l.prev);
        p = l.prev;
        if (p == end_) break;
    }
    ++c_.version;
}

void list::splice(std::uint64_t before, list &from, std::uint64_t first, std::uint64_t last, std::uint64_t n)
{
    if (first == last || before == first || before == last) {
        if (first == last || &c_ == &from.c_) return; // they are there already
    }
    editing mark_here(c_, level::ownership), mark_there(from.c_, level::ownership);
    const std::uint64_t final = links(last).prev;
    std::uint64_t outside = 0;
    for (std::uint64_t p = first; p != last; p = links(p).next) {
        outside += at(p).data != SEA_NULL && !inline_data(p);
        at(p).chain = c_.chain;
    }
    link(links(first).prev, last);
    link(links(before).prev, first);
    link(final, before);
    c_.size += n;
    from.c_.size -= n;
    c_.outside += outside;
    from.c_.outside -= outside;
    ++c_.version;
    if (&c_ != &from.c_) ++from.c_.version;
}

void list::swap(list &other)
{
    editing mark_here(c_, level::ownership), mark_there(other.c_, level::ownership);
    auto take = [](list &to, std::uint64_t from_end, list_links ring) {
        if (ring.next == from_end)
            to.c_.links = {to.end_, to.end_};
        else {
            to.link(to.end_, ring.next);
            to.link(ring.prev, to.end_);
        }
    };
    const list_links mine = c_.links, theirs = other.c_.links;
    take(*this, other.end_, theirs);
    take(other, end_, mine);
    std::swap(c_.chain, other.c_.chain);
    std::swap(c_.size, other.c_.size);
    std::swap(c_.outside, other.c_.outside);
    c_.version = other.c_.version = std::max(c_.version, other.c_.version) + 1;
}

void list::set_order(std::span<const std::uint64_t> positions)
{
    editing mark(c_, level::ownership);
    std::uint64_t before = end_;
    for (std::uint64_t p : positions) {
        link(before, p);
        before = p;
    }
    link(before, end_);
    ++c_.version;
}

} // namespace onesea::data
