// SPDX-License-Identifier: Apache-2.0
// Hash tables: the entries of one table go to another, in batches: one call at a part takes some out, one at each part
// that they belong to puts them in, and where they move a third one removes them from where they were.
#include "base/error.hpp"
#include "data/table_items.hpp"
#include "data/table_parts.hpp"
#include "onesea/table.h"

#include <iterator>
#include <map>
#include <new>
#include <string>
#include <vector>

namespace onesea::data {
namespace {

constexpr std::size_t batch_bytes = 32 << 10;

// Behind the first n items.
byte_span behind(byte_span items, std::uint64_t n)
{
    sea_table_item item;
    byte_span key, value;
    while (n-- && read_item(items, &item, &key, &value)) {
    }
    return items;
}

// A call on items, again with the rest until all are done.
int with_items(part_call &c, table_what what, const kept_bytes &items)
{
    c.owner_of_data = items;
    for (c.data = *items; !c.data.empty(); c.data = behind(c.data, c.answer.result))
        if (int s = c.run(what)) return s;
    return SEA_OK;
}

// By the part of `to` that each belongs to.
std::map<std::uint64_t, kept_bytes> sorted(byte_span items, const sea_table &to)
{
    std::map<std::uint64_t, kept_bytes> parts;
    sea_table_item item;
    byte_span key, value;
    for (byte_span left = items; !left.empty();) {
        const byte_span whole = left;
        if (!read_item(left, &item, &key, &value)) break;
        kept_bytes &b = parts[place_of_key(key, to.parts, to.slots).part];
        if (!b) b = std::make_shared<std::vector<std::byte>>();
        b->insert(b->end(), whole.begin(), whole.begin() + std::ptrdiff_t(item.bytes));
    }
    return parts;
}

struct transfer {
    const char *function;
    sea_table to, from;
    bool move;

