// SPDX-License-Identifier: Apache-2.0
// Element-wise reduction of two arrays.
#pragma once

#include "onesea.h"

#include <cstddef>

namespace onesea::coll {

std::size_t type_width(sea_type type); // 0 if there is no such type
bool is_bitwise(sea_reduce_op op);

// into[i] = low[i] op high[i]; `into` is one of the two or apart from both. No buffer need be aligned. The order counts
// (NaN, -0.0), so that all members, who hold the operands in different hands, compute the same bits: `low` is what the
// lower members contributed. Integer sums and products wrap around.
using combine_fn = void (*)(void *into, const void *low, const void *high, std::size_t count);
combine_fn combiner(sea_type type, sea_reduce_op op); // nullptr: no such combination

} // namespace onesea::coll
