// SPDX-License-Identifier: Apache-2.0
// Names of teams that all members compute alike without asking each other. A name is 128 well-mixed bits of what makes
// the team: the list of ranks, the tag and how often the two were used (sea_team_create); or the parent's name, the
// number of the call on the parent, and the color (sea_team_split). Two different teams of one job share a name with a
// chance of one in 2^64 once there are 2^32 of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace onesea::coll {

struct context_id {
    std::uint64_t high = 0, low = 0;
    bool operator==(const context_id &) const = default;
};

inline constexpr context_id world_context{0, 1};

struct context_hash {
    std::size_t operator()(const context_id &id) const { return std::size_t(id.low ^ id.high); }
};

// What a list of ranks and a tag have in common; the count of uses is kept under this name.
context_id context_of_list(std::span<const int> ranks, int tag);
context_id context_of_use(const context_id &list, std::uint64_t use);
context_id context_of_split(const context_id &parent, std::uint32_t sequence, int color);

} // namespace onesea::coll
