// SPDX-License-Identifier: Apache-2.0
// The list of data.h; what the calls do is in list_calls.cpp and list_verbs.cpp.
#include "base/error.hpp"
#include "core/internal.hpp"
#include "data/list_calls.hpp"

using namespace onesea;
using namespace onesea::data;

namespace {

list_call on(const char *function, sea_list list) { return {function, list.at}; }

int missing(const char *function) { return fail(SEA_ERR_INVALID, "{}: an output is null", function); }

int push(const list_call &l, std::uint32_t end, int rank, const void *data, size_t bytes, sea_list_it *it)
{
    if (int s = l.check()) return s;
    list_arguments a;
    a.flags = end;
    return l.add(a, rank, data, bytes, it);
}

int push_from(const list_call &l, std::uint32_t end, int rank, sea_addr source, size_t bytes, sea_list_it *it)
{
    if (int s = l.check()) return s;
    list_arguments a;
    a.flags = end;
    return l.add_from(a, rank, source, bytes, it);
}

int place_answer(const list_call &l, verb v, const list_arguments &a, sea_list_it *it)
{
    list_answer r;
    if (int s = l.simple(v, a, &r)) return s;
    *it = {{l.at}, r.entry, r.stamp};
    return SEA_OK;
}

int check_element(const list_call &l, sea_list_it it)
{
    if (int s = l.check(it)) return s;
    return it.entry == l.at ? fail(SEA_ERR_ADDRESS, "{}: the end of a list is no element", l.function) : SEA_OK;
}

int entry_of(const list_call &l, sea_list_it it, sea_list_entry *entry)
{
    if (int s = check_element(l, it)) return s;
    list_arguments a;
    a.a = place_of(it);
    list_answer r;
    if (int s = l.simple(verb::list_advance, a, &r)) return s;
    *entry = {{{l.at}, r.entry, r.stamp}, r.data, r.bytes};
    return SEA_OK;
}

sea_list_it end_of(const list_call &l) { return sea_list_end({l.at}); }

// The elements of both as they are now go to the end of the other one.
int swap_far(const list_call &a, const list_call &b)
{
    std::vector<list_copy> of_a, of_b;
    sea_list_it first_a, first_b;
    if (int s = place_answer(a, verb::list_size, {}, &first_a)) return s;
    if (int s = place_answer(b, verb::list_size, {}, &first_b)) return s;
    if (int s = a.collect(first_a, end_of(a), false, &of_a)) return s;
    if (int s = b.collect(first_b, end_of(b), false, &of_b)) return s;
    if (int s = b.take(end_of(b), a, of_a)) return s;
    return a.take(end_of(a), b, of_b);
}

} // namespace

int sea_list_create(int owner, sea_list *list)
{
    const list_call l{"sea_list_create", SEA_NULL};
    if (int s = core::check_started(l.function)) return s;
    if (!list) return missing(l.function);
    if (int s = core::check_rank(owner)) return s;
    const list_arguments a;
    list_answer r;
    asking c = l.call(verb::list_create, a);
    c.owner = owner;
    c.result = room_of(r);
    if (int s = ask(c)) return s;
    list->at = r.entry;
    return SEA_OK;
}

int sea_list_destroy(sea_list list)
{
    const list_call l = on("sea_list_destroy", list);
    if (int s = l.check()) return s;
    return l.removing(verb::list_destroy, {});
}

int sea_list_clear(sea_list list)
{
    const list_call l = on("sea_list_clear", list);
    if (int s = l.check()) return s;
    return l.removing(verb::list_clear, {});
}

int sea_list_size(sea_list list, size_t *elements)
{
    const list_call l = on("sea_list_size", list);
    if (int s = l.check()) return s;
    if (!elements) return missing(l.function);
    list_answer r;
    if (int s = l.simple(verb::list_size, {}, &r)) return s;
    *elements = r.number;
    return SEA_OK;
}

int sea_list_push_back(sea_list list, int rank, const void *data, size_t bytes, sea_list_it *it)
{
    return push(on("sea_list_push_back", list), at_back, rank, data, bytes, it);
}

