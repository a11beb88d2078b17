// SPDX-License-Identifier: Apache-2.0
// Hash tables: iterators, scans, and calls that visit every part.
#include "base/error.hpp"
#include "core/internal.hpp"
#include "data/table_layout.hpp"
#include "data/table_parts.hpp"
#include "onesea/table.h"

namespace onesea::data {
namespace {

int check_scope(const char *function, sea_table_scope scope)
{
    if (unsigned(scope) <= SEA_TABLE_LOCAL) return SEA_OK;
    return fail(SEA_ERR_INVALID, "{}: scope {} is none", function, unsigned(scope));
}

// Its rank has ended, or has while it was asked.
bool ended(const part_call &c, int status)
{
    return status == SEA_ERR_DEAD && c.part.id != 0 && !core::alive(c.part.rank());
}

// The first entry of a part behind a place, if there is one: elem of the answer.
int next_in_part(part_call &c, std::uint64_t slot, sea_addr elem)
{
    c.request.slot = slot;
    c.request.elem = elem;
    do {
        if (int s = c.run(table_what::next)) return s;
        c.request.slot = std::uint64_t(c.answer.slot);
        c.request.elem = SEA_NULL;
    } while (c.answer.elem == 0 && c.request.slot < c.table.slots);
    return SEA_OK;
}

int next_entry(const char *function, sea_table_it from, sea_table_scope scope, sea_table_it *it)
{
    const sea_table &t = from.table;
    for (auto index = std::uint64_t(from.part); index < t.parts; ++index, from.slot = 0, from.elem = SEA_NULL) {
        part_call c{function, t, index};
        int s = c.find(from.elem == SEA_NULL && to_be_asked(scope, index));
        if (!s && concerns(c.part, scope)) s = next_in_part(c, std::uint64_t(from.slot), from.elem);
        if (s && !ended(c, s)) return s;
        if (s || c.answer.elem == 0) continue;
        *it = {t, int(index), c.answer.slot, std::uint64_t(c.part.rank()) << SEA_OFFSET_BITS | c.answer.elem};
        return SEA_OK;
    }
    *it = {t, int(t.parts), 0, SEA_NULL};
    return SEA_OK;
}

int check_it(const char *function, const sea_table_it &it)
{
    if (int s = check_table(function, it.table)) return s;
    if (it.elem == SEA_NULL) return fail(SEA_ERR_HANDLE, "{}: this iterator is the end", function);
    const bool inside = it.part >= 0 && std::uint64_t(it.part) < it.table.parts && it.slot >= 0 &&
                        std::uint64_t(it.slot) < it.table.slots;
    if (inside) return SEA_OK;
    return fail(SEA_ERR_HANDLE, "{}: part {} and slot {} are not of a table with {} parts of {} slots", function,
                it.part, it.slot, it.table.parts, it.table.slots);
}

// Runs `use` on every part of the scope. Where a part's rank has ended the others are visited all the same.
template <class Use>
int each_part(const char *function, const sea_table &t, sea_table_scope scope, Use &&use)
{
    if (int s = check_table(function, t)) return s;
    if (int s = check_scope(function, scope)) return s;
    int dead = -1;
    for (std::uint64_t index = 0; index < t.parts; ++index) {
        part_call c{function, t, index};
        int s = c.find(to_be_asked(scope, index));
        if (!s && concerns(c.part, scope)) s = use(c);
        if (s && !ended(c, s)) return s;
        if (s && concerns(c.part, scope)) dead = c.part.rank();
    }
    return dead < 0 ? SEA_OK
                    : fail(SEA_ERR_DEAD, "{}: rank {}, which has a part of the table, has ended", function, dead);
}

int sum_parts(const char *function, sea_table table, sea_table_scope scope, table_what what, uint64_t *result)
{
    std::uint64_t sum = 0;
    const auto add = [&](part_call &c) {
        const int s = c.run(what);
        sum += c.answer.result;
        return s;
    };
    if (int s = each_part(function, table, scope, add)) return s;
    if (!result) return fail(SEA_ERR_INVALID, "{}: the output is null", function);
    *result = sum;
    return SEA_OK;
}

} // namespace
} // namespace onesea::data

using namespace onesea;
using namespace onesea::data;

