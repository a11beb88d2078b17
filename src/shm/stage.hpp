// SPDX-License-Identifier: Apache-2.0
// Where a process lays pieces of long messages for another one of its node to take away: sender and receiver copy at
// the same time, from private memory to private memory, and the pieces cross between the caches of their cores. Where
// these are near each other, that is twice as fast as the kernel's copy, which pins every page; else it is slower.
//
// Each slot has one stage. Its process writes; one reader at a time owns it, and places orders: the number of an
// operation of the writer and a range of its memory. Pieces of an order follow each other, orders are served in turn:
//
//   reader:  claim ─► order ─► front, pop, front, pop ... ─► leave          order: entry, then `ordered`
//   writer:             next ─► place, lay, place, lay ...                  lay: piece, then its label
//
// An order may also ask the writer to copy shares of the range to their place itself (shares.hpp); one at a time.
//
// A piece's place is its number, counted for ever, modulo the places; its label is that number and its order's. So a
// reader knows its pieces from those that an earlier reader did not wait for, and passes over these. Whoever does not
// want to wait any longer cancels, and fetches the rest otherwise; nothing is shared that the other could keep locked.
// The process of a reader that dies is told of (reader_gone); a writer that dies leaves orders that nobody serves.
//
// One thread at a time writes, and one reads; wanted() is for any thread of the writing process.
#pragma once

#include "base/pages.hpp"
#include "shm/shares.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace onesea::shm {

inline constexpr std::size_t stage_places = 8, stage_piece = 32 * 1024; // bytes; together a part of a core's cache
inline constexpr std::uint32_t stage_orders = 4;

inline constexpr std::uint32_t stage_unfinished = 1u << 31; // flips this bit of an entry's number

struct stage_order {
    std::uint64_t id = 0;
    std::uint64_t from = 0, bytes = 0; // of the memory of that operation
    std::uint64_t to = 0;              // not 0: in shares, to here in the reader's memory
    unsigned reader = 0;               // its slot
};

struct alignas(64) stage_control {
    std::atomic<std::uint32_t> owner;               // slot of the reader + 1; 0: nobody
    alignas(64) std::atomic<std::uint32_t> ordered; // orders ever placed; by the owner
    std::atomic<std::uint32_t> cancelled;           // those up to this number are not wanted any more; by the owner
    struct entry {
        std::atomic<std::uint32_t> number; // with stage_unfinished: it is being written
        std::atomic<std::uint32_t> reader;
        std::atomic<std::uint64_t> id, from, bytes, to;
    };
    std::array<entry, stage_orders> orders;
    alignas(64) std::atomic<std::uint64_t> taken; // pieces ever taken or passed over; by the owner
    struct alignas(64) label {
        std::atomic<std::uint64_t> word; // low half of the piece's number + 1, number of its order
    };
    std::array<label, stage_places> labels; // by the writer
    share_words shares;                     // of one order
};

// How an order is cut: short ones in several pieces, too, so that both sides have something to do.
inline std::size_t stage_piece_of(std::uint64_t bytes)
{
    return std::min<std::size_t>(stage_piece, page_up(bytes / 4) + (bytes < 4 ? page_bytes : 0));
}

inline std::uint64_t stage_label(std::uint64_t piece, std::uint32_t order)
{
    return std::uint64_t(std::uint32_t(piece + 1)) << 32 | order;
}

class stage_writer {
  public:
    stage_writer() = default;
    stage_writer(stage_control &control, std::byte *places) : control_(&control), places_(places) {}
    stage_writer &operator=(const stage_writer &other)
    {
        control_ = other.control_;
        places_ = other.places_;
        seen_.store(other.seen_.load());
        return *this;
    }

    // Any thread: is there an order that has not been served, or dropped?
    bool wanted() const
    {
        return control_ && control_->ordered.load(std::memory_order_acquire) != seen_.load(std::memory_order_relaxed);
    }

    // The order to serve, with what of it has not been laid; nullptr: there is none.
    const stage_order *next()
    {
        while (wanted()) {
            if (!begun_ && !read_entry()) {
                drop();
                continue;
            }
            begun_ = true;
            const auto later = std::int32_t(control_->cancelled.load(std::memory_order_acquire) - number());
            if (later < 0) return &order_;
            drop();
        }
        return nullptr;
    }
    // Is done with that order.
    void drop()
    {
        begun_ = false;
        seen_.store(number(), std::memory_order_relaxed);
    }

    // Of the order to serve, which asks for that.
    writer_shares order_shares() const { return {control_->shares, number(), order_.bytes}; }

