// SPDX-License-Identifier: Apache-2.0
// The arena: everything that the ranks of one node share, in one memfd. The agent makes it before the first rank
// starts, each rank inherits the descriptor and maps it whole; the last one to die takes it away. No names anywhere.
//
//   +--------+-------+------------------+------------+----------------+---------------------+
//   | header | nodes | ranks: who, ports,| slots, segm| rings, lanes   | heaps               |
//   |        | [n]   | log of ends [cap]| stages     | [to][from]     | [slot]: meta, data  |
//   +--------+-------+------------------+------------+----------------+---------------------+
//
// A *slot* is a rank's place on its node, 0 .. slots-1. The ranks that the job starts with have the first ones, in the
// order of their numbers; the others wait for ranks that come while it runs. The heaps of these lie behind all else:
// the file grows by one, and each process maps it, when such a rank has come, so that room for many costs nothing. All
// memory starts as zero and is touched only when used, so capacities may be generous. Plain fields are written by the
// agent before ranks start; atomics change afterwards. What is as long as the job lies here, once per node, and nowhere
// else: rank_table.hpp counts its bytes.
#pragma once

#include "base/profile.hpp"
#include "shm/rank_table.hpp"
#include "shm/stage.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace onesea::shm {

inline constexpr std::uint32_t arena_magic = 0x41455331; // "1SEA"
inline constexpr std::uint32_t arena_version = 15;
inline constexpr std::size_t key_bytes = 32;
inline constexpr std::size_t lane_cells = 1024;     // of a cache line; per ordered pair of local ranks
inline constexpr std::size_t short_lane_cells = 16; // of the lane for collectives
inline constexpr std::size_t heap_granule = 64;
inline constexpr std::uint64_t max_heap_bytes = std::uint64_t(1) << 37; // granules are counted in 32 bits
inline constexpr unsigned max_slots = 1024;                             // ranks of one node
inline constexpr unsigned no_slot = ~0u;

enum class secure_mode : std::uint32_t { off = 0, auth = 1, encrypt = 2 };
enum class transport_choice : std::uint32_t { automatic = 0, shm = 1, net = 2 };

struct arena_header {
    std::uint32_t magic, version;
    std::uint64_t bytes; // of the mapping that all have: up to the heaps of ranks that come later
    std::uint8_t job_id[8];
    std::uint8_t key[key_bytes];
    secure_mode secure;
    transport_choice transport;
    std::uint32_t node; // of this arena
    std::uint32_t nodes;
    std::uint32_t rank_capacity;
    std::uint32_t slots;
    std::uint32_t starters;         // of the slots: those with a rank from the start
    std::uint32_t ranks_on_machine; // including other virtual nodes: for the spin budget
    std::uint64_t heap_bytes;       // capacity of each rank's heap
    std::uint64_t pid_space;        // of the agent: pid_space()
    std::uint64_t nodes_at, ranks_at, slots_at, stages_at, rings_at, heaps_at; // byte offsets
    std::uint64_t slot_stride, ring_stride, heap_stride;
    profile tuning;
    node_kinds kinds;
    std::atomic<std::uint32_t> ranks;       // how many there have been
    std::atomic<std::uint32_t> world;       // how many the job started with: those of a node have consecutive numbers
    std::atomic<std::uint32_t> ended;       // how many have ended: the length of the log
    std::atomic<std::uint32_t> waits_asked; // how often the agent has asked what the ranks wait for
    std::atomic<std::uint32_t> membership; // += 1 whenever ranks came, ended or were asked; then all doorbells are rung
};

// One per local rank. Every doorbell is there before the first rank starts.
struct alignas(64) slot {
    std::atomic<std::int32_t> rank;                  // -1: nobody's yet; the agent sets it when all else is ready
    std::int32_t doorbell;                           // number of its eventfd, the same in every process of the node
    std::int32_t spawned_by;                         // rank; -1: it is there from the start
    std::atomic<std::int32_t> pid;                   // set by the rank in sea_init; 0: others know it by another
    std::atomic<std::uint32_t> initialized;          // 1 after sea_init, 2 after sea_finalize
    std::atomic<std::uint32_t> raw_open;             // 1: others may access all memory of the process
    std::atomic<std::uint64_t> heap_at;              // where its heap is in its process; set in sea_init
    alignas(64) std::atomic<std::uint32_t> sleeping; // 0, or what its doorbell is to be rung after, as below
    alignas(64) std::atomic<std::uint64_t> pending[max_slots / 64];  // bit s: slot s put something in its ring to here
    alignas(64) std::atomic<std::uint64_t> attended[max_slots / 64]; // bit s: it looks there anyway; not set above then
    alignas(64) std::atomic<std::uint64_t> lanes[max_slots / 64];    // bit s: slot s has used its lane to here
    alignas(64) std::atomic<std::uint64_t> short_lanes[max_slots / 64]; // the same of its short lane
    alignas(64) std::atomic<std::uint32_t> receiving; // threads that look at the lanes to here all the time now
    std::atomic<std::uint32_t> offered;               // 1: somebody did not wake it since it was receiving
    alignas(64) std::atomic<std::uint64_t> looked;    // when it looked last whether its stage is wanted, ns
};