int sea_list_push_back_from(sea_list list, int rank, sea_addr source, size_t bytes, sea_list_it *it)
{
    return push_from(on("sea_list_push_back_from", list), at_back, rank, source, bytes, it);
}

int sea_list_push_front(sea_list list, int rank, const void *data, size_t bytes, sea_list_it *it)
{
    return push(on("sea_list_push_front", list), at_front, rank, data, bytes, it);
}

int sea_list_push_front_from(sea_list list, int rank, sea_addr source, size_t bytes, sea_list_it *it)
{
    return push_from(on("sea_list_push_front_from", list), at_front, rank, source, bytes, it);
}

int sea_list_insert(sea_list_it before, int rank, const void *data, size_t bytes, sea_list_it *it)
{
    const list_call l = on("sea_list_insert", before.list);
    if (int s = l.check(before)) return s;
    list_arguments a;
    a.before = place_of(before);
    return l.add(a, rank, data, bytes, it);
}

int sea_list_insert_from(sea_list_it before, int rank, sea_addr source, size_t bytes, sea_list_it *it)
{
    const list_call l = on("sea_list_insert_from", before.list);
    if (int s = l.check(before)) return s;
    list_arguments a;
    a.before = place_of(before);
    return l.add_from(a, rank, source, bytes, it);
}

int sea_list_erase(sea_list_it it, sea_list_it *next)
{
    const list_call l = on("sea_list_erase", it.list);
    if (int s = l.check(it)) return s;
    return l.erase(it, next);
}

int sea_list_erase_range(sea_list_it first, sea_list_it last, sea_list_it *next)
{
    const list_call l = on("sea_list_erase_range", first.list);
    if (int s = l.check(first)) return s;
    if (int s = l.check(last)) return s;
    list_arguments a;
    a.flags = to_last;
    a.a = place_of(first);
    a.b = place_of(last);
    list_answer r;
    if (int s = l.removing(verb::list_erase, a, &r)) return s;
    if (next) *next = {first.list, r.entry, r.stamp};
    return SEA_OK;
}

int sea_list_pop_front(sea_list list, void *out, size_t room, size_t *bytes)
{
    const list_call l = on("sea_list_pop_front", list);
    if (int s = l.check()) return s;
    return l.pop(at_front, out, room, bytes);
}

int sea_list_pop_back(sea_list list, void *out, size_t room, size_t *bytes)
{
    const list_call l = on("sea_list_pop_back", list);
    if (int s = l.check()) return s;
    return l.pop(at_back, out, room, bytes);
}

int sea_list_remove(sea_list list, const void *data, size_t bytes, size_t *removed)
{
    const list_call l = on("sea_list_remove", list);
    if (int s = l.check()) return s;
    if (int s = check_data(l.function, data, bytes)) return s;
    return guarded(l.function, [&] { return l.remove(data, bytes, false, removed); });
}

int sea_list_unique(sea_list list, size_t *removed)
{
    const list_call l = on("sea_list_unique", list);
    if (int s = l.check()) return s;
    return guarded(l.function, [&] { return l.remove(nullptr, 0, true, removed); });
}

int sea_list_reverse(sea_list list)
{
    const list_call l = on("sea_list_reverse", list);
    if (int s = l.check()) return s;
    return l.simple(verb::list_reverse, {});
}

int sea_list_swap(sea_list a, sea_list b)
{
    const list_call one = on("sea_list_swap", a), two = on("sea_list_swap", b);
    if (int s = one.check()) return s;
    if (int s = two.check()) return s;
    if (sea_addr_rank(a.at) == sea_addr_rank(b.at)) {
        list_arguments arguments;
        arguments.other = b.at;
        return one.simple(verb::list_swap, arguments);
    }
    return guarded(one.function, [&] { return swap_far(one, two); });
}

int sea_list_splice(sea_list_it before, sea_list_it first, sea_list_it last)
{
    const list_call to = on("sea_list_splice", before.list), from = on("sea_list_splice", first.list);
    if (int s = to.check(before)) return s;
    if (int s = from.check(first)) return s;
    if (int s = from.check(last)) return s;
    if (sea_addr_rank(to.at) != sea_addr_rank(from.at))
        return guarded(to.function, [&] { return to.splice_far(before, first, last); });
    list_arguments a;
    a.before = place_of(before);
    a.a = place_of(first);
    a.b = place_of(last);
    a.other = from.at;
    return to.simple(verb::list_splice, a);
}

