// SPDX-License-Identifier: Apache-2.0
#include "data/list_calls.hpp"

#include "base/copy.hpp"
#include "base/error.hpp"
#include "core/internal.hpp"

#include <algorithm>

namespace onesea::data {
namespace {

constexpr std::size_t fetched_at_once = 1024; // entries; 32 KiB of answer

void free_data(sea_addr data)
{
    if (data != SEA_NULL) sea_heap_free(data); // its rank may have ended: nothing is left to free then
}

template <class Free>
void each_address(std::span<const std::byte> all, Free &&free)
{
    for (; all.size() >= sizeof(sea_addr); all = all.subspan(sizeof(sea_addr))) {
        sea_addr data;
        std::memcpy(&data, all.data(), sizeof data);
        free(data);
    }
}

// ---- Answers to calls that were given up: the bytes on third ranks that nobody else frees (asking::late) ----

void free_late(sea_addr data)
{
    if (data != SEA_NULL) core::free_later(core::engine_held, data);
}

// Those of an element that was erased, or that were placed for one.
void free_one(sea_addr, int status, std::span<const std::byte> result, std::span<const std::byte>)
{
    list_answer r;
    if (status != SEA_OK || result.size() != sizeof r) return;
    std::memcpy(&r, result.data(), sizeof r);
    free_late(r.data);
}

// Those of many.
void free_output(sea_addr, int status, std::span<const std::byte>, std::span<const std::byte> output)
{
    if (status == SEA_OK) each_address(output, free_late);
}

// Those of an element that was not inserted.
void free_refused(sea_addr placed, int status, std::span<const std::byte>, std::span<const std::byte>)
{
    if (status != SEA_OK) free_late(placed);
}

// Bytes that are still being fetched.
struct freed_when_fetched final : core::late_end {
    sea_addr data;
    explicit freed_when_fetched(sea_addr d) : data(d) {}
    void ended(int) override { free_late(data); }
};

} // namespace

int list_call::check(const sea_list_it &it) const
{
    if (int s = check()) return s;
    if (it.list.at == at && it.entry != SEA_NULL) return SEA_OK;
    return fail(SEA_ERR_HANDLE, "{}: {:#x} is no element of this list", function, it.entry);
}

asking list_call::call(verb v, const list_arguments &a) const
{
    asking c{function, v, kind::list};
    c.at = at;
    c.owner = sea_addr_rank(at);
    c.arguments = bytes_of(a);
    c.deadline = core::thread_deadline();
    return c;
}

int list_call::simple(verb v, const list_arguments &a, list_answer *r) const
{
    asking c = call(v, a);
    if (r) c.result = room_of(*r);
    return ask(c);
}

int list_call::removing(verb v, const list_arguments &a, list_answer *r) const
{
    std::vector<std::byte> left;
    asking c = call(v, a);
    if (r) c.result = room_of(*r);
    c.output = &left;
    c.late = free_output;
    if (int s = ask(c)) return s;
    each_address(left, free_data);
    return SEA_OK;
}

int list_call::read_bytes(const sea_list_entry &e, kept_bytes *bytes) const
{
    if (int s = new_bytes(function, bytes, e.bytes)) return s;
    return e.bytes ? core::fetch(function, **bytes, e.data, *bytes) : SEA_OK;
}

// The entry, with its bytes or with a.other as the place of them.
int list_call::link(const list_arguments &a, const source_bytes &from, sea_list_it *it, bool *undecided) const
{
    list_answer r;
    asking c = call(verb::list_insert, a);
    c.undecided = undecided;
    c.late = free_refused;
    c.about = a.other;
    from.apply(c);
    c.result = room_of(r);
    if (int s = ask(c)) return s;
    if (it) *it = {{at}, r.entry, r.stamp};
    return SEA_OK;
}

int list_call::place_at(int rank, const source_bytes &from, std::size_t size, sea_addr *data) const
{
    if (size == 0) return SEA_OK;
    const list_arguments a;
    list_answer r;
    asking c = call(verb::data_place, a);
    c.owner = rank;
    c.late = free_one;
    from.apply(c);
    c.result = room_of(r);
    if (int s = ask(c)) return s;
    *data = r.data;
    return SEA_OK;
}

// The bytes may go to a third rank: there first.
int list_call::add_bytes(list_arguments a, int rank, const source_bytes &from, std::size_t size, sea_list_it *it) const
{
    if (rank == sea_addr_rank(at)) return link(a, from, it);
    if (int s = place_at(rank, from, size, &a.other)) return s;
    a.bytes = size;
    bool may_be_linked = false;
    const int s = link(a, {}, it, &may_be_linked);
    if (s != SEA_OK && (!may_be_linked || s == SEA_ERR_DEAD)) {
        const std::string told = last_error();
        free_data(a.other);
        return set_error(s, told);
    }
    return s;
}

int list_call::add(list_arguments a, int rank, const void *data, std::size_t bytes, sea_list_it *it) const
{
    if (int s = check_data(function, data, bytes)) return s;
    if (int s = core::check_rank(rank)) return s;
    return add_bytes(a, rank, {data, bytes}, bytes, it);
}

int list_call::add_from(list_arguments a, int rank, sea_addr source, std::size_t bytes, sea_list_it *it) const
{
    if (int s = core::check_rank(rank)) return s;
    source_bytes from;
    if (int s = from.find(function, source, bytes, rank)) return s;
    return add_bytes(a, rank, from, bytes, it);
}

int list_call::erase(const sea_list_it &it, sea_list_it *next, bool *undecided) const
{
    list_arguments a;
    a.a = place_of(it);
    list_answer r;
    asking c = call(verb::list_erase, a);
    c.result = room_of(r);
    c.undecided = undecided;
    c.late = free_one;
    if (int s = ask(c)) return s;
    free_data(r.data);
    if (next) *next = {{at}, r.entry, r.stamp};
    return SEA_OK;
}

int list_call::read(const sea_list_it &it, void *out, std::size_t room, std::size_t *bytes) const
{
    list_arguments a;
    a.a = place_of(it);
    a.flags = want_data;
    a.bytes = out ? room : 0;
    list_answer r;
    asking c = call(verb::list_advance, a);
    c.room = out;
    c.room_bytes = a.bytes;
    c.result = room_of(r);
    if (int s = ask(c)) return s;
    if (r.number)
        if (int s = sea_get(out, r.data, r.bytes, nullptr)) return s;
    if (bytes) *bytes = r.bytes;
    return SEA_OK;
}

int list_call::pop(std::uint32_t end, void *out, std::size_t room, std::size_t *bytes) const
{
    list_arguments a;
    a.flags = end | (out ? want_data : 0);
    a.bytes = room;
    list_answer r;
    asking c = call(verb::list_erase, a);
    c.room = out;
    c.room_bytes = room;
    c.result = room_of(r);
    c.late = free_one;
    if (int s = ask(c)) return s;
    if (r.number)
        if (int s = take_bytes(r, out)) return s;
    if (!r.number) free_data(r.data);
    if (bytes) *bytes = r.bytes;
    return SEA_OK;
}

// The bytes of an element that has been removed are the caller's alone; they are freed, whatever becomes of the get.
int list_call::take_bytes(const list_answer &r, void *out) const
{
    const int status = guarded(function, [&] {
        const std::shared_ptr<core::late_end> late = std::make_shared<freed_when_fetched>(r.data);
        return core::fetch(function, {static_cast<std::byte *>(out), r.bytes}, r.data, late);
    });
    if (status == SEA_ERR_TIMEOUT) return status;
    const std::string told = status ? last_error() : std::string();
    free_data(r.data);
    return status ? set_error(status, told) : SEA_OK;
}

int list_call::fetch(const sea_list_it &from, std::size_t n, std::vector<sea_list_entry> *entries,
                     std::uint64_t *version) const
{
    list_arguments a;
    a.a = place_of(from);
    a.bytes = n;
    list_answer r;
    std::vector<std::byte> all;
    asking c = call(verb::list_fetch, a);
    c.result = room_of(r);
    c.output = &all;
    if (int s = ask(c)) return s;
    const std::size_t count = std::min(n, all.size() / sizeof(list_fetched));
    entries->resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        list_fetched f;
        std::memcpy(&f, all.data() + i * sizeof f, sizeof f);
        (*entries)[i] = {{{at}, f.entry, f.stamp}, f.data, f.bytes};
    }
    if (version) *version = r.number;
    return SEA_OK;
}

