// SPDX-License-Identifier: Apache-2.0
// The arguments of collectives, checked by the member that gave them before anything is sent. SEA_OK, or an error with
// its text.
#pragma once

#include "coll/algorithms.hpp"

#include <cstddef>
#include <limits>

namespace onesea::coll {

inline constexpr std::size_t most_bytes = std::size_t(std::numeric_limits<std::ptrdiff_t>::max());

struct buffers {
    const void *input;
    std::size_t input_bytes;
    const void *output;
    std::size_t output_bytes;
};

int check_size(const char *function, std::size_t bytes);
int check_buffers(const char *function, const buffers &b, bool in_place);
int check_root(const char *function, const team &t, int root);
// The parts of all members together.
int check_total(const char *function, const team &t, std::size_t bytes, std::size_t *total);
int check_elements(const char *function, std::size_t count, sea_type type, sea_reduce_op op, elements *e);

} // namespace onesea::coll
