// SPDX-License-Identifier: Apache-2.0
// The tables as long as the job, once per node: where each rank is, and who has ended. Views of memory in the arena;
// the agent writes, all ranks of the node read.
//
//   per node   17 bytes   address, and the number of its kind (mtu)
//   per rank    4 bytes   | node 22 | exit status 8 | state 2 |, one atomic word
//               2 bytes   UDP port
//               4 bytes   in the log of ends, touched when somebody ends: the numbers of those who have, plus 1, in
//               order
//
// so that even one rank per node costs 23 bytes a rank, 27 once it has ended. The log is what makes an end cost the
// same in a job of ten and of a million: each process of the node keeps the place up to which it has read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace onesea::shm {

inline constexpr unsigned node_bits = 22;
inline constexpr std::uint32_t max_nodes = 1u << node_bits;

enum class rank_state : std::uint8_t { absent = 0, alive = 1, left = 2 /* after sea_finalize */, dead = 3 };

struct node_place {
    std::uint8_t address[16]; // IPv6, or IPv4 mapped (::ffff:a.b.c.d)
    std::uint32_t mtu;        // of the interface
    std::uint32_t scope;      // of a link-local address, as this machine sees it; else 0
};

// What nodes have in common: few interfaces differ in their mtu, and one scope leads to all link-local addresses.
struct node_kinds {
    static constexpr unsigned capacity = 255;
    std::uint32_t mtu[capacity];
    std::uint32_t count;
    std::uint32_t scope;
};

class node_table {
  public:
    node_table(std::byte *memory, std::uint32_t nodes, node_kinds &kinds)
        : memory_(reinterpret_cast<std::uint8_t *>(memory)), nodes_(nodes), kinds_(kinds)
    {
    }
    static constexpr std::size_t entry_bytes = 17;
    static std::size_t bytes(std::uint32_t nodes) { return nodes * entry_bytes; }

    std::uint32_t size() const { return nodes_; }
    node_place operator[](std::uint32_t node) const;

    // The agent, before the node's first rank is placed. Of more than 255 mtus the next smaller known one is kept.
    void set(std::uint32_t node, const std::uint8_t *address, std::uint32_t mtu) const;
    void set_scope(std::uint32_t scope) const { kinds_.scope = scope; }

  private:
    std::uint8_t *memory_;
    std::uint32_t nodes_;
    node_kinds &kinds_;

    std::uint8_t kind_of(std::uint32_t mtu) const;
};

class rank_table {
  public:
    rank_table(std::byte *memory, std::uint32_t capacity, std::atomic<std::uint32_t> &ended)
        : word_(reinterpret_cast<word *>(memory)), log_(word_ + capacity),
          port_(reinterpret_cast<std::uint16_t *>(log_ + capacity)), ended_(ended), capacity_(capacity)
    {
    }
    static constexpr std::size_t entry_bytes = 4 + 2, log_entry_bytes = 4;
    static std::size_t bytes(std::uint32_t capacity) { return capacity * (entry_bytes + log_entry_bytes); }

    std::uint32_t size() const { return capacity_; }
    std::uint32_t node(int rank) const { return load(rank) >> node_shift; }
    std::uint16_t port(int rank) const { return port_[rank]; } // host byte order
    rank_state state(int rank) const { return rank_state(load(rank) & state_mask); }
    bool alive(int rank) const { return state(rank) == rank_state::alive; }
    std::uint8_t status(int rank) const { return std::uint8_t(load(rank) >> status_shift); } // once ended

    std::uint32_t ended() const { return ended_.load(std::memory_order_acquire); }
    int ended_rank(std::uint32_t i) const { return int(log_[i].load(std::memory_order_relaxed)) - 1; } // i < ended()
    // The rank has ended, and its end is among the first `told` of the log. A rank is found ended before the log counts
    // it: "not found behind `told`" would not do.
    bool end_was_told(int rank, std::uint32_t told) const;

    // ---- the agent ----
    void place(int rank, std::uint32_t node, std::uint16_t port) const; // alive from now on
    bool end(int rank, rank_state state, std::uint8_t status) const;    // false: it was not alive

  private:
    using word = std::atomic<std::uint32_t>;
    static constexpr unsigned status_shift = 2, node_shift = 10;
    static constexpr std::uint32_t state_mask = 3;
    static_assert(sizeof(word) == 4 && node_shift + node_bits == 32);

    word *word_, *log_;
    std::uint16_t *port_;
    std::atomic<std::uint32_t> &ended_;
    std::uint32_t capacity_;

    std::uint32_t load(int rank) const { return word_[rank].load(std::memory_order_acquire); }
};

static_assert(node_table::entry_bytes + rank_table::entry_bytes <= 24, "the promise of one rank per node");

} // namespace onesea::shm
