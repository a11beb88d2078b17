// SPDX-License-Identifier: Apache-2.0
// What can be asked of a structure's owner. The numbers travel between the processes of a job.
#pragma once

#include <cstdint>

namespace onesea::data {

struct execution;
using verb_fn = int (*)(execution &);

enum class verb : std::uint16_t {
    sequence_create,
    sequence_destroy,
    sequence_extent,
    sequence_reserve,
    sequence_clear,
    sequence_insert,
    sequence_erase,
    sequence_read,
    sequence_write,
    sequence_assign,
    sequence_at,
    sequence_swap,
    table, // all calls on hash tables: table_verb.hpp
    list_create,
    list_destroy,
    list_clear,
    list_size,
    list_insert,
    list_erase,
    list_advance,
    list_distance,
    list_fetch,
    list_remove,
    list_reverse,
    list_swap,
    list_splice,
    list_reorder,
    data_place,
    queue_create,
    queue_destroy,
    queue_size,
    queue_push,
    queue_pop,
    end
};

// nullptr: there is none of that number.
verb_fn function_of(verb v);

} // namespace onesea::data
