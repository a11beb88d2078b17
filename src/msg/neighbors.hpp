// SPDX-License-Identifier: Apache-2.0
// A neighbourhood graph as one member has it.
//
// One block of its global heap holds what neighbours need, in this order:
//
//   | heads: arrived[2], released[2] | in-edges | out-edges | in-buffers, two per edge | out-buffers |
//
// Steps count from 1; step k uses the buffer k mod 2 and the counter arrived[k mod 2], to which every source adds 1
// behind its data. A source is at most one step ahead of what was waited for here, so each of the two counters has the
// arrivals of one step at a time and one comparison tells whether a step is complete.
//
// A target is done with the data of step k-2 when it starts step k-1. If an edge leads back from it, its data of step
// k-1, for which this member has waited, says so. Otherwise it adds 1 to released[(k-1) mod 2] here when it starts.
//
// A member that leaves the graph, or at which it has failed, tells its neighbours, who wait for it no longer
// (neighbors_news.cpp). A block is freed when all that could write to it have left or ended, also when the graph has
// failed.
#pragma once

#include "core/internal.hpp"
#include "onesea/neighbors.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace onesea::msg {

struct graph_heads {
    sea_counter arrived[2];
    sea_counter released[2];
};

struct graph_edge { // as others read it
    std::uint32_t member;
    std::uint32_t reserved;
    std::uint64_t bytes;
    std::uint64_t buffer; // in-edges: offset of the first of the two in the block
};

inline constexpr std::size_t graph_align = 64;
inline constexpr std::uint64_t round_up(std::uint64_t bytes)
{
    return (bytes + graph_align - 1) / graph_align * graph_align;
}

// How many steps of the same parity there have been up to k.
inline constexpr std::uint64_t steps_like(std::uint64_t k) { return (k + 1) / 2; }

// Where things lie in a block.
struct graph_layout {
    std::vector<graph_edge> in, out; // out: buffer is the offset of its only one
    std::uint64_t bytes = 0;

    graph_layout(const sea_neighbor *sources, int n, const sea_neighbor *targets, int m);
    static std::uint64_t in_table() { return round_up(sizeof(graph_heads)); }
    std::uint64_t out_table() const { return in_table() + in.size() * sizeof(graph_edge); }
};

// The edge among `edges` with this member that is the nth of them; -1: there are not so many.
int nth_edge(const std::vector<graph_edge> &edges, int member, int nth);

// What a neighbour has said, and what is known of the link to it.
struct neighbour_news {
    bool left = false;       // nothing of it comes any more
    std::uint64_t steps = 0; // how many it had started when it left
    int failed = SEA_OK;     // the graph has failed there
    int whom = -1;           // because of this rank
    bool lost = false;       // the link to it has ended: nothing of it comes any more, nothing can be told
};

struct graph {
    struct neighbour {              // each rank at the other end of edges, but this one, once
        int rank = -1, member = -1; // in the job, in the team
        bool is_source = false, releases = false;
        std::uint64_t name = 0; // of its own graph there; 0: not known yet
        neighbour_news told;    // under the lock of neighbors_news.cpp
        neighbour_news news;    // the same as this graph's thread has seen it
    };
    struct outgoing_edge {
        sea_addr to[2]; // the target's buffers
        sea_addr arrived[2];
        const void *from;
        std::size_t bytes;
    };
    std::uint64_t name = 0; // for the neighbours; no other graph of this rank has ever had it, as it may have the block
    sea_team team = SEA_TEAM_NULL;
    sea_addr block = SEA_NULL;
    std::byte *memory = nullptr; // of the block
    graph_layout places;
    std::vector<outgoing_edge> targets;
    std::vector<neighbour> neighbours;
    std::vector<sea_addr> release; // released[2] of each source that no edge leads back to: that of parity 0
    std::uint32_t releasing = 0;   // targets that release
    std::shared_ptr<core::put_counts> puts = std::make_shared<core::put_counts>();
    std::vector<int> ranks; // of the team, sorted; empty: all of the world
    std::uint64_t step = 0; // started
    std::atomic<bool> under_way = false;
    bool half_started = false; // its releases are out
    bool leaving = false;      // the neighbours have been told
    bool failure_told = false;
    std::uint64_t give_up_at = 0; // of a graph that has failed: until when to wait for those who do not free it
    std::uint32_t seen_ended = 0;
    std::atomic<std::uint32_t> news{0}; // how many there were
    std::uint32_t seen_news = 0;
    int broken = SEA_OK;
    int whom = -1; // because of this rank
    std::string reason;
    std::atomic<bool> busy{false};

    explicit graph(graph_layout p) : places(std::move(p)) {}
    graph(const graph &) = delete;
    graph &operator=(const graph &) = delete;
    ~graph();
    graph_heads &heads() const { return *reinterpret_cast<graph_heads *>(memory); }
};

} // namespace onesea::msg
