// SPDX-License-Identifier: Apache-2.0
// Which algorithm, by the size of the team and of the data. All members must choose alike, so nothing else may enter
// than what all know: the arguments of the call, the members and their nodes. Where the bits of a result depend on the
// algorithm (reductions of floats) the nodes may not enter either.
//
//   call        small                                  large
//   barrier     up to `few` members, or one per node: dissemination; else tree in the node, dissemination between
//   broadcast   tree over nodes and inside;            the same in pieces, nodes in a chain
//                 between nodes in pieces that go at once
//   reduce      binomial tree                          reduce-scatter, then gather
//   allreduce   butterfly; many members of a node:     reduce-scatter, then allgather (halving and doubling,
//               binomial tree and broadcast              ring if the members are no power of two)
//   gather      straight to the root;                  straight to the root
//   scatter       many members: binomial tree
//   allgather   Bruck; many of a node: gather          ring
//                 and broadcast
//                 two members, or few, or long parts in one node: straight
//   alltoall    many members: Bruck                    straight to each
//   gatherv, scatterv, alltoallv: straight;  scan, exscan: doubling distances
//   allgatherv: as allgather, but Bruck where that gathers and broadcasts
//   reduce_scatter: as allreduce without what follows the reduce-scatter; small, members no power of two: allreduce
#pragma once

#include <cstddef>

namespace onesea::coll {

inline constexpr int few = 4;   // members: one exchange more is cheaper than a second round through a leader
inline constexpr int many = 16; // members: messages count, not their size
inline constexpr std::size_t long_piece = 512 * 1024; // bytes: of a broadcast; large against the cost of a message
inline constexpr std::size_t short_piece = 60 * 1024; // bytes: what goes at once, and soon goes on from node to node
inline constexpr std::size_t in_short_pieces = 256 * 1024; // bytes: a broadcast between nodes up to this long

inline constexpr std::size_t small_reduce = 32 * 1024;    // bytes: below, the whole array in every message
inline constexpr std::size_t small_allgather = 64 * 1024; // bytes in all
inline constexpr std::size_t least_straight = 2048;       // bytes of a part: of shorter ones fewer messages go,
inline constexpr std::size_t most_straight = 128 * 1024;  // and of longer ones what a neighbour has just got
inline constexpr std::size_t small_part = 1024;           // bytes: of gather and scatter through a tree
inline constexpr std::size_t small_exchange = 128;        // bytes: of alltoall through log(n) messages

// Calls whose data flows one way: without a barrier now and then quick members would fill the memory of a slow one.
inline constexpr unsigned calls_ahead = 32;
inline constexpr std::size_t bytes_ahead = std::size_t(16) << 20; // and what the last call adds
// Of gatherv and scatterv only the root knows them. Longer parts are answered, which their two ends know.
inline constexpr std::size_t unanswered = bytes_ahead / calls_ahead;

} // namespace onesea::coll
