// SPDX-License-Identifier: Apache-2.0
// Executes what is asked of a part or a directory; what comes from afar is checked here.
//
//   directory:  | magic | id | kind | parts | slots | address of each part |
//
// It is written once, before anybody knows of it.
#include "data/table_verb.hpp"

#include "base/copy.hpp"
#include "data/execution.hpp"
#include "data/table_layout.hpp"
#include "data/table_part.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace onesea::data {
namespace {

static_assert(part_busy == busy);

constexpr std::uint64_t directory_magic = 0x6f6e65736561a303u;

struct directory_head {
    std::uint64_t magic; // 0: destroyed
    std::uint64_t id, kind, parts, slots;
};

class heap_memory final : public part_memory {
  public:
    explicit heap_memory(const owner_heap &heap) : heap_(heap)
    {
        base = heap.memory;
        end = heap.heap->capacity();
        rank = heap.rank;
    }
    std::uint64_t allocate(std::uint64_t bytes) override { return heap_.allocate(bytes); }
    void release(std::uint64_t offset) override { heap_.release(offset); }
    bool live(std::uint64_t offset, std::uint64_t bytes) override { return heap_.live(offset, bytes); }

  private:
    const owner_heap &heap_;
};

// One call with its arguments taken apart.
struct table_call {
    execution &x;
    table_request a;
    byte_span key, data;
    part_answer answer;

    int refuse(int status, why reason, std::uint64_t n = 0, std::uint64_t m = 0)
    {
        answer.status = status;
        return x.refuse(status, reason, n, m);
    }
    int no_table()
    {
        answer.slot = -1;
        return refuse(SEA_ERR_HANDLE, why::no_structure);
    }
};

class value_output final : public value_sink {
  public:
    explicit value_output(table_call &c) : call_(c) {}
    bool put(byte_span value) override
    {
        const std::size_t n = std::min<std::size_t>(value.size(), call_.a.room);
        if (n) copy_bytes(call_.x.put_out(n), value.data(), n);
        return true;
    }