int list_call::collect(const sea_list_it &first, const sea_list_it &last, bool with_bytes,
                       std::vector<list_copy> *all) const
{
    const auto is_last = [&](sea_addr entry) { return entry == last.entry; };
    std::vector<sea_list_entry> batch;
    for (sea_list_it from = first; !is_last(from.entry);) {
        // one more than is kept, from which the next batch goes on
        if (int s = fetch(from, fetched_at_once + 1, &batch, nullptr)) return s;
        const bool more = batch.size() > fetched_at_once;
        const std::size_t n = std::min(batch.size(), fetched_at_once);
        for (std::size_t i = 0; i < n; ++i) {
            if (is_last(batch[i].it.entry)) return SEA_OK;
            list_copy copy{batch[i], {}};
            if (with_bytes)
                if (int s = read_bytes(batch[i], &copy.bytes)) return s;
            all->push_back(std::move(copy));
        }
        if (!more && is_last(at)) return SEA_OK;
        if (!more) return fail(SEA_ERR_ADDRESS, "{}: the second iterator does not come behind the first", function);
        from = batch.back().it;
    }
    return SEA_OK;
}

int list_call::insert_copies(const sea_list_it &before, const std::vector<list_copy> &all) const
{
    list_arguments a;
    a.before = place_of(before);
    for (const list_copy &e : all) {
        const int rank = e.entry.data != SEA_NULL ? sea_addr_rank(e.entry.data) : sea_addr_rank(at);
        if (int s = core::check_rank(rank)) return s;
        if (int s = add_bytes(a, rank, source_bytes(e.bytes), e.bytes->size(), nullptr)) return s;
    }
    return SEA_OK;
}