int sea_list_assign(sea_list list, sea_list_it first, sea_list_it last)
{
    const list_call to = on("sea_list_assign", list), from = on("sea_list_assign", first.list);
    if (int s = to.check()) return s;
    if (int s = from.check(first)) return s;
    if (int s = from.check(last)) return s;
    return guarded(to.function, [&] {
        std::vector<list_copy> all;
        if (int s = from.collect(first, last, true, &all)) return s;
        if (int s = to.removing(verb::list_clear, {})) return s;
        return to.insert_copies(sea_list_end(list), all);
    });
}

int sea_list_insert_range(sea_list_it before, sea_list_it first, sea_list_it last)
{
    const list_call to = on("sea_list_insert_range", before.list), from = on("sea_list_insert_range", first.list);
    if (int s = to.check(before)) return s;
    if (int s = from.check(first)) return s;
    if (int s = from.check(last)) return s;
    return guarded(to.function, [&] {
        std::vector<list_copy> all;
        if (int s = from.collect(first, last, true, &all)) return s;
        return to.insert_copies(before, all);
    });
}

int sea_list_begin(sea_list list, sea_list_it *it)
{
    const list_call l = on("sea_list_begin", list);
    if (int s = l.check()) return s;
    if (!it) return missing(l.function);
    return place_answer(l, verb::list_size, {}, it);
}

int sea_list_advance(sea_list_it it, int64_t n, sea_list_it *result)
{
    const list_call l = on("sea_list_advance", it.list);
    if (int s = l.check(it)) return s;
    if (!result) return missing(l.function);
    list_arguments a;
    a.a = place_of(it);
    a.distance = n;
    return place_answer(l, verb::list_advance, a, result);
}

int sea_list_distance(sea_list_it first, sea_list_it last, size_t *elements)
{
    const list_call l = on("sea_list_distance", first.list);
    if (int s = l.check(first)) return s;
    if (int s = l.check(last)) return s;
    if (!elements) return missing(l.function);
    list_arguments a;
    a.a = place_of(first);
    a.b = place_of(last);
    list_answer r;
    if (int s = l.simple(verb::list_distance, a, &r)) return s;
    *elements = r.number;
    return SEA_OK;
}

int sea_list_get(sea_list_it it, sea_list_entry *entry)
{
    const list_call l = on("sea_list_get", it.list);
    if (!entry) return missing(l.function);
    return entry_of(l, it, entry);
}

int sea_list_read(sea_list_it it, void *out, size_t room, size_t *bytes)
{
    const list_call l = on("sea_list_read", it.list);
    if (int s = check_element(l, it)) return s;
    return l.read(it, out, room, bytes);
}

int sea_list_fetch(sea_list_it from, sea_list_entry *entries, size_t n, size_t *count, uint64_t *version)
{
    const list_call l = on("sea_list_fetch", from.list);
    if (int s = l.check(from)) return s;
    if (!count || (n && !entries)) return missing(l.function);
    return guarded(l.function, [&] {
        std::vector<sea_list_entry> all;
        if (int s = l.fetch(from, n, &all, version)) return s;
        std::copy(all.begin(), all.end(), entries);
        *count = all.size();
        return int(SEA_OK);
    });
}

int sea_list_reorder(sea_list list, uint64_t version, const sea_addr *order, size_t n)
{
    const list_call l = on("sea_list_reorder", list);
    if (int s = l.check()) return s;
    if (n > SEA_OFFSET_MASK) return fail(SEA_ERR_INVALID, "{}: {} elements are in no list", l.function, n);
    if (int s = check_data(l.function, order, n * sizeof *order)) return s;
    list_arguments a;
    a.bytes = version;
    asking c = l.call(verb::list_reorder, a);
    c.data = {reinterpret_cast<const std::byte *>(order), n * sizeof *order};
    return ask(c);
}
