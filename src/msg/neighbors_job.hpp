// SPDX-License-Identifier: Apache-2.0
// What making a graph and running it share.
#pragma once

#include "msg/neighbors.hpp"

#include <memory>

namespace onesea::msg {

// Collective: the block, the neighbours' addresses. `checked`: what is wrong with this member's arguments.
int create_graph(sea_team team, int checked, graph &g);
sea_neighbors keep_graph(std::shared_ptr<graph> g);

// ---- neighbors_news.cpp ----
// Between the two, what is told of the graph's block is kept. Its neighbours are known, nobody else knows the block
// yet.
void listen(graph &g);
void stop_listening(graph &g);
// To all neighbours whose blocks are known: nothing of this member will come there any more; the graph has failed here.
void tell_leaving(const graph &g);
void tell_failure(const graph &g);
// Fetches what was told into `news` of the neighbours. False: nothing new.
bool take_news(graph &g);

} // namespace onesea::msg
