// SPDX-License-Identifier: Apache-2.0
// Hash tables: making and freeing them, and the calls on one key.
#include "base/error.hpp"
#include "core/internal.hpp"
#include "data/table_part.hpp"
#include "data/table_parts.hpp"
#include "onesea/table.h"

#include <atomic>
#include <vector>

namespace onesea::data {
namespace {

// Never 0, and never the same in one job: numbers of ranks are not given twice.
std::uint64_t new_id()
{
    static std::atomic<std::uint64_t> made{0};
    return std::uint64_t(core::own_rank()) << SEA_OFFSET_BITS | (made.fetch_add(1) + 1);
}

int check_length(const char *function, const char *what, std::size_t bytes)
{
    if (bytes > SEA_TABLE_BYTES_MAX)
        return fail(SEA_ERR_INVALID, "{}: a {} of {} bytes; the most is {}", function, what, bytes,
                    SEA_TABLE_BYTES_MAX);
    return SEA_OK;
}

// Bytes of a caller: his memory, or what lies at a global address.
class given_bytes {
  public:
    int take(const char *function, const char *what, const sea_bytes &b)
    {
        if (int s = check_length(function, what, b.bytes)) return s;
        if (b.memory || b.bytes == 0) {
            here_ = {static_cast<const std::byte *>(b.memory), b.bytes};
            return SEA_OK;
        }
        if (b.address == SEA_NULL)
            return fail(SEA_ERR_INVALID, "{}: the {} has {} bytes and no place", function, what, b.bytes);
        if (int s = there_.find(function, b.address, b.bytes, -1)) return s;
        here_ = there_.here();
        return SEA_OK;
    }
    byte_span bytes() const { return here_; }
    std::shared_ptr<const void> owner() const { return there_.owner(); }

  private:
    source_bytes there_;
    byte_span here_;
};

// A call on one key: the key is here, its part is known.
struct key_call {
    part_call part;
    given_bytes key, value;

    key_call(const char *function, sea_table table) : part{function, table, 0} {}