int sea_table_begin(sea_table table, sea_table_scope scope, sea_table_it *it)
{
    if (int s = check_table("sea_table_begin", table)) return s;
    if (int s = check_scope("sea_table_begin", scope)) return s;
    if (!it) return fail(SEA_ERR_INVALID, "sea_table_begin: the output is null");
    return next_entry("sea_table_begin", {table, 0, 0, SEA_NULL}, scope, it);
}

int sea_table_next(sea_table_it *it, sea_table_scope scope)
{
    if (!it) return fail(SEA_ERR_INVALID, "sea_table_next: the iterator is null");
    if (int s = check_it("sea_table_next", *it)) return s;
    if (int s = check_scope("sea_table_next", scope)) return s;
    return next_entry("sea_table_next", *it, scope, it);
}

int sea_table_entry(sea_table_it it, sea_addr *key, size_t *key_bytes, sea_addr *value, size_t *value_bytes)
{
    if (int s = check_it("sea_table_entry", it)) return s;
    part_call c{"sea_table_entry", it.table, std::uint64_t(it.part)};
    c.request.slot = std::uint64_t(it.slot);
    c.request.elem = it.elem;
    if (int s = c.run(table_what::entry)) return s;
    const part_answer &a = c.answer;
    const sea_addr at = it.elem + sizeof(entry_head);
    if (key) *key = at;
    if (key_bytes) *key_bytes = a.key_bytes;
    if (value) *value = c.part.kind == SEA_TABLE_SET ? SEA_NULL : at + pad8(a.key_bytes);
    if (value_bytes) *value_bytes = a.value_bytes;
    return SEA_OK;
}

int sea_table_scan_start(sea_table table, sea_table_scope scope, sea_table_scan *scan)
{
    if (int s = check_table("sea_table_scan_start", table)) return s;
    if (int s = check_scope("sea_table_scan_start", scope)) return s;
    if (!scan) return fail(SEA_ERR_INVALID, "sea_table_scan_start: the output is null");
    *scan = {table, scope, 0, 0, 0};
    return SEA_OK;
}

int sea_table_scan_next(sea_table_scan *scan, void *buffer, size_t room, size_t *items)
{
    const char *function = "sea_table_scan_next";
    if (!scan || !buffer || !items) return fail(SEA_ERR_INVALID, "{}: an argument is null", function);
    if (int s = check_table(function, scan->table)) return s;
    if (int s = check_scope(function, scan->scope)) return s;
    if (reinterpret_cast<std::uintptr_t>(buffer) % 8 || scan->part < 0 || scan->slot < 0)
        return fail(SEA_ERR_INVALID, "{}: a buffer at {}, part {}, slot {}", function, fmt::ptr(buffer), scan->part,
                    scan->slot);
    while (std::uint64_t(scan->part) < scan->table.parts) {
        part_call c{function, scan->table, std::uint64_t(scan->part)};
        c.room = buffer;
        c.room_bytes = room;
        std::uint64_t slot = std::uint64_t(scan->slot);
        int s = c.find(slot == 0 && scan->passed == 0 && to_be_asked(scan->scope, c.index));
        const bool mine = concerns(c.part, scan->scope);
        if (!s && mine) s = scan_part(c, &slot, &scan->passed, room);
        if (s && !ended(c, s)) {
            if (s == SEA_ERR_MEMORY) *items = c.answer.value_bytes;
            return s;
        }
        if (s || !mine || slot >= scan->table.slots) {
            ++scan->part;
            slot = scan->passed = 0;
        }
        scan->slot = int(slot);
        if (!s && mine && c.answer.result) {
            *items = c.answer.result;
            return SEA_OK;
        }
    }
    *items = 0;
    return SEA_OK;
}

int sea_table_size(sea_table table, sea_table_scope scope, uint64_t *keys)
{
    return sum_parts("sea_table_size", table, scope, table_what::size, keys);
}

int sea_table_total(sea_table table, sea_table_scope scope, uint64_t *total)
{
    return sum_parts("sea_table_total", table, scope, table_what::total, total);
}

int sea_table_clear(sea_table table, sea_table_scope scope)
{
    return each_part("sea_table_clear", table, scope, [](part_call &c) { return clear_part(c); });
}
