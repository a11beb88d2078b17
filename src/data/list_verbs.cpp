// SPDX-License-Identifier: Apache-2.0
// What callers ask of lists, executed under the lock.
#include "base/copy.hpp"
#include "data/list.hpp"
#include "data/sequence.hpp"

#include <algorithm>
#include <utility>

namespace onesea::data {
namespace {

template <class Use>
int with(execution &x, Use &&use)
{
    locked_list c(x, x.at, kind::list);
    if (int s = c.status()) return s;
    list l(x, *c);
    if (int s = l.check()) return s;
    return use(l);
}

int gone(execution &x) { return x.refuse(SEA_ERR_ADDRESS, why::damaged); }

// The answer about a position.
list_answer about(const list &l, std::uint64_t position)
{
    list_answer r;
    r.entry = l.name_of(position);
    if (position == l.end()) return r;
    const list_entry &e = l.at(position);
    r.stamp = e.stamp;
    r.data = e.data;
    r.bytes = e.bytes;
    return r;
}

// Bytes of elements that go: freed where this process can; the others are output, for the caller to free. Room for that
// is there before the first one goes, or nothing goes.
class freeing {
  public:
    // Of the entries from `first` to before `last`, which are at most all.
    freeing(execution &x, const list &l, std::uint64_t first, std::uint64_t last) : x_(x)
    {
        if (l.control().outside == 0) return;
        std::uint64_t walked = 0;
        for (std::uint64_t p = first; p && p != last && walked++ < l.control().size; p = l.next(p))
            n_ += !l.inline_data(p) && left_to_caller(l.at(p).data);
        if (n_) place_ = x.put_out(n_ * sizeof(sea_addr));
    }
    void add(sea_addr data)
    {
        if (data == SEA_NULL) return;
        if (!left_to_caller(data)) {
            x_.heap_in_node(sea_addr_rank(data)).release(sea_addr_offset(data));
        } else if (n_) { // else the ring was damaged
            std::memcpy(place_, &data, sizeof data);
            place_ += sizeof data;
            --n_;
        }
    }

  private:
    execution &x_;
    std::uint64_t n_ = 0;
    std::byte *place_ = nullptr;