    int find(const sea_bytes &k)
    {
        if (int s = check_table(part.function, part.table)) return s;
        if (k.bytes == 0) return fail(SEA_ERR_INVALID, "{}: a key of 0 bytes", part.function);
        if (int s = key.take(part.function, "key", k)) return s;
        part.key = key.bytes();
        part.owner_of_key = key.owner();
        part.index = place_of_key(part.key, part.table.parts, part.table.slots).part;
        return part.find();
    }
    sea_table_kind kind() const { return part.part.kind; }
    int wrong_kind() const
    {
        return fail(SEA_ERR_INVALID, "{}: {:#x} is a {}", part.function, part.table.address, name_of_kind(kind()));
    }
    // Makes it a request to insert.
    int send(insert_mode mode, const sea_bytes &v = sea_memory(nullptr, 0))
    {
        if (int s = value.take(part.function, "value", v)) return s;
        part.request.mode = std::uint8_t(mode);
        part.data = value.bytes();
        part.owner_of_data = value.owner();
        return SEA_OK;
    }
    // Calls prepare(): the request for the kind that the table is, as far as is known; then the part. Whatever turns
    // out to have been remembered wrongly is prepared again.
    template <class Prepare>
    int insert(Prepare &&prepare)
    {
        part.depends_on_kind = true;
        while (true) {
            const int s = prepare();
            if (s == SEA_OK) {
                const int done = part.run(table_what::insert);
                if (done != another_kind) return done;
            } else if (s != another_kind) {
                return s;
            } else if (part.part.fresh) {
                return wrong_kind();
            } else if (int problem = part.find_anew()) {
                return problem;
            }
        }
    }
};

using kept_addresses = std::shared_ptr<std::vector<sea_addr>>;

int make_parts(part_call &c, sea_table_kind kind, const int *ranks, std::vector<sea_addr> *made)
{
    for (; made->size() < c.table.parts; ++c.index) {
        const int rank = ranks[c.index];
        if (int s = core::check_rank(rank)) return s;
        c.part = {std::uint64_t(rank) << SEA_OFFSET_BITS, c.part.id, kind, true};
        c.request.mode = std::uint8_t(kind);
        c.request.slot = c.table.slots;
        c.request.number = c.table.parts;
        c.request.elem = c.index;
        if (int s = c.run(table_what::make_part)) return s;
        made->push_back(c.part.at | c.answer.elem);
    }
    return SEA_OK;
}

int make_directory(part_call &c, int rank, const kept_addresses &parts, sea_addr *address)
{
    c.part.at = std::uint64_t(rank) << SEA_OFFSET_BITS;
    c.data = std::as_bytes(std::span(*parts));
    c.owner_of_data = parts;
    if (int s = c.run(table_what::make_directory)) return s;
    *address = c.part.at | c.answer.elem | tag_of_table(c.part.id);
    return SEA_OK;
}

// The first error that is no death: what lay on ranks that have ended is gone with them.
int free_parts(part_call &c, const std::vector<sea_addr> &parts)
{
    int status = SEA_OK;
    for (sea_addr at : parts) {
        c.part.at = at;
        if (!core::alive(c.part.rank())) continue;
        int s = clear_part(c);
        if (!s || s == SEA_ERR_ADDRESS) s = c.run(table_what::free_part);
        if (!status && s != SEA_ERR_DEAD) status = s;
    }
    return status;
}

int check_shape(sea_table_kind kind, const int *ranks, int parts, std::size_t slots, const sea_table *table)
{
    if (!table || !ranks || parts < 1)
        return fail(SEA_ERR_INVALID, "sea_table_create: {} ranks at {}, output at {}", parts, fmt::ptr(ranks),
                    fmt::ptr(table));
    if (unsigned(kind) > SEA_TABLE_MAP)
        return fail(SEA_ERR_INVALID, "sea_table_create: kind {} is none", unsigned(kind));
    if (slots < 1 || slots > INT32_MAX)
        return fail(SEA_ERR_INVALID, "sea_table_create: {} slots are not 1 .. {}", slots, INT32_MAX);
    return SEA_OK;
}

} // namespace
} // namespace onesea::data

using namespace onesea;
using namespace onesea::data;

int sea_table_create(sea_table_kind kind, const int *ranks, int parts, size_t slots, int directory, sea_table *table)
{
    if (int s = core::check_started("sea_table_create")) return s;
    if (int s = check_shape(kind, ranks, parts, slots, table)) return s;
    if (int s = core::check_rank(directory)) return s;
    sea_table t{SEA_NULL, std::uint64_t(parts), slots};
    part_call c{"sea_table_create", t, 0};
    c.part.id = new_id();
    const auto made = std::make_shared<std::vector<sea_addr>>();
    int s = make_parts(c, kind, ranks, made.get());
    if (!s) s = make_directory(c, directory, made, &t.address);
    if (!s) {
        *table = t;
        return SEA_OK;
    }
    const std::string text = sea_last_error(); // not that of the tidying up
    part_call undo{"sea_table_create", t, 0};
    undo.part = {SEA_NULL, c.part.id, kind, true};
    (void)free_parts(undo, *made);
    return fail(s, "{}", text);
}

int sea_table_destroy(sea_table table)
{
    if (int s = check_table("sea_table_destroy", table)) return s;
    part_call c{"sea_table_destroy", table, 0};
    std::vector<sea_addr> parts;
    if (int s = all_parts(c.function, table, &parts, &c.part)) return s;
    c.part.at = table.address;
    if (int s = c.run(table_what::free_directory)) return s;
    return free_parts(c, parts);
}