inline constexpr std::uint32_t asleep_for_messages = 1; // something was put in a ring to it, or taken from one of its
inline constexpr std::uint32_t asleep_for_memory = 2;   // that, and atomics, signals and counters in its heap

// Control words of the ring from one slot to another; the data follows.
struct alignas(64) ring_control {
    std::atomic<std::uint64_t> tail;             // bytes ever written, by the producer
    alignas(64) std::atomic<std::uint64_t> head; // bytes ever consumed: their room is free again
    std::atomic<std::uint64_t> executed;         // bytes whose effects and notices the producer can see
    alignas(64) std::atomic<std::uint32_t> pins; // copies that the producer makes from or to registered memory now
};

// Control words of the lane from one slot to another (lane.hpp), all but `wanted` written by the consumer.
struct alignas(64) lane_control {
    std::atomic<std::uint64_t> head;     // cells ever freed
    std::atomic<std::uint64_t> released; // of the producer's share of the consumer's memory: ever given back
    std::atomic<std::uint32_t> wanted;   // 1: the producer waits for room, its doorbell is to be rung
    std::atomic<std::uint64_t> taken;    // offers that were ever taken (coll/near.hpp),
    std::atomic<std::uint64_t> refused;  // and bit n: the last one whose number is n mod 64 was not, and goes otherwise
};
static_assert(sizeof(lane_control) == 64);

struct alignas(64) cell {
    std::byte bytes[64];
};

struct arena_plan {
    std::uint32_t node = 0;
    std::uint32_t nodes = 1;
    std::uint32_t rank_capacity = 1; // >= number of ranks
    std::uint32_t slots = 1;         // for ranks that are there from the start
    std::uint32_t spare = 0;         // for others
    std::uint32_t ranks_on_machine = 1;
    std::uint64_t heap_bytes = 0; // 0: default_heap_bytes()
    secure_mode secure = secure_mode::auth;
    transport_choice transport = transport_choice::automatic;
    profile tuning; // legal; the arena's own has no longer fragments inside the node than a ring takes
    std::uint8_t job_id[8] = {};
    std::uint8_t key[key_bytes] = {};
};

class arena {
  public:
    arena();
    arena(arena &&other) noexcept;
    arena &operator=(arena &&other) noexcept;
    ~arena(); // unmaps; closes its descriptor

    // Makes and maps a new one; *fd (close-on-exec) is the caller's, too. 0 or -errno.
    static int create(const arena_plan &plan, arena *result, int *fd);
    // Maps an inherited one and checks magic, version and size. 0 or -errno (EPROTO: not an arena of this version).
    // Keeps a copy of the descriptor if ranks may come later.
    static int map(int fd, arena *result);

    // Gives a slot to a rank whose process starts later, with an empty heap. 0 or -errno.
    int occupy(unsigned slot, int rank, int spawned_by) const;
    // Before the heap of an occupied slot is used in this process; again is fine. Any thread. 0 or -errno.
    int map_heap(unsigned slot) const;

    explicit operator bool() const { return header_ != nullptr; }
    arena_header &header() const { return *header_; }
    node_table nodes() const;
    rank_table ranks() const; // rank_capacity entries
    slot &slot_at(unsigned index) const;
    ring_control &ring(unsigned to, unsigned from) const;
    std::byte *ring_data(unsigned to, unsigned from) const;
    lane_control &lane(unsigned to, unsigned from) const;
    cell *cells(unsigned to, unsigned from) const;
    lane_control &short_lane(unsigned to, unsigned from) const;
    cell *short_cells(unsigned to, unsigned from) const;
    stage_control &stage(unsigned index) const;
    std::byte *stage_data(unsigned index) const;
    std::size_t ring_bytes() const { return header_->tuning.of(path_kind::shm).window; } // of data: a power of two
    std::byte *segments(unsigned index) const;                                           // see segments.hpp
    // Of a slot with a rank from the start, or after map_heap().
    std::byte *heap_meta(unsigned index) const; // see heap.hpp
    std::byte *heap_data(unsigned index) const; // page aligned; the first byte of the rank's window
    // Whose heap, as it is mapped here, holds the address. Any thread.
    std::optional<unsigned> slot_of_memory(const void *address) const;
    // What this process is the first to touch of that heap comes in huge pages, if the machine's owner lets shared
    // memory have them (usually not); but for the beginning, which is all that a frugal rank uses.
    void ask_for_huge_pages(unsigned index) const;
    // The first bytes of that heap are in this process's core files, with the rest of a huge page: how many are.
    // Without this nothing of the arena is.
    std::uint64_t show_in_core_files(unsigned index, std::uint64_t bytes) const;

  private:
    struct later_heaps;
    arena_header *header_ = nullptr;
    std::unique_ptr<later_heaps> later_; // nullptr: no rank can come
    int keep(int fd);
    std::byte *at(std::uint64_t offset) const { return reinterpret_cast<std::byte *>(header_) + offset; }
};

// In which namespace this process has its number (getpid()): the same number names another process elsewhere, as where
// each rank runs in a container. 0: the system does not tell.
std::uint64_t pid_space();

// Physical memory of the machine divided by the ranks on it, at least 64 MiB, at most max_heap_bytes.
std::uint64_t default_heap_bytes(unsigned ranks_on_machine);

} // namespace onesea::shm
