// SPDX-License-Identifier: Apache-2.0
// What making a graph and running it share.
#pragma once

#include "msg/neighbors.hpp"

#include <memory>

namespace onesea::msg {

// Collective: the block, the neighbours' addresses. `checked`: what is wrong with this member's arguments.
int create_graph(sea_team team, int checked, graph &g);
// To the other ends of all edges: nothing of this member will come there any more.
void tell_leaving(const graph &g);
sea_neighbors keep_graph(std::shared_ptr<graph> g);

} // namespace onesea::msg
