// SPDX-License-Identifier: Apache-2.0
// What the serving thread of a socket DSM keeps beside the memory: the locks of which this node is the home, and, at
// node 0, the barrier. No I/O: it says who is to be answered now. Used by the serving thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace bench {

inline constexpr int dsm_locks = 256; // as many as DSM_LOCKS

class dsm_service {
  public:
    using client = std::uint64_t; // whoever waits for an answer

    explicit dsm_service(int nodes) : nodes_(nodes), locks_(dsm_locks) {}

    // Each gives the clients whose waiting has ended.
    std::vector<client> acquire(client who, std::uint64_t lock);
    std::vector<client> release(std::uint64_t lock);
    std::vector<client> arrive(client who);

  private:
    struct one_lock {
        bool held = false;
        std::deque<client> waiting;
    };

    int nodes_;
    std::vector<one_lock> locks_;
    std::vector<client> arrived_;
};

} // namespace bench
