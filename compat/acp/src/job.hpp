// SPDX-License-Identifier: Apache-2.0
// What the process knows of its job: constant from acp_init() to acp_finalize(), but for acp_reset(), which is
// collective. Nothing in it grows with the number of processes; ranks that acp_reset() has mixed lie in a table of the
// node.
//
//   global address   63  62 61                40 39                              0
//                   +------+--------------------+---------------------------------+
//                   | col- |  rank of onesea.h  |  offset in its window           |     a sea_addr, but for the colour
//                   | our  |                    |                                 |
//                   +------+--------------------+---------------------------------+
#pragma once

#include "acp.h"

#include <onesea.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace acp {

inline constexpr int colours = 4;
inline constexpr int colour_shift = 62;
inline constexpr sea_addr address_mask = (sea_addr(1) << colour_shift) - 1;

inline sea_addr address_of(acp_ga_t ga) { return ga & address_mask; }
inline int colour_of(acp_ga_t ga) { return int(ga >> colour_shift); }

class rank_map;

struct job_state {
    std::atomic<bool> running{false};
    int me = -1;                   // rank of onesea.h
    int procs = 0;                 // that the job began with
    int acp_me = -1;               // rank of ACP
    const rank_map *map = nullptr; // nullptr: ranks of ACP are those of onesea.h
    sea_addr control = SEA_NULL;   // 64 bytes for the library; at the same offset in all processes, and behind them
    sea_addr starter = SEA_NULL;   // this process's starter memory
    std::size_t starter_bytes = 0;
    std::byte *starter_memory = nullptr;
    int first_near = 0, last_near = -1; // ranks whose heaps are reached by loads and stores
    std::uint64_t heap_capacity = 0;    // of every process; offsets below it are in the heap
};

inline constinit job_state the_job; // every call looks at it: ready before the program's own initialisers
inline job_state &job() { return the_job; }

// True between init and finalize; else the failure is told.
bool tell_not_ready(const char *function);
inline bool ready(const char *function)
{
    return job().running.load(std::memory_order_acquire) || tell_not_ready(function);
}

// -1 if there is no such rank.
int rank_from_acp(int rank);
int rank_to_acp(int rank);

// The rank of onesea.h for a call that was given one of ACP, or -1, and the failure is told.
int checked_rank(const char *function, int rank);

// All of it lies in the heap of a process whose memory this one can load and store.
inline bool in_near_heap(sea_addr a)
{
    const int rank = sea_addr_rank(a);
    return rank >= job().first_near && rank <= job().last_near && sea_addr_offset(a) < job().heap_capacity;
}

// This process's memory behind a range of its own window; nullptr, without a word, if it is not that.
void *own_memory(sea_addr a, std::size_t bytes);

// Fills with zeros; whole pages of shared memory are given back.
void make_zero(std::byte *memory, std::size_t bytes);

// Parts of acp_init() and acp_reset() in other files.
int open_segment_buffers();
void forget_registrations();
void forget_channels();
void forget_segment_buffers();
void forget_workspaces();

} // namespace acp
