// SPDX-License-Identifier: Apache-2.0
// Who exchanges with whom in most steps: each rank with those beside it, in the team of all.
#pragma once

#include "harness.hpp"

namespace proof {

inline constexpr sea_team world = SEA_TEAM_WORLD;

inline int right_of(const run &t) { return (t.rank + 1) % t.size; }
inline int left_of(const run &t) { return (t.rank + t.size - 1) % t.size; }

} // namespace proof