int list_call::remove(const void *data, std::size_t bytes, bool unique, std::size_t *removed) const
{
    kept_bytes wanted; // a copy: what is given may lie in an element that goes first
    if (int s = new_bytes(function, &wanted, bytes)) return s;
    if (bytes) copy_bytes(wanted->data(), data, bytes);
    list_arguments a;
    a.flags = unique ? unique_only : 0;
    list_answer r;
    asking c = call(verb::list_remove, a);
    source_bytes(wanted).apply(c);
    c.result = room_of(r);
    if (int s = ask(c)) return s;
    if (r.bytes) return remove_slowly(wanted->data(), bytes, unique, removed);
    if (removed) *removed = r.number;
    return SEA_OK;
}

int list_call::remove_slowly(const void *data, std::size_t bytes, bool unique, std::size_t *removed) const
{
    std::vector<list_copy> all;
    const sea_list_it end{{at}, at, 0};
    list_answer first;
    if (int s = simple(verb::list_size, {}, &first)) return s;
    if (int s = collect({{at}, first.entry, first.stamp}, end, true, &all)) return s;
    const auto *wanted = static_cast<const std::byte *>(data);
    std::size_t n = 0;
    bool comparing = !unique;
    for (const list_copy &e : all) {
        if (comparing && std::equal(e.bytes->begin(), e.bytes->end(), wanted, wanted + bytes)) {
            const int s = erase(e.entry.it, nullptr);
            if (s != SEA_OK && s != SEA_ERR_HANDLE) return s; // somebody else has removed it
            n += s == SEA_OK;
        } else if (unique) {
            wanted = e.bytes->data();
            bytes = e.bytes->size();
            comparing = true;
        }
    }
    if (removed) *removed = n;
    return SEA_OK;
}

// The new entry has bytes of its own, on a third rank if they lie there: whatever becomes of the old one, no two
// entries free the same.
int list_call::copy_one(const sea_list_it &before, const list_call &from, const sea_list_entry &e,
                        sea_list_it *made) const
{
    list_arguments a;
    a.before = place_of(before);
    const int rank = sea_addr_rank(e.data);
    if (e.data == SEA_NULL || rank == sea_addr_rank(from.at)) {
        kept_bytes bytes;
        if (int s = read_bytes(e, &bytes)) return s;
        return link(a, source_bytes(bytes), made);
    }
    if (core::check_rank(rank) == SEA_ERR_DEAD) { // nobody frees those, nor reads them
        a.other = e.data;
        a.bytes = e.bytes;
        return link(a, {}, made);
    }
    return add_from(a, rank, e.data, e.bytes, made);
}

// Who cannot tell whether the old one is or will be gone, or is told that its list is, leaves the new one there: rather
// twice than not at all.
int list_call::move_one(const sea_list_it &before, const list_call &from, const list_copy &element) const
{
    sea_list_it made;
    if (int s = copy_one(before, from, element.entry, &made)) return s;
    bool undecided = false;
    const int s = from.erase(element.entry.it, nullptr, &undecided);
    if (s == SEA_OK || undecided || s == SEA_ERR_DEAD) return s;
    const std::string told = last_error();
    erase(made, nullptr); // somebody else has taken it, or nobody can
    return set_error(s, told);
}

int list_call::take(const sea_list_it &before, const list_call &from, const std::vector<list_copy> &all) const
{
    for (const list_copy &e : all)
        if (int s = move_one(before, from, e)) return s;
    return SEA_OK;
}

int list_call::splice_far(const sea_list_it &before, const sea_list_it &first, const sea_list_it &last) const
{
    const list_call from{function, first.list.at};
    std::vector<list_copy> all;
    if (int s = from.collect(first, last, false, &all)) return s;
    return take(before, from, all);
}

} // namespace onesea::data
