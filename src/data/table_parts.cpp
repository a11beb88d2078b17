// SPDX-License-Identifier: Apache-2.0
#include "data/table_parts.hpp"

#include "base/error.hpp"
#include "core/internal.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

namespace onesea::data {
namespace {

// Where 8 parts of a table lie that follow each other.
struct part_line {
    sea_table table{};
    std::uint64_t first = 0, id = 0;
    sea_table_kind kind = SEA_TABLE_SET;
    std::uint32_t n = 0; // 0: nothing is kept here
    std::array<sea_addr, parts_at_once> at{};
};

constexpr std::size_t lines = 512; // 56 KiB, for 4096 parts

struct part_store {
    std::array<part_line, lines> line;
    std::array<std::mutex, 16> mutex;
};

part_store &store()
{
    static auto *s = new part_store; // never destroyed: threads may be inside when the process ends
    return *s;
}

bool same(const sea_table &a, const sea_table &b)
{
    return a.address == b.address && a.parts == b.parts && a.slots == b.slots;
}

std::size_t line_of(const sea_table &t, std::uint64_t index)
{
    const std::uint64_t mixed = (t.address >> 6 ^ t.address << 7) * 0x9e3779b97f4a7c15u;
    return (std::size_t(mixed >> 40) + index / parts_at_once) % lines;
}

bool recall(const sea_table &t, std::uint64_t index, known_part *part)
{
    const std::size_t i = line_of(t, index);
    std::lock_guard held(store().mutex[i % store().mutex.size()]);
    const part_line &l = store().line[i];
    if (!same(l.table, t) || index < l.first || index - l.first >= l.n) return false;
    *part = {l.at[index - l.first], l.id, l.kind, false};
    return true;
}

void keep(const part_line &fresh)
{
    const std::size_t i = line_of(fresh.table, fresh.first);
    std::lock_guard held(store().mutex[i % store().mutex.size()]);
    store().line[i] = fresh;
}

int no_table(const char *function, const sea_table &t)
{
    return fail(SEA_ERR_HANDLE, "{}: {:#x} with {} parts of {} slots is no table that lives", function, t.address,
                t.parts, t.slots);
}

// Asks the directory for the parts from `first` on.
int look_up(const char *function, const sea_table &t, std::uint64_t first, part_line *line)
{
    const int owner = sea_addr_rank(t.address);
    if (int s = core::check_rank(owner)) return s;
    table_request a;
    a.what = table_what::look_up;
    a.slot = first;
    a.number = t.parts;
    a.room = t.slots;
    part_answer answer;
    line->table = t;
    line->first = first;
    std::size_t bytes = 0;
    asking c{function, verb::table, kind::table};
    c.at = t.address;
    c.owner = owner;
    c.arguments = bytes_of(a);
    c.result = room_of(answer);
    c.room = line->at.data();
    c.room_bytes = sizeof line->at;
    c.output_bytes = &bytes;
    c.deadline = core::thread_deadline();
    const int s = ask(c);
    if (s == SEA_ERR_HANDLE) return no_table(function, t);
    if (s) return s;
    line->id = answer.elem;
    line->kind = sea_table_kind(answer.key_bytes);
    line->n = std::uint32_t(bytes / sizeof(sea_addr));
    return line->n ? SEA_OK : no_table(function, t);
}

} // namespace

int check_table(const char *function, const sea_table &t)
{
    if (int s = core::check_started(function)) return s;
    if (t.address == SEA_NULL || t.parts == 0 || t.slots == 0) return no_table(function, t);
    return SEA_OK;
}

const char *name_of_kind(sea_table_kind kind)
{
    return kind == SEA_TABLE_SET ? "set" : kind == SEA_TABLE_MULTISET ? "multiset" : "map";
}

bool concerns(const known_part &part, sea_table_scope scope)
{
    return scope == SEA_TABLE_ALL || part.rank() == core::own_rank();
}

int part_call::find(bool anew)
{
    const bool known = recall(table, index, &part);
    if (known && !anew && core::alive(part.rank())) return SEA_OK;
    const int s = find_anew();
    // where the directory has ended no other table can have come
    return known && s == SEA_ERR_DEAD ? core::check_rank(part.rank()) : s;
}

int part_call::find_anew()
{
    part_line line;
    if (int s = look_up(function, table, index / parts_at_once * parts_at_once, &line)) return s;
    keep(line);
    part = {line.at[index % parts_at_once], line.id, line.kind, true};
    return core::check_rank(part.rank());
}

int part_call::ask_once(table_what what)
{
    request.id = part.id;
    request.what = what;
    request.key_bytes = std::uint32_t(key.size());
    std::byte arguments[sizeof request + short_key];
    std::memcpy(arguments, &request, sizeof request);
    asking c{function, verb::table, kind::table};
    c.arguments = {arguments, sizeof request};
    c.data = data;
    c.owner_of_data = owner_of_data;
    if (key.size() <= short_key) {
        if (!key.empty()) std::memcpy(arguments + sizeof request, key.data(), key.size());
        c.arguments = {arguments, sizeof request + key.size()};
    } else if (data.empty()) {
        c.data = key;
        c.owner_of_data = owner_of_key;
    } else {
        kept_bytes joined;
        if (int s = new_bytes(function, &joined, key.size() + data.size())) return s;
        std::copy(data.begin(), data.end(), std::copy(key.begin(), key.end(), joined->begin()));
        source_bytes(joined).apply(c);
    }
    c.at = part.at;
    c.owner = part.rank();
    c.result = room_of(answer);
    c.room = room;
    c.room_bytes = room_bytes;
    c.output_bytes = output_bytes;
    c.output = output;
    c.deadline = core::thread_deadline();
    return ask(c);
}

int part_call::run(table_what what)
{
    if (part.id == 0)
        if (int s = find()) return s;
    int s = ask_once(what);
    const auto gone = [&] { return s == SEA_ERR_HANDLE && answer.slot == -1; };
    if (gone() && !part.fresh) {
        const sea_table_kind remembered = part.kind;
        if (int problem = find_anew()) return problem;
        if (depends_on_kind && part.kind != remembered) return another_kind;
        s = ask_once(what);
    }
    if (gone()) return no_table(function, table);
    if (s == SEA_ERR_ALIGN)
        return fail(s, "{}: the value under this key has {} bytes, not 8", function, answer.value_bytes);
    return s;
}

int all_parts(const char *function, const sea_table &table, std::vector<sea_addr> *parts, known_part *any)
{
    parts->clear();
    while (parts->size() < table.parts) {
        part_line line;
        if (int s = look_up(function, table, parts->size(), &line)) return s;
        parts->insert(parts->end(), line.at.begin(), line.at.begin() + line.n);
        *any = {line.at[0], line.id, line.kind, true};
    }
    return SEA_OK;
}

int scan_part(part_call &c, std::uint64_t *slot, std::uint64_t *passed, std::size_t room)
{
    constexpr std::size_t batch = 128 << 10; // others wait while the owner puts it together
    c.request.slot = *slot;
    c.request.number = *passed;
    c.request.room = std::min(room, batch);
    int s = c.run(table_what::scan);
    if (s == SEA_ERR_MEMORY && c.answer.value_bytes > batch && c.answer.value_bytes <= room) {
        c.request.room = c.answer.value_bytes;
        s = c.run(table_what::scan);
    }
    if (s) return s;
    *slot = std::uint64_t(c.answer.slot);
    *passed = c.answer.passed;
    return SEA_OK;
}

int clear_part(part_call &c)
{
    for (c.request.slot = 0; c.request.slot < c.table.slots; c.request.slot = std::uint64_t(c.answer.slot))
        if (int s = c.run(table_what::clear)) return s;
    return SEA_OK;
}

} // namespace onesea::data