  private:
    table_call &call_;
};

bool good_kind(std::uint64_t kind) { return kind <= SEA_TABLE_MAP; }
bool good_slots(std::uint64_t slots) { return slots > 0 && slots <= INT32_MAX; }

int make_part(table_call &c)
{
    if (!good_kind(c.a.mode) || !good_slots(c.a.slot) || c.a.number == 0 || c.a.id == 0)
        return c.refuse(SEA_ERR_INTERNAL, why::not_known);
    heap_memory memory(c.x.heap);
    part_shape shape{c.a.id, sea_table_kind(c.a.mode), c.a.number, c.a.elem, c.a.slot};
    c.answer.elem = table_part::make(memory, shape);
    return c.answer.elem ? SEA_OK : c.refuse(SEA_ERR_MEMORY, why::no_room, part_bytes(c.a.slot));
}

int make_directory(table_call &c)
{
    const std::uint64_t parts = c.data.size() / sizeof(sea_addr);
    if (!good_kind(c.a.mode) || !good_slots(c.a.slot) || parts == 0 || c.data.size() % sizeof(sea_addr) || c.a.id == 0)
        return c.refuse(SEA_ERR_INTERNAL, why::not_known);
    const std::uint64_t bytes = sizeof(directory_head) + c.data.size();
    c.answer.elem = c.x.heap.allocate(bytes);
    if (!c.answer.elem) return c.refuse(SEA_ERR_MEMORY, why::no_room, bytes);
    auto *d = new (c.x.heap.at(c.answer.elem)) directory_head{0, c.a.id, c.a.mode, parts, c.a.slot};
    std::memcpy(d + 1, c.data.data(), c.data.size());
    word_at(&d->magic).store(directory_magic, std::memory_order_release);
    return SEA_OK;
}

// The directory that the call names, if it is there; its address has the tag of its table.
directory_head *directory_of(table_call &c)
{
    const std::uint64_t offset = sea_addr_offset(c.x.at) & ~tag_mask;
    if (!offset || !c.x.heap.live(offset, sizeof(directory_head))) return nullptr;
    auto *d = c.x.heap.as<directory_head>(offset);
    if (word_at(&d->magic).load(std::memory_order_acquire) != directory_magic) return nullptr;
    return (c.x.at & tag_mask) == tag_of_table(d->id) ? d : nullptr;
}

int free_directory(table_call &c)
{
    directory_head *d = directory_of(c);
    std::uint64_t magic = directory_magic;
    if (!d || d->id != c.a.id || !word_at(&d->magic).compare_exchange_strong(magic, 0)) return c.no_table();
    c.x.heap.release(c.x.heap.offset_of(d));
    return SEA_OK;
}

int look_up(table_call &c)
{
    const directory_head *d = directory_of(c);
    // number, room: parts and slots of the handle
    if (!d || d->parts != c.a.number || d->slots != c.a.room) return c.no_table();
    if (c.a.slot >= d->parts) return c.refuse(SEA_ERR_INTERNAL, why::not_known);
    const std::uint64_t n = std::min<std::uint64_t>(parts_at_once, d->parts - c.a.slot);
    const std::size_t bytes = n * sizeof(sea_addr);
    std::memcpy(c.x.put_out(bytes), reinterpret_cast<const sea_addr *>(d + 1) + c.a.slot, bytes);
    c.answer.result = n;
    c.answer.elem = d->id;
    c.answer.key_bytes = d->kind;
    return SEA_OK;
}

part_answer insert(table_call &c, table_part &part)
{
    const auto mode = insert_mode(c.a.mode);
    const bool counts = part.kind() == SEA_TABLE_MULTISET;
    const bool integer = c.data.size() == sizeof(std::uint64_t);
    if (mode > insert_mode::add || counts != (mode == insert_mode::add && part.kind() != SEA_TABLE_MAP) ||
        (mode == insert_mode::add && !integer) || c.data.size() > SEA_TABLE_BYTES_MAX)
        return {SEA_ERR_INVALID};
    return part.insert(c.key, part.kind() == SEA_TABLE_SET ? byte_span{} : c.data, mode);
}

part_answer get(table_call &c, table_part &part)
{
    value_output to(c);
    return part.get(c.key, to);
}

part_answer scan(table_call &c, table_part &part)
{
    std::vector<std::byte> items;
    part_answer a = part.scan(c.a.slot, c.a.number, c.a.room, items);
    if (!items.empty()) copy_bytes(c.x.put_out(items.size()), items.data(), items.size());
    return a;
}

part_answer run(table_call &c, table_part &part)
{
    switch (c.a.what) {
    case table_what::free_part:
        return part.destroy();
    case table_what::insert:
        return insert(c, part);
    case table_what::get:
        return get(c, part);
    case table_what::count:
        return part.count(c.key);
    case table_what::remove:
        return part.remove(c.key, c.a.mode);
    case table_what::find:
        return part.find(c.key);
    case table_what::entry:
        return part.entry(c.a.slot, sea_addr_offset(c.a.elem));
    case table_what::next:
        return part.next(c.a.slot, sea_addr_offset(c.a.elem));
    case table_what::scan:
        return scan(c, part);
    case table_what::insert_items:
        return part.insert_items(c.data);
    case table_what::remove_items:
        return part.remove_items(c.data);
    case table_what::size:
        return part.size();
    case table_what::total:
        return part.total();
    case table_what::clear:
        return part.clear(c.a.slot);
    default:
        return {SEA_ERR_INTERNAL};
    }
}

bool has_key(table_what what)
{
    return what == table_what::insert || what == table_what::get || what == table_what::count ||
           what == table_what::remove || what == table_what::find;
}

// A refusal in the words of call.cpp.
int explain(table_call &c)
{
    switch (c.answer.status) {
    case SEA_OK:
        return SEA_OK;
    case SEA_ERR_HANDLE:
        return c.refuse(SEA_ERR_HANDLE, why::no_element, c.a.elem);
    case SEA_ERR_MEMORY:
        if (c.a.what == table_what::scan)
            return c.refuse(SEA_ERR_MEMORY, why::too_large, c.answer.value_bytes, c.a.room);
        return c.refuse(SEA_ERR_MEMORY, why::no_room, c.key.size() + c.data.size());
    case SEA_ERR_ADDRESS:
        return c.refuse(SEA_ERR_ADDRESS, why::damaged);
    default:
        return c.refuse(c.answer.status, why::nothing);
    }
}

int on_part(table_call &c)
{
    heap_memory memory(c.x.heap);
    table_part part(memory, sea_addr_offset(c.x.at), c.a.id, c.x.who.deadline);
    if (part.status()) return c.no_table();
    if (has_key(c.a.what) && (c.key.empty() || c.key.size() > SEA_TABLE_BYTES_MAX))
        return c.refuse(SEA_ERR_INTERNAL, why::not_known);
    c.answer = run(c, part);
    return explain(c);
}

bool take_apart(table_call &c)
{
    byte_span in = c.x.arguments;
    if (in.size() < sizeof c.a) return false;
    std::memcpy(&c.a, in.data(), sizeof c.a);
    in = in.subspan(sizeof c.a);
    c.data = c.x.data;
    if (in.empty() && c.a.key_bytes) {
        if (c.a.key_bytes > c.data.size()) return false;
        c.key = c.data.first(c.a.key_bytes);
        c.data = c.data.subspan(c.a.key_bytes);
        return true;
    }
    c.key = in;
    return in.size() == c.a.key_bytes;
}

} // namespace

int table_verb(execution &x)
{
    table_call c{x, {}, {}, {}, {}};
    if (!take_apart(c)) return x.refuse(SEA_ERR_INTERNAL, why::not_known);
    int status;
    switch (c.a.what) {
    case table_what::make_part:
        status = make_part(c);
        break;
    case table_what::make_directory:
        status = make_directory(c);
        break;
    case table_what::free_directory:
        status = free_directory(c);
        break;
    case table_what::look_up:
        status = look_up(c);
        break;
    default:
        status = on_part(c);
    }
    c.answer.status = status;
    x.give(c.answer);
    return status;
}

} // namespace onesea::data
