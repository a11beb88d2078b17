// SPDX-License-Identifier: Apache-2.0
// One-way queue of short matched messages from one slot to another, made for latency: cells of a cache line. A message
// fills one cell or several in a row; what fits no more before the end is written at the start. The first word of its
// first cell is written last and says that the rest is there, so the consumer looks at one cache line and at nothing
// else, and a message that fits the cell crosses between the cores with it.
//
//   first cell:  | u32 lap | u32 bytes | u64 team | i32 tag | u16 kind | u16 0 | first 40 bytes |    next: | 64 bytes |
//
// The lap of a cell's number n is n / cells + 1. The consumer looks only at the cell behind the last message that it
// has taken, so only there must nothing lie that looks like a message. The first cell of the lane is never inside of
// one. Elsewhere the producer, before it makes a message visible, looks at the first word behind it, which may be data
// of an earlier lap, and changes it if by chance it is that of the lap to come; if the lane is full then, that word is
// of the oldest message, and of the lap before. It need not look if there have been heads only for a lap. So the
// consumer writes nothing into cells, and they cross between the cores only as they are filled. It tells which are free
// a quarter of the lane at a time; the producer asks when it knows of no more. A producer killed anywhere leaves a lane
// that ends behind its last whole message.
//
// One thread at a time writes, one reads; ready() alone is for any thread of the reading process.
#pragma once

#include "base/copy.hpp"
#include "base/told_order.hpp"
#include "shm/arena.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace onesea::shm {

struct cell_head {
    std::atomic<std::uint32_t> lap;
    std::uint32_t bytes;
    std::uint64_t team;
    std::int32_t tag;
    std::uint16_t kind;
    std::uint16_t zero;
};
static_assert(sizeof(cell_head) == 24 && sizeof(cell) == 64);

struct lane_item {
    std::uint16_t kind = 0;
    std::int32_t tag = 0;
    std::uint64_t team = 0;
    std::size_t bytes = 0;
    const void *data = nullptr; // dies with pop()
};

// `Cells`: a power of two, 4 or more.
template <std::size_t Cells>
class basic_lane {
  public:
    static constexpr std::size_t most_bytes = Cells / 4 * sizeof(cell) - sizeof(cell_head);
    static constexpr std::size_t in_first = sizeof(cell) - sizeof(cell_head); // bytes of its data
    static constexpr std::uint16_t skip = 0xffff;                             // kind: nothing more before the end

    basic_lane() = default;
    basic_lane(lane_control &control, cell *cells) : control_(&control), cells_(cells) {}
    lane_control &control() const { return *control_; }

  protected:
    lane_control *control_ = nullptr;
    cell *cells_ = nullptr;

    static std::size_t cells_for(std::size_t bytes)
    {
        return (sizeof(cell_head) + bytes + sizeof(cell) - 1) / sizeof(cell);
    }
    static std::uint32_t lap_of(std::uint64_t number) { return std::uint32_t(number / Cells) + 1; }
    cell_head &head_at(std::uint64_t number) const { return *reinterpret_cast<cell_head *>(&cells_[number % Cells]); }
};

template <std::size_t Cells>
class basic_lane_writer : public basic_lane<Cells> {
    using base = basic_lane<Cells>;
    using base::cells_, base::cells_for, base::control_, base::head_at, base::lap_of;

  public:
    using base::base;
    using base::in_first, base::skip;

    // False: no room. Who looks afterwards whether the consumer sleeps makes a full_fence() before. `awaited`: the
    // consumer has nothing else to take, so that it counts how soon it has this, and not how soon the next can follow.
    bool push(const lane_item &item, bool awaited = false)
    {
        const std::size_t need = cells_for(item.bytes), at = tail_ % Cells;
        const std::size_t rest = at + need > Cells ? Cells - at : 0;
        if (tail_ + rest + need - free_ > Cells) {
            free_ = control_->head.load(std::memory_order_acquire);
            if (tail_ + rest + need - free_ > Cells) return false;
        }
        if (rest) {
            head_at(tail_).kind = skip;
            head_at(tail_).lap.store(lap_of(tail_), std::memory_order_release);
            tail_ += rest;
        }
        write(item, need);
        if (awaited && need <= most_handed_on)
            for (std::size_t i = 1; i < need; ++i) hand_on(cells_[tail_ % Cells + i]);
        if (need > 1) data_until_ = tail_ + need;
        if (tail_ + need < data_until_ + Cells) end_before(tail_ + need);
        tells_another_process();
        head_at(tail_).lap.store(lap_of(tail_), std::memory_order_release);
        tail_ += need;
        return true;
    }

    // It is time that the consumer takes some: the longest message may find no room.
    bool is_crowded() { return holds_more_than(Cells / 4 * 3); }

