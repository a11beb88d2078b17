// SPDX-License-Identifier: Apache-2.0
// The vector of data.h; what the calls do is in sequence_calls.cpp and sequence_verbs.cpp.
#include "data/sequence_calls.hpp"
#include "onesea/data.h"

using namespace onesea::data;

namespace {

sequence_call on(const char *function, sea_vector vector) { return {function, kind::vector, vector.at}; }

} // namespace

int sea_vector_create(int owner, size_t capacity, sea_vector *vector)
{
    return on("sea_vector_create", {}).create(owner, capacity, vector ? &vector->at : nullptr);
}

int sea_vector_destroy(sea_vector vector) { return on("sea_vector_destroy", vector).destroy(); }

int sea_vector_size(sea_vector vector, size_t *bytes) { return on("sea_vector_size", vector).size(bytes); }

int sea_vector_capacity(sea_vector vector, size_t *bytes) { return on("sea_vector_capacity", vector).capacity(bytes); }

int sea_vector_reserve(sea_vector vector, size_t bytes) { return on("sea_vector_reserve", vector).reserve(bytes); }

int sea_vector_clear(sea_vector vector) { return on("sea_vector_clear", vector).clear(); }

int sea_vector_push_back(sea_vector vector, const void *data, size_t bytes, size_t *position)
{
    return on("sea_vector_push_back", vector).insert(0, from_end, data, bytes, position);
}

int sea_vector_push_back_from(sea_vector vector, sea_addr source, size_t bytes, size_t *position)
{
    return on("sea_vector_push_back_from", vector).insert_from(0, from_end, source, bytes, position);
}

int sea_vector_pop_back(sea_vector vector, void *out, size_t bytes)
{
    return on("sea_vector_pop_back", vector).erase(0, from_end, bytes, out);
}

int sea_vector_insert(sea_vector vector, size_t position, const void *data, size_t bytes)
{
    return on("sea_vector_insert", vector).insert(position, 0, data, bytes);
}

int sea_vector_insert_from(sea_vector vector, size_t position, sea_addr source, size_t bytes)
{
    return on("sea_vector_insert_from", vector).insert_from(position, 0, source, bytes);
}

int sea_vector_insert_range(sea_vector vector, size_t position, sea_vector source, size_t first, size_t bytes)
{
    return on("sea_vector_insert_range", vector).insert_range(position, source.at, first, bytes);
}

int sea_vector_erase(sea_vector vector, size_t position, size_t bytes)
{
    return on("sea_vector_erase", vector).erase(position, 0, bytes);
}

int sea_vector_read(sea_vector vector, size_t position, void *out, size_t bytes)
{
    return on("sea_vector_read", vector).read(position, out, bytes);
}

int sea_vector_write(sea_vector vector, size_t position, const void *data, size_t bytes)
{
    return on("sea_vector_write", vector).write(position, data, bytes);
}

int sea_vector_assign(sea_vector vector, const void *data, size_t bytes)
{
    return on("sea_vector_assign", vector).assign(data, bytes);
}

int sea_vector_assign_from(sea_vector vector, sea_addr source, size_t bytes)
{
    return on("sea_vector_assign_from", vector).assign_from(source, bytes);
}

int sea_vector_assign_range(sea_vector vector, sea_vector source, size_t first, size_t bytes)
{
    return on("sea_vector_assign_range", vector).assign_range(source.at, first, bytes);
}

int sea_vector_at(sea_vector vector, size_t position, sea_addr *address)
{
    return on("sea_vector_at", vector).place(position, address);
}

int sea_vector_swap(sea_vector a, sea_vector b) { return on("sea_vector_swap", a).swap(b.at); }
