// SPDX-License-Identifier: Apache-2.0
// Ranks that acp_reset() has mixed. Two arrays as long as the job, once per node: they lie in the heap of the node's
// first rank, and the others of the node read them there.
#pragma once

#include <onesea.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace acp {

class rank_map {
  public:
    // Collective over the job: each process says which rank of ACP it will be. SEA_OK: *map is made, or null if nobody
    // changes. SEA_ERR_INVALID: these are not a permutation, and all processes hear it. `word` (8 bytes, zero) lies at
    // the same offset in the memory of all processes, and is zero again afterwards.
    static int make(int acp_rank, sea_addr word, std::unique_ptr<rank_map> *map);

    int from_acp(int rank) const { return from_acp_[rank]; }
    int to_acp(int rank) const { return to_acp_[rank]; }

    sea_addr table() const { return table_; } // in this process's heap, or null

    // Before the heaps are emptied by their owners.
    ~rank_map();

  private:
    const std::int32_t *from_acp_ = nullptr, *to_acp_ = nullptr;
    std::unique_ptr<std::int32_t[]> own_; // where the node's table cannot be mapped
    sea_addr table_ = SEA_NULL;           // not null: this process's heap has it
};

} // namespace acp
