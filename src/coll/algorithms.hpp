// SPDX-License-Identifier: Apache-2.0
// The collectives, over one call. Arguments are checked already. None looks at errors: see call.hpp.
#pragma once

#include "coll/call.hpp"
#include "coll/reduction.hpp"

#include <cstddef>

namespace onesea::coll {

struct elements {
    std::size_t count;
    std::size_t width;
    combine_fn combine;
    std::size_t bytes() const { return count * width; }
};

void barrier(call &c);
void broadcast(call &c, int root, void *buffer, std::size_t bytes);
void reduce(call &c, int root, const void *input, void *output, const elements &e);
void allreduce(call &c, const void *input, void *output, const elements &e);
void gather(call &c, int root, const void *input, void *output, std::size_t bytes);
void allgather(call &c, const void *input, void *output, std::size_t bytes);
void scatter(call &c, int root, const void *input, void *output, std::size_t bytes);
void alltoall(call &c, const void *input, void *output, std::size_t bytes);

// ---- parts that several of them use ----

// The sum of two ranges that touch: element `at` on, `count` of them.
struct range {
    std::size_t at = 0, count = 0;
};

// Which elements a member has when reduce_scatter() has ended.
range part_of(int member, int members, std::size_t count);
// Leaves in `all` (input at entry) the reduced elements of the caller's part; the rest is unspecified.
void reduce_scatter(call &c, std::byte *all, const elements &e);
// From every member's part in `all` to all parts at every member.
void collect_parts(call &c, std::byte *all, const elements &e);

// memmove that takes null for nothing and leaves equal places alone.
void copy_bytes(void *to, const void *from, std::size_t bytes);

} // namespace onesea::coll
