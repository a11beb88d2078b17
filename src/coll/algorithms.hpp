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

// Where the members' parts of a buffer lie: all of one size, one behind the other, or as the caller's arrays say.
class parts {
  public:
    explicit parts(std::size_t each) : each_(each) {}
    parts(const std::size_t *sizes, const std::size_t *offsets) : sizes_(sizes), offsets_(offsets) {}

    bool alike() const { return !sizes_; }
    std::size_t bytes(int member) const { return sizes_ ? sizes_[member] : each_; }
    std::size_t offset(int member) const // of an empty part: 0, whatever the caller has written there
    {
        if (!sizes_) return std::size_t(member) * each_;
        return sizes_[member] ? offsets_[member] : 0;
    }

  private:
    std::size_t each_ = 0;
    const std::size_t *sizes_ = nullptr, *offsets_ = nullptr;
};

void barrier(call &c);
void broadcast(call &c, int root, void *buffer, std::size_t bytes);
void reduce(call &c, int root, const void *input, void *output, const elements &e);
void allreduce(call &c, const void *input, void *output, const elements &e);
void gather(call &c, int root, const void *input, void *output, std::size_t bytes);
void allgather(call &c, const void *input, void *output, std::size_t bytes);
void scatter(call &c, int root, const void *input, void *output, std::size_t bytes);
void alltoall(call &c, const void *input, void *output, std::size_t bytes);

// Parts of the output or the input count at the root only; `bytes` is the size of the caller's own.
void gatherv(call &c, int root, const void *input, std::size_t bytes, void *output, const parts &p);
void scatterv(call &c, int root, const void *input, const parts &p, void *output, std::size_t bytes);
void allgatherv(call &c, const void *input, void *output, const parts &p, std::size_t total);
void alltoallv(call &c, const void *input, const parts &in, void *output, const parts &out);

void scan(call &c, const void *input, void *output, const elements &e);
void exscan(call &c, const void *input, void *output, const elements &e);
// Of e elements a part for each member; `part` is the caller's.
void reduce_scatter_block(call &c, const void *input, void *part, const elements &e);

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
void copy_part(void *to, const void *from, std::size_t bytes);

} // namespace onesea::coll
