// SPDX-License-Identifier: Apache-2.0
// How far segments of other nodes reach. A long put is cut into frames, and no piece of it may be written
// if the whole does not fit. So the origin asks the target once where the segment ends, before it sends the first such
// put into it. Each piece is checked at the target again, but only for itself: where the answer is stale, since a
// shorter allocation has taken the place of the one that it told of, a put that leaves it may reach the next one.
//
// In raw space nobody knows extents for long. A first put asks whether the space is open, and a very long one whether
// all of it is mapped, so that not much is sent for nothing.
#pragma once

#include "core/engine.hpp"

namespace onesea::core {

bool extent_known(place target, std::uint64_t bytes);

// Asks; then runs go_on(op), or lets the operation end with an error. The operation's signals wait for it.
void check_extent(operation *op, place target, std::uint64_t bytes, std::function<void(operation *)> go_on);

// The rank refused an address, or access: what is known of it may be old.
void forget_extents(int rank);

} // namespace onesea::core