    // Half of the lane is free.
    bool has_room() { return !holds_more_than(Cells / 2); }

  private:
    bool holds_more_than(std::size_t cells)
    {
        if (tail_ - free_ <= cells) return false;
        free_ = control_->head.load(std::memory_order_acquire);
        return tail_ - free_ > cells;
    }

    static constexpr std::size_t most_handed_on = 17; // cells, 1 KB: of more it takes as long as fetching them does

    // Asks the processor to move what was written to the cache that all have; old ones take it for no operation.
    static void hand_on(cell &written) { asm volatile("cldemote %0" : "+m"(written)); }

    std::uint64_t tail_ = 0, free_ = 0; // cells ever written; ever freed, as far as is known
    std::uint64_t data_until_ = 0;      // where the last message of several cells ended: in the lap behind it are heads

    // All but the word that makes it visible. The first cell last: a consumer that waits looks at it all the time, and
    // would take it away from this core in between.
    void write(const lane_item &item, std::size_t need)
    {
        cell_head &head = head_at(tail_);
        const auto *data = static_cast<const std::byte *>(item.data);
        if (need > 1) copy_bytes(&cells_[tail_ % Cells + 1], data + in_first, item.bytes - in_first);
        head.bytes = std::uint32_t(item.bytes);
        head.team = item.team;
        head.tag = item.tag;
        head.kind = item.kind;
        void *to = &head + 1;
        if (item.bytes == 4)
            std::memcpy(to, data, 4);
        else if (item.bytes == 8)
            std::memcpy(to, data, 8);
        else if (need > 1)
            std::memcpy(to, data, in_first);
        else if (item.bytes)
            std::memcpy(to, data, item.bytes);
    }

    // What lies there is not taken for a message.
    void end_before(std::uint64_t number)
    {
        auto &word = head_at(number).lap;
        if (word.load(std::memory_order_relaxed) == lap_of(number))
            word.store(lap_of(number) - 1, std::memory_order_relaxed);
    }
};

template <std::size_t Cells>
class basic_lane_reader : public basic_lane<Cells> {
    using base = basic_lane<Cells>;
    using base::cells_, base::cells_for, base::control_, base::head_at, base::lap_of;

  public:
    using base::base;
    using base::skip;
    basic_lane_reader(basic_lane_reader &&other) noexcept
        : base(other), position_(other.position_.load()), told_(other.told_)
    {
    }

    // Any thread. Is there a message?
    bool ready() const
    {
        const std::uint64_t at = position_.load(std::memory_order_relaxed);
        return head_at(at).lap.load(std::memory_order_acquire) == lap_of(at);
    }

    // Cells ever read: changes with every message.
    std::uint64_t position() const { return position_.load(std::memory_order_relaxed); }

    // The first message; false if there is none. Of a producer gone mad nothing is believed that would lead out of the
    // lane: it ends there.
    bool front(lane_item *item)
    {
        while (ready()) {
            const std::uint64_t at = position_.load(std::memory_order_relaxed);
            cell_head &head = head_at(at);
            if (head.kind == skip && at % Cells != 0) {
                position_.store(at + Cells - at % Cells, std::memory_order_relaxed);
                continue;
            }
            const std::size_t n = cells_for(head.bytes);
            if (at % Cells + n > Cells) return false;
            for (std::size_t i = 1; i < std::min(n, ahead); ++i) __builtin_prefetch(&cells_[at % Cells + i]);
            *item = {head.kind, head.tag, head.team, head.bytes, &head + 1};
            another_process_told();
            return true;
        }
        return false;
    }

    // Frees it. True: the producer may now know of room.
    bool pop()
    {
        const std::uint64_t at = position_.load(std::memory_order_relaxed);
        const std::size_t n = cells_for(head_at(at).bytes);
        position_.store(at + n, std::memory_order_relaxed);
        if (at + n - told_ < Cells / 4) return false;
        told_ = at + n;
        control_->head.store(told_, std::memory_order_seq_cst);
        return true;
    }

  private:
    static constexpr std::size_t ahead = 8;  // cells of a message that are fetched while its receive is looked for
    std::atomic<std::uint64_t> position_{0}; // cells ever read
    std::uint64_t told_ = 0;                 // that the producer knows of
};

// Of matched messages, and of what collectives send, which is short and never much at once.
using lane = basic_lane<lane_cells>;
using lane_writer = basic_lane_writer<lane_cells>;
using lane_reader = basic_lane_reader<lane_cells>;
using short_lane = basic_lane<short_lane_cells>;
using short_lane_writer = basic_lane_writer<short_lane_cells>;
using short_lane_reader = basic_lane_reader<short_lane_cells>;

} // namespace onesea::shm