int sea_table_insert(sea_table table, sea_bytes key, sea_bytes value, int *inserted)
{
    key_call c("sea_table_insert", table);
    if (int s = c.find(key)) return s;
    const std::uint64_t one = 1;
    const int status = c.insert([&] {
        if (c.kind() == SEA_TABLE_MAP) return c.send(insert_mode::keep, value);
        if (c.kind() == SEA_TABLE_SET) return c.send(insert_mode::keep);
        return c.send(insert_mode::add, sea_memory(&one, sizeof one));
    });
    if (status) return status;
    if (inserted) *inserted = c.kind() == SEA_TABLE_MULTISET || c.part.answer.result;
    return SEA_OK;
}

int sea_table_store(sea_table table, sea_bytes key, sea_bytes value, int *inserted)
{
    key_call c("sea_table_store", table);
    if (int s = c.find(key)) return s;
    const int status =
        c.insert([&] { return c.kind() == SEA_TABLE_MAP ? c.send(insert_mode::replace, value) : another_kind; });
    if (status) return status;
    if (inserted) *inserted = int(c.part.answer.result);
    return SEA_OK;
}

int sea_table_add(sea_table table, sea_bytes key, uint64_t delta, uint64_t *before)
{
    key_call c("sea_table_add", table);
    if (int s = c.find(key)) return s;
    const int status = c.insert([&] {
        return c.kind() == SEA_TABLE_SET ? another_kind : c.send(insert_mode::add, sea_memory(&delta, sizeof delta));
    });
    if (status) return status;
    if (before) *before = c.part.answer.result;
    return SEA_OK;
}

int sea_table_get(sea_table table, sea_bytes key, void *buffer, size_t room, size_t *bytes, int *found)
{
    key_call c("sea_table_get", table);
    if (int s = c.find(key)) return s;
    if (!bytes || (room && !buffer))
        return fail(SEA_ERR_INVALID, "sea_table_get: {} bytes at {}, length at {}", room, fmt::ptr(buffer),
                    fmt::ptr(bytes));
    c.part.request.room = c.part.room_bytes = room;
    c.part.room = buffer;
    if (int s = c.part.run(table_what::get)) return s;
    *bytes = c.part.answer.value_bytes;
    if (found) *found = int(c.part.answer.result);
    return SEA_OK;
}

int sea_table_count(sea_table table, sea_bytes key, uint64_t *count)
{
    key_call c("sea_table_count", table);
    if (int s = c.find(key)) return s;
    if (!count) return fail(SEA_ERR_INVALID, "sea_table_count: the output is null");
    if (int s = c.part.run(table_what::count)) return s;
    *count = c.part.answer.result;
    return SEA_OK;
}

namespace {

int remove(const char *function, sea_table table, sea_bytes key, bool all, uint64_t *before)
{
    key_call c(function, table);
    if (int s = c.find(key)) return s;
    c.part.request.mode = all;
    if (int s = c.part.run(table_what::remove)) return s;
    if (before) *before = c.part.answer.result;
    return SEA_OK;
}

} // namespace

int sea_table_remove(sea_table table, sea_bytes key, uint64_t *before)
{
    return remove("sea_table_remove", table, key, false, before);
}

int sea_table_remove_all(sea_table table, sea_bytes key, uint64_t *before)
{
    return remove("sea_table_remove_all", table, key, true, before);
}

int sea_table_find(sea_table table, sea_bytes key, sea_table_it *it)
{
    key_call c("sea_table_find", table);
    if (int s = c.find(key)) return s;
    if (!it) return fail(SEA_ERR_INVALID, "sea_table_find: the output is null");
    if (int s = c.part.run(table_what::find)) return s;
    const part_answer &a = c.part.answer;
    if (a.elem == 0)
        *it = {table, int(table.parts), 0, SEA_NULL};
    else
        *it = {table, int(c.part.index), a.slot, std::uint64_t(c.part.part.rank()) << SEA_OFFSET_BITS | a.elem};
    return SEA_OK;
}
