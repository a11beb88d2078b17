// SPDX-License-Identifier: Apache-2.0
// What collectives must give, computed by each rank alone: every member's input follows from its number and a seed.
#pragma once

#include "harness.hpp"
#include "onesea.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace proof {

using bytes = std::vector<unsigned char>;

bytes input_of(std::uint64_t seed, int member, std::size_t size);

// Members' inputs for a reduction: small whole numbers, so that sums and products of floats are exact in every order.
bytes numbers_of(std::uint64_t seed, int member, std::size_t count, sea_type type, sea_reduce_op op);
bytes reduced(std::uint64_t seed, int members, std::size_t count, sea_type type, sea_reduce_op op);

std::size_t width_of(sea_type type);
bool is_float(sea_type type);

// Compares, and says which call differs from where on.
void expect_same(const char *file, int line, const char *what, const bytes &expected, const bytes &got);

// A size between nothing and what `members` of the job may each have at once: small ones often, edges of the
// library's message kinds always.
std::size_t random_size(dice &d, std::size_t most);
std::size_t most_per_part(const run &t, int members);

// All collectives of one team against the reference, with sizes by seed.
void exercise(run &t, sea_team team, std::uint64_t seed, int rounds);

} // namespace proof

#define EXPECT_SAME(what, expected, got) ::proof::expect_same(__FILE__, __LINE__, what, expected, got)