    bool has_room() const { return laid_ - control_->taken.load(std::memory_order_acquire) < stage_places; }
    // Where the next piece of next() goes; it has piece_bytes().
    std::byte *place() const { return places_ + laid_ % stage_places * stage_piece; }
    std::size_t piece_bytes() const { return std::min<std::uint64_t>(piece_, order_.bytes); }
    void lay()
    {
        control_->labels[laid_ % stage_places].word.store(stage_label(laid_, number()), std::memory_order_release);
        ++laid_;
        const std::size_t n = piece_bytes();
        order_.from += n;
        order_.bytes -= n;
        if (order_.bytes == 0) drop();
    }

    // The process of a slot has ended.
    void reader_gone(unsigned slot)
    {
        if (!control_ || control_->owner.load(std::memory_order_acquire) != slot + 1) return;
        control_->cancelled.store(control_->ordered.load(std::memory_order_acquire), std::memory_order_release);
        control_->owner.store(0, std::memory_order_release);
    }

  private:
    stage_control *control_ = nullptr;
    std::byte *places_ = nullptr;
    std::atomic<std::uint32_t> seen_{0}; // orders that were served or dropped
    std::uint64_t laid_ = 0;             // pieces ever
    bool begun_ = false;
    stage_order order_;
    std::size_t piece_ = 0;

    std::uint32_t number() const { return seen_.load(std::memory_order_relaxed) + 1; }

    // False: it is not wanted any more, and a later one has its place.
    bool read_entry()
    {
        auto &e = control_->orders[number() % stage_orders];
        order_.id = e.id.load(std::memory_order_acquire);
        order_.from = e.from.load(std::memory_order_acquire);
        order_.bytes = e.bytes.load(std::memory_order_acquire);
        order_.to = e.to.load(std::memory_order_acquire);
        order_.reader = e.reader.load(std::memory_order_acquire);
        piece_ = stage_piece_of(order_.bytes);
        return e.number.load(std::memory_order_relaxed) == number() && order_.bytes > 0;
    }
};

class stage_reader {
  public:
    // False: another one owns it.
    bool claim(stage_control &control, const std::byte *places, unsigned own_slot)
    {
        std::uint32_t nobody = 0;
        if (control.owner.load(std::memory_order_relaxed) != 0 ||
            !control.owner.compare_exchange_strong(nobody, own_slot + 1, std::memory_order_acq_rel))
            return false;
        control_ = &control;
        places_ = places;
        slot_ = own_slot;
        position_ = control.taken.load(std::memory_order_relaxed);
        ordered_ = control.ordered.load(std::memory_order_relaxed);
        return true;
    }
    bool owns() const { return control_; }

    // Its number. At most stage_orders may be neither cancelled nor taken to their end.
    std::uint32_t order(std::uint64_t id, std::uint64_t from, std::uint64_t bytes) { return place({id, from, bytes}); }

    // Of which each copies shares to `to`. None may have been opened that is not finished.
    reader_shares order_shares(std::uint64_t id, std::uint64_t from, std::uint64_t bytes, void *to)
    {
        reader_shares opened(control_->shares, ordered_ + 1, bytes);
        place({id, from, bytes, reinterpret_cast<std::uint64_t>(to)});
        return opened;
    }

    // The next piece of an order, until pop(); nullptr: it is not there yet.
    const std::byte *front(std::uint32_t number)
    {
        while (true) {
            const std::uint64_t label = control_->labels[position_ % stage_places].word.load(std::memory_order_acquire);
            if (label >> 32 != std::uint32_t(position_ + 1)) return nullptr;
            const auto later = std::int32_t(std::uint32_t(label) - number);
            if (later == 0) return places_ + position_ % stage_places * stage_piece;
            if (later > 0) return nullptr; // of one behind it
            pop();
        }
    }
    void pop() { control_->taken.store(++position_, std::memory_order_release); }

    // No order up to this one is wanted any more.
    void cancel(std::uint32_t number) { control_->cancelled.store(number, std::memory_order_release); }
    void leave()
    {
        if (!control_) return;
        cancel(ordered_);
        control_->owner.store(0, std::memory_order_release);
        control_ = nullptr;
    }

  private:
    stage_control *control_ = nullptr;
    const std::byte *places_ = nullptr;
    unsigned slot_ = 0;
    std::uint64_t position_ = 0; // pieces ever taken
    std::uint32_t ordered_ = 0;

    std::uint32_t place(const stage_order &o)
    {
        ++ordered_;
        auto &e = control_->orders[ordered_ % stage_orders];
        e.number.store(ordered_ ^ stage_unfinished, std::memory_order_relaxed);
        e.id.store(o.id, std::memory_order_release);
        e.from.store(o.from, std::memory_order_release);
        e.bytes.store(o.bytes, std::memory_order_release);
        e.to.store(o.to, std::memory_order_release);
        e.reader.store(slot_, std::memory_order_release);
        e.number.store(ordered_, std::memory_order_release);
        control_->ordered.store(ordered_, std::memory_order_release);
        return ordered_;
    }
};

} // namespace onesea::shm
