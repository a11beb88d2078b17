// SPDX-License-Identifier: Apache-2.0
#include "data/sequence_calls.hpp"

#include "base/error.hpp"
#include "core/internal.hpp"
#include "onesea/data.h"

namespace onesea::data {

asking sequence_call::call(verb v, const sequence_arguments &a) const
{
    asking c{function, v, of};
    c.at = at;
    c.owner = sea_addr_rank(at);
    c.arguments = bytes_of(a);
    c.deadline = core::thread_deadline();
    return c;
}

int sequence_call::create(int owner, std::size_t capacity, sea_addr *handle) const
{
    if (int s = core::check_started(function)) return s;
    if (!handle) return fail(SEA_ERR_INVALID, "{}: the output is null", function);
    if (int s = core::check_rank(owner)) return s;
    const sequence_arguments a{of, 0, capacity, 0};
    sequence_answer answer{};
    asking c = call(verb::sequence_create, a);
    c.owner = owner;
    c.result = room_of(answer);
    if (int s = ask(c)) return s;
    *handle = answer.position;
    return SEA_OK;
}

int sequence_call::destroy() const
{
    if (int s = check_handle(function, of, at)) return s;
    const sequence_arguments a{of, 0, 0, 0};
    return ask(call(verb::sequence_destroy, a));
}

int sequence_call::size(std::size_t *bytes) const
{
    if (int s = check_handle(function, of, at)) return s;
    if (!bytes) return fail(SEA_ERR_INVALID, "{}: the output is null", function);
    const sequence_arguments a{of, 0, 0, 0};
    sequence_answer answer{};
    asking c = call(verb::sequence_extent, a);
    c.result = room_of(answer);
    if (int s = ask(c)) return s;
    *bytes = answer.position;
    return SEA_OK;
}

int sequence_call::capacity(std::size_t *bytes) const
{
    if (int s = check_handle(function, of, at)) return s;
    if (!bytes) return fail(SEA_ERR_INVALID, "{}: the output is null", function);
    const sequence_arguments a{of, 0, 0, 0};
    sequence_answer answer{};
    asking c = call(verb::sequence_extent, a);
    c.result = room_of(answer);
    if (int s = ask(c)) return s;
    *bytes = answer.capacity;
    return SEA_OK;
}

int sequence_call::reserve(std::size_t bytes) const
{
    if (int s = check_handle(function, of, at)) return s;
    const sequence_arguments a{of, 0, bytes, 0};
    return ask(call(verb::sequence_reserve, a));
}

int sequence_call::clear() const
{
    if (int s = check_handle(function, of, at)) return s;
    const sequence_arguments a{of, 0, 0, 0};
    return ask(call(verb::sequence_clear, a));
}

int sequence_call::insert_bytes(std::size_t position, std::uint32_t flags, const source_bytes &from, std::size_t bytes,
                                std::size_t *where) const
{
    const sequence_arguments a{of, flags, position, bytes};
    sequence_answer answer{};
    asking c = call(verb::sequence_insert, a);
    from.apply(c);
    c.result = room_of(answer);
    if (int s = ask(c)) return s;
    if (where) *where = answer.position;
    return SEA_OK;
}

int sequence_call::insert(std::size_t position, std::uint32_t flags, const void *data, std::size_t bytes,
                          std::size_t *where) const
{
    if (int s = check_handle(function, of, at)) return s;
    if (int s = check_data(function, data, bytes)) return s;
    return insert_bytes(position, flags, {data, bytes}, bytes, where);
}

int sequence_call::insert_from(std::size_t position, std::uint32_t flags, sea_addr source, std::size_t bytes,
                               std::size_t *where) const
{
    if (int s = check_handle(function, of, at)) return s;
    source_bytes from;
    if (int s = from.find(function, source, bytes, sea_addr_rank(at))) return s;
    return insert_bytes(position, flags, from, bytes, where);
}

// Bytes of another sequence of the same kind.
int sequence_call::fetch(sea_addr source, std::size_t first, std::size_t bytes, kept_bytes *data) const
{
    if (int s = check_handle(function, of, source)) return s;
    if (int s = new_bytes(function, data)) return s;
    const sequence_call from{function, of, source};
    const sequence_arguments a{of, bytes == SEA_REST ? rest : 0, first, bytes};
    asking c = from.call(verb::sequence_read, a);
    c.output = data->get();
    return ask(c);
}

int sequence_call::insert_range(std::size_t position, sea_addr source, std::size_t first, std::size_t bytes) const
{
    if (int s = check_handle(function, of, at)) return s;
    kept_bytes data;
    if (int s = fetch(source, first, bytes, &data)) return s;
    return insert_bytes(position, 0, source_bytes(data), data->size(), nullptr);
}

int sequence_call::erase(std::size_t position, std::uint32_t flags, std::size_t bytes, void *out) const
{
    if (int s = check_handle(function, of, at)) return s;
    if (bytes == SEA_REST && !(flags & (from_end | exactly))) flags |= rest;
    const sequence_arguments a{of, flags | (out ? want_bytes : 0), position, bytes};
    asking c = call(verb::sequence_erase, a);
    c.room = out;
    c.room_bytes = out ? bytes : 0;
    return ask(c);
}

int sequence_call::read(std::size_t position, void *out, std::size_t bytes) const
{
    if (int s = check_handle(function, of, at)) return s;
    if (bytes && !out) return fail(SEA_ERR_INVALID, "{}: the output is null", function);
    const sequence_arguments a{of, 0, position, bytes};
    asking c = call(verb::sequence_read, a);
    c.room = out;
    c.room_bytes = bytes;
    return ask(c);
}

int sequence_call::write(std::size_t position, const void *data, std::size_t bytes) const
{
    if (int s = check_handle(function, of, at)) return s;
    if (int s = check_data(function, data, bytes)) return s;
    const sequence_arguments a{of, 0, position, bytes};
    asking c = call(verb::sequence_write, a);
    c.data = {static_cast<const std::byte *>(data), bytes};
    return ask(c);
}

int sequence_call::assign_bytes(const source_bytes &from, std::size_t bytes) const
{
    const sequence_arguments a{of, 0, 0, bytes};
    asking c = call(verb::sequence_assign, a);
    from.apply(c);
    return ask(c);
}

int sequence_call::assign(const void *data, std::size_t bytes) const
{
    if (int s = check_handle(function, of, at)) return s;
    if (int s = check_data(function, data, bytes)) return s;
    return assign_bytes({data, bytes}, bytes);
}

int sequence_call::assign_from(sea_addr source, std::size_t bytes) const
{
    if (int s = check_handle(function, of, at)) return s;
    source_bytes from;
    if (int s = from.find(function, source, bytes, sea_addr_rank(at))) return s;
    return assign_bytes(from, bytes);
}

int sequence_call::assign_range(sea_addr source, std::size_t first, std::size_t bytes) const
{
    if (int s = check_handle(function, of, at)) return s;
    kept_bytes data;
    if (int s = fetch(source, first, bytes, &data)) return s;
    return assign_bytes(source_bytes(data), data->size());
}

int sequence_call::place(std::size_t position, sea_addr *address) const
{
    if (int s = check_handle(function, of, at)) return s;
    if (!address) return fail(SEA_ERR_INVALID, "{}: the output is null", function);
    const sequence_arguments a{of, 0, position, 0};
    sequence_answer answer{};
    asking c = call(verb::sequence_at, a);
    c.result = room_of(answer);
    if (int s = ask(c)) return s;
    *address = answer.position;
    return SEA_OK;
}

int sequence_call::swap(sea_addr other) const
{
    if (int s = check_handle(function, of, at)) return s;
    if (int s = check_handle(function, of, other)) return s;
    if (sea_addr_rank(at) != sea_addr_rank(other)) return swap_far(other);
    const sequence_arguments a{of, 0, other, 0};
    return ask(call(verb::sequence_swap, a));
}

int sequence_call::swap_far(sea_addr other) const
{
    kept_bytes mine, theirs;
    const sequence_call there{function, of, other};
    if (int s = fetch(at, 0, SEA_REST, &mine)) return s;
    if (int s = fetch(other, 0, SEA_REST, &theirs)) return s;
    if (int s = assign_bytes(source_bytes(theirs), theirs->size())) return s;
    return there.assign_bytes(source_bytes(mine), mine->size());
}

} // namespace onesea::data
