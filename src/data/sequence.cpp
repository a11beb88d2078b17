// SPDX-License-Identifier: Apache-2.0
#include "data/sequence.hpp"

#include "base/copy.hpp"

#include <algorithm>

namespace onesea::data {
namespace {

constexpr std::uint64_t granule = 64; // blocks of the heap are multiples of it
constexpr std::uint64_t up(std::uint64_t n) { return (n + granule - 1) / granule * granule; }

void copy(std::byte *to, const std::byte *from, std::uint64_t bytes)
{
    if (bytes) copy_bytes(to, from, bytes);
}

} // namespace

int sequence::check()
{
    const bool fits = s_.begin <= s_.capacity && s_.size <= s_.capacity - s_.begin;
    if (fits && (s_.block == 0 ? s_.capacity == 0 : x_.heap.live(s_.block, s_.capacity))) return SEA_OK;
    return x_.refuse(SEA_ERR_ADDRESS, why::damaged);
}

void sequence::publish(const sequence_state &s)
{
    const std::uint32_t other = ~c_.current.load(std::memory_order_relaxed) & 1;
    c_.state[other] = s;
    c_.current.store(other, std::memory_order_release);
    s_ = s;
}

// Where `bytes` of contents begin in a block, if `front` bytes are to come before them.
std::uint64_t sequence::place_for(std::uint64_t capacity, std::uint64_t front, std::uint64_t bytes) const
{
    return centred() ? (capacity - front - bytes) / 2 + front : 0;
}

int sequence::new_block(std::uint64_t wanted, std::uint64_t least, sequence_state *s)
{
    const std::uint64_t most = x_.heap.heap->capacity();
    if (least > most) return x_.refuse(SEA_ERR_MEMORY, why::no_room, least);
    for (std::uint64_t bytes : {up(std::min(wanted, most)), up(least)}) {
        s->block = x_.heap.allocate(bytes);
        s->capacity = bytes;
        if (s->block) return SEA_OK;
    }
    return x_.refuse(SEA_ERR_MEMORY, why::no_room, least);
}

// The block is long enough for `whole` bytes, only not where they are to come ...
bool sequence::fits_block(std::uint64_t whole) const { return !fixed_front() && whole <= s_.capacity; }
// ... and moving them there is seldom needed.
bool sequence::roomy(std::uint64_t whole) const { return fits_block(whole) && s_.capacity >= 3 * s_.size; }

// Makes room inside the block, where the heap has none for a longer one.
int sequence::slide(std::uint64_t front, std::uint64_t back)
{
    sequence_state s = s_;
    s.begin = place_for(s.capacity, front, s.size + back);
    editing mark(c_, level::contents);
    std::memmove(x_.heap.at(s.block + s.begin), bytes(), s.size);
    publish(s);
    return x_.refuse(SEA_OK, why::nothing);
}

// Lets `front` bytes before the contents and `back` bytes behind them be free.
int sequence::make_room(std::uint64_t front, std::uint64_t back)
{
    if (s_.begin >= front && s_.capacity - s_.begin - s_.size >= back) return SEA_OK;
    const std::uint64_t most = x_.heap.heap->capacity(), extra = front + back;
    if (extra > most || s_.size > most - extra) return x_.refuse(SEA_ERR_MEMORY, why::no_room, extra);
    const std::uint64_t whole = s_.size + extra;
    sequence_state s = s_;
    if (roomy(whole)) {
        s.begin = place_for(s.capacity, front, s.size + back);
        const bool apart = s.begin + s.size <= s_.begin || s_.begin + s_.size <= s.begin;
        if (apart && s.begin >= front && s.capacity - s.begin - s.size >= back) {
            copy(x_.heap.at(s.block + s.begin), bytes(), s.size);
            publish(s);
            return SEA_OK;
        }
    }
    const std::uint64_t wanted = std::max(2 * s_.capacity, whole);
    const bool fits = fits_block(whole);
    if (int e = new_block(wanted, fits ? wanted : whole, &s)) return fits ? slide(front, back) : e;
    s.begin = place_for(s.capacity, front, s.size + back);
    copy(x_.heap.at(s.block + s.begin), bytes(), s.size);
    const std::uint64_t old = s_.block;
    publish(s);
    if (old) x_.heap.release(old);
    return SEA_OK;
}

int sequence::reserve(std::uint64_t bytes) { return bytes <= s_.capacity ? SEA_OK : make_room(0, bytes - s_.size); }

void sequence::clear()
{
    sequence_state s = s_;
    s.size = s.elements = 0;
    s.begin = place_for(s.capacity, 0, 0);
    publish(s);
}

int sequence::room_behind(std::uint64_t bytes, std::byte **place)
{
    if (int e = make_room(0, bytes)) return e;
    *place = x_.heap.at(s_.block + s_.begin + s_.size);
    return SEA_OK;
}

void sequence::add(std::uint64_t bytes, std::uint64_t elements)
{
    sequence_state s = s_;
    s.size += bytes;
    s.elements += elements;
    publish(s);
}

void sequence::take_front(std::uint64_t bytes, std::uint64_t elements)
{
    sequence_state s = s_;
    s.begin += bytes;
    s.size -= bytes;
    s.elements -= elements;
    publish(s);
}

int sequence::insert(std::uint64_t position, std::span<const std::byte> data)
{
    if (data.empty()) return SEA_OK;
    const std::byte *block = x_.heap.at(s_.block);
    std::vector<std::byte> own;
    if (s_.block && data.data() < block + s_.capacity && block < data.data() + data.size()) {
        own.assign(data.begin(), data.end()); // its own bytes, which may move
        data = own;
    }
    if (position == s_.size || (position == 0 && !fixed_front())) return insert_at_end(position, data);
    if (s_.capacity - s_.begin - s_.size < data.size()) return insert_by_copy(position, data);
    insert_in_place(position, data);
    return SEA_OK;
}

// At the back, or at the front of a deque: bytes come where none are.
int sequence::insert_at_end(std::uint64_t position, std::span<const std::byte> data)
{
    const bool back = position == s_.size;
    if (int e = back ? make_room(0, data.size()) : make_room(data.size(), 0)) return e;
    sequence_state s = s_;
    if (!back) s.begin -= data.size();
    copy(x_.heap.at(s.block + s.begin + (back ? s.size : 0)), data.data(), data.size());
    s.size += data.size();
    publish(s);
    return SEA_OK;
}

int sequence::insert_by_copy(std::uint64_t position, std::span<const std::byte> data)
{
    const std::uint64_t most = x_.heap.heap->capacity();
    if (data.size() > most) return x_.refuse(SEA_ERR_MEMORY, why::no_room, data.size());
    sequence_state s = s_;
    const std::uint64_t whole = s.size + data.size();
    const std::uint64_t wanted = std::max(roomy(whole) ? s.capacity : 2 * s.capacity, whole);
    const bool fits = fits_block(whole);
    if (int e = new_block(wanted, fits ? wanted : whole, &s)) {
        if (!fits) return e;
        e = slide(0, data.size());
        insert_in_place(position, data);
        return e;
    }
    s.begin = place_for(s.capacity, 0, whole);
    std::byte *to = x_.heap.at(s.block + s.begin);
    copy(to, bytes(), position);
    copy(to + position, data.data(), data.size());
    copy(to + position + data.size(), bytes() + position, s_.size - position);
    s.size = whole;
    const std::uint64_t old = s_.block;
    publish(s);
    if (old) x_.heap.release(old);
    return SEA_OK;
}

void sequence::insert_in_place(std::uint64_t position, std::span<const std::byte> data)
{
    sequence_state s = s_;
    s.size += data.size();
    std::byte *at = x_.heap.at(s.block + s.begin + position);
    editing mark(c_, level::contents);
    std::memmove(at + data.size(), at, s_.size - position);
    copy(at, data.data(), data.size());
    publish(s);
}

void sequence::erase(std::uint64_t position, std::uint64_t bytes)
{
    if (bytes == 0) return;
    sequence_state s = s_;
    s.size -= bytes;
    const std::uint64_t behind = s_.size - position - bytes;
    std::byte *first = x_.heap.at(s.block + s.begin);
    if (behind == 0) return publish(s);
    if (!fixed_front() && position <= behind) {
        s.begin += bytes;
        if (position == 0) return publish(s);
        editing mark(c_, level::contents);
        std::memmove(first + bytes, first, position);
        return publish(s);
    }
    editing mark(c_, level::contents);
    std::memmove(first + position, first + position + bytes, behind);
    publish(s);
}

void sequence::write(std::uint64_t position, std::span<const std::byte> data)
{
    if (data.empty()) return;
    editing mark(c_, level::contents);
    std::memmove(x_.heap.at(s_.block + s_.begin + position), data.data(), data.size());
}

int sequence::assign(std::span<const std::byte> data)
{
    sequence_state s;
    if (data.empty()) {
        clear();
        return SEA_OK;
    }
    if (int e = new_block(std::max<std::uint64_t>(s_.capacity, data.size()), data.size(), &s)) return e;
    s.size = data.size();
    s.begin = place_for(s.capacity, 0, s.size);
    copy(x_.heap.at(s.block + s.begin), data.data(), data.size());
    const std::uint64_t old = s_.block;
    publish(s);
    if (old) x_.heap.release(old);
    return SEA_OK;
}

void sequence::drop()
{
    const std::uint64_t old = s_.block;
    publish({});
    if (old) x_.heap.release(old);
}

void sequence::exchange(sequence_control &a, sequence_control &b)
{
    editing mark_a(a, level::ownership), mark_b(b, level::ownership);
    const std::uint32_t in_a = a.current.load() & 1, in_b = b.current.load() & 1;
    std::swap(a.state[in_a], b.state[in_b]);
}

} // namespace onesea::data