    bool left_to_caller(sea_addr data) const { return data != SEA_NULL && !x_.heap_in_node(sea_addr_rank(data)); }
};

// Bytes of an entry, if they can be read here.
const std::byte *bytes_here(execution &x, const list_entry &e)
{
    const std::uint64_t offset = sea_addr_offset(e.data);
    owner_heap heap = sea_addr_rank(e.data) == x.heap.rank ? x.heap : x.heap_in_node(sea_addr_rank(e.data));
    return heap && heap.heap->contains(offset, e.bytes) ? heap.at(offset) : nullptr;
}

// The bytes are output, or the answer says that the caller has to fetch them: those that lie elsewhere, and those that
// are more than `most` if an answer had to carry them.
int put_out_bytes(execution &x, const list_entry &e, const list_arguments &a, std::uint64_t most, list_answer *r)
{
    if (e.bytes > a.bytes) return x.refuse(SEA_ERR_INVALID, why::too_large, e.bytes, a.bytes);
    if (e.bytes == 0) return SEA_OK;
    const std::byte *bytes = x.room || e.bytes <= most ? bytes_here(x, e) : nullptr;
    if (bytes) copy_bytes(x.put_out(e.bytes), bytes, e.bytes);
    r->number = !bytes;
    return SEA_OK;
}

int erase_one(execution &x, list &l, std::uint64_t position, const list_arguments &a)
{
    if (position == l.end())
        return x.refuse(SEA_ERR_ADDRESS, a.flags & (at_front | at_back) ? why::empty : why::at_end);
    const list_entry &e = l.at(position);
    list_answer r;
    r.bytes = e.bytes;
    if (a.flags & want_data)
        if (int s = put_out_bytes(x, e, a, std::uint64_t(-1), &r)) return s;
    const std::uint64_t next = l.next(position);
    if (!next) return gone(x);
    const sea_addr data = l.erase(position);
    const bool theirs = data != SEA_NULL && (r.number || !x.heap_in_node(sea_addr_rank(data)));
    if (theirs)
        r.data = data; // the caller reads it and frees it
    else if (data != SEA_NULL)
        x.heap_in_node(sea_addr_rank(data)).release(sea_addr_offset(data));
    r.entry = l.name_of(next);
    r.stamp = next == l.end() ? 0 : l.at(next).stamp;
    return x.give(r);
}

// How many entries lie from first to before last; false: last is not behind first (x tells).
bool count_between(execution &x, const list &l, std::uint64_t first, std::uint64_t last, std::uint64_t *n)
{
    *n = 0;
    for (std::uint64_t p = first; p != last; ++*n) {
        if (p == l.end() || !(p = l.next(p)) || *n > l.control().size) {
            x.refuse(SEA_ERR_ADDRESS, why::not_behind);
            return false;
        }
    }
    return true;
}

int erase_range(execution &x, list &l, std::uint64_t first, const list_arguments &a)
{
    const std::uint64_t last = l.find(a.b.entry, a.b.stamp);
    if (!last) return SEA_ERR_HANDLE;
    std::uint64_t n;
    if (!count_between(x, l, first, last, &n)) return SEA_ERR_ADDRESS;
    freeing data(x, l, first, last);
    for (std::uint64_t p = first; p != last;) {
        const std::uint64_t next = l.next(p);
        data.add(l.erase(p));
        p = next;
    }
    return x.give(about(l, last));
}

// From the first on, as long as the ring makes sense.
void erase_all(execution &x, list &l)
{
    freeing data(x, l, l.first(), l.end());
    for (std::uint64_t p = l.first(); p != l.end();) {
        const std::uint64_t next = l.next(p);
        data.add(l.erase(p));
        if (!next) break;
        p = next;
    }
}

// All entries that equal the given bytes, or the entry before; all bytes lie here.
std::uint64_t remove_equal(execution &x, list &l, const list_arguments &a)
{
    const std::byte *wanted = a.flags & unique_only ? nullptr : x.data.data();
    std::uint64_t size = x.data.size(), removed = 0;
    bool comparing = !(a.flags & unique_only);
    for (std::uint64_t p = l.first(); p != l.end();) {
        const list_entry &e = l.at(p);
        const std::uint64_t next = l.next(p);
        const std::byte *bytes = x.heap.at(p + sizeof(list_entry));
        if (comparing && e.bytes == size && (size == 0 || std::memcmp(bytes, wanted, size) == 0)) {
            l.erase(p);
            ++removed;
        } else if (a.flags & unique_only) {
            wanted = bytes;
            size = e.bytes;
            comparing = true;
        }
        if (!next) break;
        p = next;
    }
    return removed;
}

} // namespace

int list_create(execution &x, const list_arguments &)
{
    list_answer r;
    auto *c = new_control<list_control>(x, kind::none, &r.entry);
    if (!c) return SEA_ERR_MEMORY;
    const std::uint64_t end = x.heap.offset_of(&c->links);
    c->links = {end, end};
    c->stamp = c->chain = now_ns() << 6; // no two lists have the same, nor do their entries
    c->magic.store(kind::list, std::memory_order_release);
    return x.give(r);
}

int list_destroy(execution &x, const list_arguments &)
{
    locked_list c(x, x.at, kind::list);
    if (!c.locked()) return c.status();
    list l(x, *c);
    if (!c->broken && l.check() == SEA_OK) erase_all(x, l); // else nobody knows what belongs to it
    end_control(x, c);
    return SEA_OK;
}

int list_clear(execution &x, const list_arguments &)
{
    return with(x, [&](list &l) -> int {
        erase_all(x, l);
        return SEA_OK;
    });
}

int list_size(execution &x, const list_arguments &)
{
    return with(x, [&](list &l) -> int {
        list_answer r = about(l, l.first());
        r.number = l.control().size;
        return x.give(r);
    });
}

int list_insert(execution &x, const list_arguments &a)
{
    return with(x, [&](list &l) -> int {
        std::uint64_t before = l.end();
        if (a.flags & at_front) before = l.first();
        if (!(a.flags & (at_front | at_back)) && !(before = l.find(a.before.entry, a.before.stamp)))
            return SEA_ERR_HANDLE;
        const std::uint64_t position = l.insert(before, x.data, a.other, a.other ? a.bytes : x.data.size());
        return position ? x.give(about(l, position)) : SEA_ERR_MEMORY;
    });
}

int list_erase(execution &x, const list_arguments &a)
{
    return with(x, [&](list &l) -> int {
        if (a.flags & at_front) return erase_one(x, l, l.first(), a);
        if (a.flags & at_back) return erase_one(x, l, l.last(), a);
        const std::uint64_t position = l.find(a.a.entry, a.a.stamp);
        if (!position) return SEA_ERR_HANDLE;
        return a.flags & to_last ? erase_range(x, l, position, a) : erase_one(x, l, position, a);
    });
}

int list_advance(execution &x, const list_arguments &a)
{
    return with(x, [&](list &l) -> int {
        std::uint64_t p = l.find(a.a.entry, a.a.stamp);
        if (!p) return SEA_ERR_HANDLE;
        for (std::int64_t n = a.distance; n != 0; n += n < 0 ? 1 : -1) {
            const bool beyond = n > 0 ? p == l.end() : p == l.first();
            if (beyond) return x.refuse(SEA_ERR_ADDRESS, why::at_end);
            if (!(p = n > 0 ? l.next(p) : l.prev(p))) return gone(x);
        }
        list_answer r = about(l, p);
        if ((a.flags & want_data) && p != l.end())
            if (int s = put_out_bytes(x, l.at(p), a, read_at_once, &r)) return s;
        return x.give(r);
    });
}

int list_distance(execution &x, const list_arguments &a)
{
    return with(x, [&](list &l) -> int {
        const std::uint64_t first = l.find(a.a.entry, a.a.stamp);
        const std::uint64_t last = first ? l.find(a.b.entry, a.b.stamp) : 0;
        if (!last) return SEA_ERR_HANDLE;
        list_answer r;
        return count_between(x, l, first, last, &r.number) ? x.give(r) : int(SEA_ERR_ADDRESS);
    });
}

int list_fetch(execution &x, const list_arguments &a)
{
    return with(x, [&](list &l) -> int {
        std::uint64_t p = l.find(a.a.entry, a.a.stamp);
        if (!p) return SEA_ERR_HANDLE;
        std::vector<list_fetched> all;
        all.reserve(std::min(a.bytes, l.control().size));
        while (p != l.end() && all.size() < a.bytes) {
            const list_entry &e = l.at(p);
            all.push_back({l.name_of(p), e.stamp, e.data, e.bytes});
            if (!(p = l.next(p)) || all.size() > l.control().size) return gone(x);
        }
        if (!all.empty()) std::memcpy(x.put_out(all.size() * sizeof all[0]), all.data(), all.size() * sizeof all[0]);
        list_answer r = about(l, p);
        r.number = l.control().version;
        return x.give(r);
    });
}

int list_remove(execution &x, const list_arguments &a)
{
    return with(x, [&](list &l) -> int {
        list_answer r;
        if (l.control().outside)
            r.bytes = 1; // the caller has to look itself
        else
            r.number = remove_equal(x, l, a);
        return x.give(r);
    });
}

int list_reverse(execution &x, const list_arguments &)
{
    return with(x, [&](list &l) -> int {
        l.reverse();
        return SEA_OK;
    });
}

namespace {

// Both lists locked, in the order of their addresses; use(list of x.at, the other).
template <class Use>
int with_two(execution &x, sea_addr other, Use &&use)
{
    const bool low = x.at < other;
    locked_list one(x, low ? x.at : other, kind::list);
    if (int s = one.status()) return s;
    locked_list two(x, low ? other : x.at, kind::list);
    if (int s = two.status()) return s;
    list first(x, *one), second(x, *two);
    if (int s = first.check()) return s;
    if (int s = second.check()) return s;
    return low ? use(first, second) : use(second, first);
}

int splice_checked(execution &x, const list_arguments &a, list &to, list &from)
{
    const std::uint64_t before = to.find(a.before.entry, a.before.stamp);
    if (!before) return SEA_ERR_HANDLE;
    const sea_addr here = std::exchange(x.at, a.other); // the end of the other list has its name
    const std::uint64_t first = from.find(a.a.entry, a.a.stamp);
    const std::uint64_t last = first ? from.find(a.b.entry, a.b.stamp) : 0;
    x.at = here;
    if (!last) return SEA_ERR_HANDLE;
    std::uint64_t n;
    if (!count_between(x, from, first, last, &n)) return SEA_ERR_ADDRESS;
    if (&to == &from)
        for (std::uint64_t p = first; p != last; p = from.next(p))
            if (p == before && p != first) return x.refuse(SEA_ERR_INVALID, why::inside);
    to.splice(before, from, first, last, n);
    return SEA_OK;
}

} // namespace

int list_swap(execution &x, const list_arguments &a)
{
    if (a.other == x.at) return with(x, [](list &) -> int { return SEA_OK; });
    return with_two(x, a.other, [&](list &one, list &two) -> int {
        one.swap(two);
        return SEA_OK;
    });
}

int list_splice(execution &x, const list_arguments &a)
{
    if (a.other == x.at) return with(x, [&](list &l) { return splice_checked(x, a, l, l); });
    return with_two(x, a.other, [&](list &to, list &from) { return splice_checked(x, a, to, from); });
}

int list_reorder(execution &x, const list_arguments &a)
{
    return with(x, [&](list &l) -> int {
        const list_control &c = l.control();
        if (c.version != a.bytes) return x.refuse(SEA_ERR_STATE, why::version, c.version, a.bytes);
        const std::size_t n = x.data.size() / sizeof(sea_addr);
        if (n != c.size) return x.refuse(SEA_ERR_INVALID, why::not_order);
        std::vector<std::uint64_t> order(n);
        for (std::size_t i = 0; i < n; ++i) {
            sea_addr entry;
            std::memcpy(&entry, x.data.data() + i * sizeof entry, sizeof entry);
            order[i] = l.find(entry, 0);
            if (!order[i] || order[i] == l.end()) return x.refuse(SEA_ERR_INVALID, why::not_order);
        }
        std::vector<std::uint64_t> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
            return x.refuse(SEA_ERR_INVALID, why::not_order);
        l.set_order(order);
        return SEA_OK;
    });
}

namespace {

// The bytes are handed on through locks of other processes, which the thread sanitizer of this one does not see.
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread"))) void copy(volatile std::byte *to, std::span<const std::byte> from)
{
    const std::byte *bytes = from.data();
    for (std::size_t i = 0, n = from.size(); i < n; ++i) to[i] = bytes[i];
}
#else
void copy(std::byte *to, std::span<const std::byte> from)
{
    if (!from.empty()) copy_bytes(to, from.data(), from.size());
}
#endif

} // namespace

int data_place(execution &x, const list_arguments &)
{
    const std::uint64_t offset = x.heap.allocate(x.data.size());
    if (!offset) return x.refuse(SEA_ERR_MEMORY, why::no_room, x.data.size());
    copy(x.heap.at(offset), x.data);
    list_answer r;
    r.data = x.heap.address(offset);
    return x.give(r);
}

} // namespace onesea::data
