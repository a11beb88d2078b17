// SPDX-License-Identifier: Apache-2.0
// What callers ask of vectors and deques, executed under the lock.
#include "base/copy.hpp"
#include "data/sequence.hpp"

#include <algorithm>

namespace onesea::data {
namespace {

// Locks, checks, and runs `use` on the sequence.
template <class Use>
int with(execution &x, const sequence_arguments &a, Use &&use)
{
    locked_sequence c(x, x.at, a.what);
    if (int s = c.status()) return s;
    sequence q(x, *c);
    if (int s = q.check()) return s;
    return use(q);
}

// The range of the arguments as a position and a length inside the contents.
int range_of(execution &x, const sequence_arguments &a, std::uint64_t size, std::uint64_t *position,
             std::uint64_t *bytes)
{
    if (a.flags & from_end) {
        if (a.bytes > size) return x.refuse(SEA_ERR_ADDRESS, why::too_few, a.bytes, size);
        *position = size - a.bytes;
        *bytes = a.bytes;
        return SEA_OK;
    }
    if (a.position > size) return x.refuse(SEA_ERR_ADDRESS, why::beyond, a.position, size);
    *position = a.position;
    *bytes = a.flags & rest ? size - a.position : a.bytes;
    if (*bytes > size - a.position) return x.refuse(SEA_ERR_ADDRESS, why::too_few, *bytes, size - a.position);
    return SEA_OK;
}

} // namespace

int sequence_create(execution &x, const sequence_arguments &a)
{
    if (a.what != kind::vector && a.what != kind::deque) return x.refuse(SEA_ERR_INTERNAL, why::not_known);
    sequence_answer answer{};
    auto *c = new_control<sequence_control>(x, a.what, &answer.position);
    if (!c) return SEA_ERR_MEMORY;
    sequence q(x, *c);
    if (int s = q.reserve(a.position)) {
        c->magic = kind::none;
        x.heap.release(x.heap.offset_of(c));
        return s;
    }
    q.clear(); // of a deque: to the middle
    return x.give(answer);
}

int sequence_destroy(execution &x, const sequence_arguments &a)
{
    locked_sequence c(x, x.at, a.what);
    if (!c.locked()) return c.status();
    sequence q(x, *c);
    // else nobody knows whose the block is
    if (q.check() == SEA_OK && c->cut != std::uint32_t(level::ownership)) q.drop();
    end_control(x, c);
    return SEA_OK;
}

int sequence_extent(execution &x, const sequence_arguments &a)
{
    return with(x, a, [&](sequence &q) { return x.give(sequence_answer{q.size(), q.capacity()}); });
}

int sequence_reserve(execution &x, const sequence_arguments &a)
{
    return with(x, a, [&](sequence &q) { return q.reserve(a.position); });
}

int sequence_clear(execution &x, const sequence_arguments &a)
{
    return with(x, a, [&](sequence &q) {
        q.clear();
        return SEA_OK;
    });
}

int sequence_insert(execution &x, const sequence_arguments &a)
{
    return with(x, a, [&](sequence &q) {
        const std::uint64_t position = a.flags & from_end ? q.size() : a.position;
        if (position > q.size()) return x.refuse(SEA_ERR_ADDRESS, why::beyond, position, q.size());
        if (int s = q.insert(position, x.data)) return s;
        return x.give(sequence_answer{position, 0});
    });
}

int sequence_erase(execution &x, const sequence_arguments &a)
{
    return with(x, a, [&](sequence &q) -> int {
        std::uint64_t position, bytes;
        if (int s = range_of(x, a, q.size(), &position, &bytes)) return s;
        if (a.flags & want_bytes && bytes) copy_bytes(x.put_out(bytes), q.bytes() + position, bytes);
        q.erase(position, bytes);
        return SEA_OK;
    });
}

int sequence_read(execution &x, const sequence_arguments &a)
{
    return with(x, a, [&](sequence &q) -> int {
        std::uint64_t position, bytes;
        if (int s = range_of(x, a, q.size(), &position, &bytes)) return s;
        if (bytes) copy_bytes(x.put_out(bytes), q.bytes() + position, bytes);
        return SEA_OK;
    });
}

int sequence_write(execution &x, const sequence_arguments &a)
{
    return with(x, a, [&](sequence &q) -> int {
        std::uint64_t position, bytes;
        sequence_arguments range = a;
        range.bytes = x.data.size();
        if (int s = range_of(x, range, q.size(), &position, &bytes)) return s;
        q.write(position, x.data);
        return SEA_OK;
    });
}

int sequence_assign(execution &x, const sequence_arguments &a)
{
    return with(x, a, [&](sequence &q) { return q.assign(x.data); });
}

int sequence_at(execution &x, const sequence_arguments &a)
{
    return with(x, a, [&](sequence &q) {
        if (a.position > q.size()) return x.refuse(SEA_ERR_ADDRESS, why::beyond, a.position, q.size());
        const std::uint64_t at = q.capacity() ? x.heap.address(q.offset_of(a.position)) : x.at & ~tag_mask;
        return x.give(sequence_answer{at, 0});
    });
}

int sequence_swap(execution &x, const sequence_arguments &a)
{
    const sea_addr low = std::min<sea_addr>(x.at, a.position), high = std::max<sea_addr>(x.at, a.position);
    locked_sequence first(x, low, a.what);
    if (int s = first.status()) return s;
    if ((low & ~tag_mask) == (high & ~tag_mask))
        return low == high ? SEA_OK : x.refuse(SEA_ERR_HANDLE, why::no_structure);
    locked_sequence second(x, high, a.what);
    if (int s = second.status()) return s;
    sequence one(x, *first), two(x, *second);
    if (int s = one.check()) return s;
    if (int s = two.check()) return s;
    sequence::exchange(*first, *second);
    return SEA_OK;
}

} // namespace onesea::data
