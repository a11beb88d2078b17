// SPDX-License-Identifier: Apache-2.0
// The deque of data.h; what the calls do is in sequence_calls.cpp and sequence_verbs.cpp.
#include "data/sequence_calls.hpp"
#include "onesea/data.h"

using namespace onesea::data;

namespace {

sequence_call on(const char *function, sea_deque deque) { return {function, kind::deque, deque.at}; }

} // namespace

int sea_deque_create(int owner, size_t capacity, sea_deque *deque)
{
    return on("sea_deque_create", {}).create(owner, capacity, deque ? &deque->at : nullptr);
}

int sea_deque_destroy(sea_deque deque) { return on("sea_deque_destroy", deque).destroy(); }

int sea_deque_size(sea_deque deque, size_t *bytes) { return on("sea_deque_size", deque).size(bytes); }

int sea_deque_capacity(sea_deque deque, size_t *bytes) { return on("sea_deque_capacity", deque).capacity(bytes); }

int sea_deque_reserve(sea_deque deque, size_t bytes) { return on("sea_deque_reserve", deque).reserve(bytes); }

int sea_deque_clear(sea_deque deque) { return on("sea_deque_clear", deque).clear(); }

int sea_deque_push_back(sea_deque deque, const void *data, size_t bytes)
{
    return on("sea_deque_push_back", deque).insert(0, from_end, data, bytes);
}

int sea_deque_push_back_from(sea_deque deque, sea_addr source, size_t bytes)
{
    return on("sea_deque_push_back_from", deque).insert_from(0, from_end, source, bytes);
}

int sea_deque_push_front(sea_deque deque, const void *data, size_t bytes)
{
    return on("sea_deque_push_front", deque).insert(0, 0, data, bytes);
}

int sea_deque_push_front_from(sea_deque deque, sea_addr source, size_t bytes)
{
    return on("sea_deque_push_front_from", deque).insert_from(0, 0, source, bytes);
}

int sea_deque_pop_back(sea_deque deque, void *out, size_t bytes)
{
    return on("sea_deque_pop_back", deque).erase(0, from_end, bytes, out);
}

int sea_deque_pop_front(sea_deque deque, void *out, size_t bytes)
{
    return on("sea_deque_pop_front", deque).erase(0, exactly, bytes, out);
}

int sea_deque_insert(sea_deque deque, size_t position, const void *data, size_t bytes)
{
    return on("sea_deque_insert", deque).insert(position, 0, data, bytes);
}

int sea_deque_insert_from(sea_deque deque, size_t position, sea_addr source, size_t bytes)
{
    return on("sea_deque_insert_from", deque).insert_from(position, 0, source, bytes);
}

int sea_deque_insert_range(sea_deque deque, size_t position, sea_deque source, size_t first, size_t bytes)
{
    return on("sea_deque_insert_range", deque).insert_range(position, source.at, first, bytes);
}

int sea_deque_erase(sea_deque deque, size_t position, size_t bytes)
{
    return on("sea_deque_erase", deque).erase(position, 0, bytes);
}

int sea_deque_read(sea_deque deque, size_t position, void *out, size_t bytes)
{
    return on("sea_deque_read", deque).read(position, out, bytes);
}

int sea_deque_write(sea_deque deque, size_t position, const void *data, size_t bytes)
{
    return on("sea_deque_write", deque).write(position, data, bytes);
}

int sea_deque_assign(sea_deque deque, const void *data, size_t bytes)
{
    return on("sea_deque_assign", deque).assign(data, bytes);
}

int sea_deque_assign_from(sea_deque deque, sea_addr source, size_t bytes)
{
    return on("sea_deque_assign_from", deque).assign_from(source, bytes);
}

int sea_deque_assign_range(sea_deque deque, sea_deque source, size_t first, size_t bytes)
{
    return on("sea_deque_assign_range", deque).assign_range(source.at, first, bytes);
}

int sea_deque_at(sea_deque deque, size_t position, sea_addr *address)
{
    return on("sea_deque_at", deque).place(position, address);
}

int sea_deque_swap(sea_deque a, sea_deque b) { return on("sea_deque_swap", a).swap(b.at); }
