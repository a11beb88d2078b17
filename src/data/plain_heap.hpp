// SPDX-License-Identifier: Apache-2.0
// For unit tests: a heap of one rank in plain memory, and executions on it without a job.
#pragma once

#include "data/execution.hpp"
#include "shm/heap.hpp"

#include <memory>

namespace onesea::data {

class plain_heap {
  public:
    static constexpr int rank = 3;

    explicit plain_heap(std::uint64_t bytes)
        : meta_(new (std::align_val_t(64)) std::byte[shm::heap_meta_bytes(bytes)]()),
          memory_(new (std::align_val_t(64)) std::byte[bytes]()),
          heap_((shm::heap::format(meta_.get(), bytes), meta_.get()))
    {
    }
    owner_heap view() { return {rank, &heap_, memory_.get()}; }
    shm::heap &heap() { return heap_; }

    // Who executes, and which ranks are dead: one at most.
    static inline int dead = -1;
    static bool alive(int r) { return r != dead; }
    execution start(sea_addr at, int executor = rank)
    {
        execution x;
        x.heap = view();
        x.at = at;
        x.who = {executor, alive, 0};
        x.heap_in_node = [](int) { return owner_heap{}; };
        return x;
    }

  private:
    struct aligned_delete {
        void operator()(std::byte *p) const { ::operator delete[](p, std::align_val_t(64)); }
    };
    std::unique_ptr<std::byte[], aligned_delete> meta_, memory_;
    shm::heap heap_;
};

} // namespace onesea::data
