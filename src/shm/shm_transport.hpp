// SPDX-License-Identifier: Apache-2.0
// The transport inside a node: direct access to the heaps of its ranks, process_vm_readv/writev to what they have
// registered, and rings for everything that needs the target's process.
#pragma once

#include "base/transport.hpp"
#include "shm/neighbours.hpp"
#include "shm/ring.hpp"
#include "shm/segments.hpp"

#include <deque>
#include <memory>
#include <vector>

namespace onesea::shm {

class shm_transport final : public transport {
  public:
    // only_self: no other rank is reached (a job that was forced to another transport).
    shm_transport(const arena &a, unsigned own_slot, bool only_self, sink &to);
    ~shm_transport() override;

    std::uint32_t capabilities() const override;
    bool reach(int rank) const override;
    std::size_t max_frame(int) const override { return tuning_.fragment; }
    const path_tuning &tuning(int) const override { return tuning_; }
    void send(int rank, const outgoing &message) override;
    void flush() override {}
    bool poll(nanoseconds now) override;
    wake_set wake_fds() const override;
    bool arm(bool for_memory) override;
    void was_woken() override;
    void disarm() override;
    nanoseconds deadline() const override { return never; }
    void peer_gone(int rank, bool cleanly) override;
    bool idle() const override;
    void close() override {}

    int put(int rank, std::uint64_t offset, const void *from, std::size_t bytes) override;
    int get(int rank, std::uint64_t offset, void *to, std::size_t bytes) override;
    int copy_pieces(int rank, std::span<const piece> pieces, bool write, std::size_t *bad) override;
    int atomic(int rank, std::uint64_t offset, sea_atomic_kind kind, int width, std::uint64_t operand,
               std::uint64_t compare, std::uint64_t *old) override;

    // [lock] Before this process sleeps: who spoke a moment ago often speaks again at once, and to sleep and be woken
    // would take longer than to look. True: something is there.
    bool comes_at_once() const;

    // [any] Rings the doorbell of a rank that sleeps: memory that it may wait for has changed.
    void wake(int rank);

    // [any] The same for a slot whose rank sleeps as deeply as that; see slot::sleeping.
    void ring_if_asleep(unsigned slot, std::uint32_t needs);

    // [any] The same for the rank, if it is another one, in whose heap this memory lies as it is mapped here.
    void wake_owner(const void *memory);

    // [any] The heap of a rank of this node, nullptr if it is none; where it is mapped. The own one, as quickly as can
    // be.
    heap *heap_of(int rank) const;
    std::byte *heap_memory(int rank) const;
    heap &own_heap() const { return own_heap_; }
    std::byte *own_heap_memory() const { return own_heap_memory_; }
    // [any] Where a range of memory of the process of a slot, by its own addresses (also as a position in raw space),
    // is mapped in this one: if it lies in its heap. Else nullptr.
    std::byte *shared_place(unsigned slot, std::uint64_t position, std::size_t bytes) const;

    // [any] The slot of a rank, no_slot if it is not reached.
    unsigned slot_of(int rank) const { return neighbours_.slot_of(rank); }

    // [any] By which number the system knows the process of a slot here; 0: not at all, or not yet.
    int pid_of(unsigned slot) const;

    // [lock] Has every process of the node that may be copying from or to own registered memory or raw space been seen
    // not to, since `passed` was empty? For the end of a registration.
    bool nobody_copies(std::vector<bool> *passed) const;

    segments &own_segments() { return own_segments_; }

  private:
    struct record;
    struct peer;
    const arena &arena_;
    unsigned own_;
    int own_rank_;
    path_tuning tuning_;
    sink &sink_;
    segments own_segments_;
    neighbours neighbours_;
    heap &own_heap_;
    std::byte *own_heap_memory_;
    std::vector<std::unique_ptr<peer>> peers_; // by slot, made at first contact
    std::vector<bool> gone_;                   // by slot
    std::vector<unsigned> sending_;            // slots with records not yet executed
    struct attention {
        unsigned slot;
        std::uint64_t heard; // the round in which something was there last
    };
    std::vector<attention> attended_;      // whose rings are looked at in every round
    std::uint64_t rounds_ = 0, heard_ = 0; // how many there were, and in which of them something came last

    peer &peer_at(unsigned slot);
    bool push_queued(peer &p);
    bool settle(peer &p, std::uint64_t executed);
    bool progress_sending();
    bool consume_from(unsigned from, int limit);
    void announce(unsigned to);
    bool is_pending(unsigned from) const;
    void attend(unsigned from);
    bool consume_attended();
    bool consume_pending();
    class pin;
    int copy_private(unsigned slot, std::uint64_t offset, void *local, std::size_t bytes, bool write);
    int copy_registered(unsigned slot, std::uint64_t offset, void *local, std::size_t bytes, bool write) const;
    bool raw_open(unsigned slot) const;
    bool copy_shared(unsigned slot, const piece &p, bool write) const;
};

} // namespace onesea::shm