    int put(byte_span items) const
    {
        for (const auto &[index, b] : sorted(items, to)) {
            part_call c{function, to, index};
            if (int s = with_items(c, table_what::insert_items, b)) return s;
        }
        return SEA_OK;
    }
    int take_part(std::uint64_t index) const
    {
        part_call c{function, from, index};
        std::size_t room = batch_bytes;
        for (std::uint64_t slot = 0, passed = 0; slot < from.slots;) {
            const auto items = std::make_shared<std::vector<std::byte>>(); // whoever still sends the last has that
            c.output = items.get();
            const int s = scan_part(c, &slot, &passed, room);
            if (s == SEA_ERR_MEMORY && c.answer.value_bytes > room) { // one that is longer than a batch
                room = c.answer.value_bytes;
                continue;
            }
            if (s) return s;
            room = batch_bytes;
            if (int problem = put(*items)) return problem;
            part_call back{function, from, index};
            if (int problem = move ? with_items(back, table_what::remove_items, items) : SEA_OK) return problem;
        }
        return SEA_OK;
    }
    int run(sea_table_scope scope) const
    {
        for (std::uint64_t index = 0; index < from.parts; ++index) {
            part_call c{function, from, index};
            if (int s = c.find(to_be_asked(scope, index))) return s;
            if (!concerns(c.part, scope)) continue;
            if (int s = take_part(index)) return s;
        }
        return SEA_OK;
    }
};

bool same_table(const sea_table &a, const sea_table &b) { return a.address == b.address; }

int kind_of(const char *function, const sea_table &t, sea_table_kind *kind)
{
    if (int s = check_table(function, t)) return s;
    part_call c{function, t, 0};
    const int s = c.find(true);
    *kind = c.part.kind;
    return c.part.id != 0 ? SEA_OK : s; // that its rank has ended is told when it is needed
}

int check_both(const char *function, const sea_table &a, const sea_table &b, sea_table_kind *kind)
{
    sea_table_kind other;
    if (int s = kind_of(function, a, kind)) return s;
    if (int s = kind_of(function, b, &other)) return s;
    if (*kind == other) return SEA_OK;
    return fail(SEA_ERR_INVALID, "{}: {:#x} is a {}, {:#x} a {}", function, a.address, name_of_kind(*kind), b.address,
                name_of_kind(other));
}

int guarded(const transfer &t, sea_table_scope scope)
{
    if (unsigned(scope) > SEA_TABLE_LOCAL)
        return fail(SEA_ERR_INVALID, "{}: scope {} is none", t.function, unsigned(scope));
    try {
        return t.run(scope);
    } catch (const std::bad_alloc &) {
        return fail(SEA_ERR_MEMORY, "{}: this process has no memory for a batch of entries", t.function);
    }
}

int two_different(const transfer &t, sea_table_scope scope)
{
    sea_table_kind kind;
    if (int s = check_both(t.function, t.to, t.from, &kind)) return s;
    if (same_table(t.to, t.from)) return fail(SEA_ERR_INVALID, "{}: {:#x} is both tables", t.function, t.to.address);
    return guarded(t, scope);
}

// A table like this one, on the same ranks.
int make_like(const char *function, const sea_table &t, sea_table *fresh)
{
    std::vector<sea_addr> parts;
    known_part any;
    if (int s = all_parts(function, t, &parts, &any)) return s;
    std::vector<int> ranks;
    for (sea_addr at : parts) ranks.push_back(sea_addr_rank(at));
    return sea_table_create(any.kind, ranks.data(), int(ranks.size()), t.slots, sea_addr_rank(t.address), fresh);
}

// By way of an empty table. On an error the way back is tried as well, but not with counts: entries that are in both
// tables, since the error came between, would have them doubled. The error of the first move that failed is told.
int exchange(const char *function, const sea_table &a, const sea_table &b, const sea_table &between, bool counts)
{
    const transfer moves[] = {{function, between, a, true}, {function, a, b, true}, {function, b, between, true}};
    for (std::size_t i = 0; i < std::size(moves); ++i) {
        const int s = guarded(moves[i], SEA_TABLE_ALL);
        if (!s) continue;
        const std::string text = sea_last_error();
        bool back = !counts;
        for (std::size_t left = i + 1; back && left-- > 0;)
            back = guarded({function, moves[left].from, moves[left].to, true}, SEA_TABLE_ALL) == SEA_OK;
        return fail(s, "{}", text);
    }
    return SEA_OK;
}

} // namespace
} // namespace onesea::data

using namespace onesea;
using namespace onesea::data;

int sea_table_assign(sea_table to, sea_table from, sea_table_scope scope)
{
    const transfer t{"sea_table_assign", to, from, false};
    sea_table_kind kind;
    if (int s = check_both(t.function, to, from, &kind)) return s;
    if (same_table(to, from)) return SEA_OK;
    if (int s = sea_table_clear(to, scope)) return s;
    return guarded(t, scope);
}

int sea_table_merge(sea_table to, sea_table from, sea_table_scope scope)
{
    return two_different({"sea_table_merge", to, from, false}, scope);
}

int sea_table_move(sea_table to, sea_table from, sea_table_scope scope)
{
    return two_different({"sea_table_move", to, from, true}, scope);
}

int sea_table_swap(sea_table a, sea_table b)
{
    const char *function = "sea_table_swap";
    sea_table_kind kind;
    if (int s = check_both(function, a, b, &kind)) return s;
    if (same_table(a, b)) return SEA_OK;
    sea_table between;
    if (int s = make_like(function, a, &between)) return s;
    const int s = exchange(function, a, b, between, kind == SEA_TABLE_MULTISET);
    if (!s) return sea_table_destroy(between);
    const std::string text = sea_last_error();
    std::uint64_t left = 0;
    if (sea_table_size(between, SEA_TABLE_ALL, &left) == SEA_OK && left == 0 && sea_table_destroy(between) == SEA_OK)
        return fail(s, "{}", text);
    // rather than be lost
    return fail(s, "{}; what was on its way is in the table {:#x} with {} parts of {} slots", text, between.address,
                between.parts, between.slots);
}
