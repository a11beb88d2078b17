// SPDX-License-Identifier: Apache-2.0
// Data of long messages inside the node that both ranks bring: over the sender's stage (shm/stage.hpp), the sender
// copying into it while the receiver copies out of it, or in shares (shm/shares.hpp), each copying some by the kernel.
// That needs a sender whose thread, or dispatcher, makes progress at this moment; the receiver sees it by slot::looked
// and slot::receiving. If no piece comes for a while it goes on with the kernel's copy, which needs nobody, and shares
// that the sender does not take it takes itself. So a sender that computes is left alone, and one that has stopped
// holds up nobody for long. Only a share that it has taken is waited for, set aside, while others go on.
#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/wide_copy.hpp"
#include "msg/office.hpp"
#include "shm/careful_memory.hpp"

#include <algorithm>
#include <cstring>
#include <sched.h>
#include <utility>

namespace onesea::msg {
namespace {

constexpr std::size_t least = 8 * 1024;           // bytes: shorter ones are quicker copied by the kernel
constexpr std::size_t worth_waking = 512 * 1024;  // bytes: for more a sender that sleeps inside the library is woken
constexpr nanoseconds fresh = 20'000;             // who has looked so short ago looks soon again
constexpr nanoseconds patience = 30'000;          // for the next piece
constexpr nanoseconds share_patience = 1'000'000; // for a share, which takes a tenth of it
constexpr nanoseconds longest_share = 1'000'000'000;
constexpr int pieces_at_once = 32;  // while others wait for the engine lock
constexpr int shares_at_once = 2;   // as many bytes as these pieces
constexpr int looks_for_other = 64; // what comes next, comes in less than a piece takes

} // namespace

// ---- the sender ----

// In every round of progress.
bool office::look_at_stage(nanoseconds now)
{
    core::node_arena().slot_at(slot_).looked.store(now, std::memory_order_relaxed);
    return stage_.wanted() && lay_pieces(looks_for_other);
}

// Data that is not mapped is left to the kernel's copy, which tells so without a fault.
bool office::may_be_read(const shm::stage_order &o, const std::byte *memory)
{
    if (o.id == readable_) return true;
    if (!shm::all_mapped(reinterpret_cast<std::uint64_t>(memory + o.from), o.bytes)) return false;
    readable_ = o.id;
    return true;
}

// The next share of an order, to its place; false, and the order is dropped: there is none, or it cannot be copied.
bool office::copy_share(const shm::stage_order &o, const std::byte *memory)
{
    shm::writer_shares shares = stage_.order_shares();
    if (const auto next = shares.take()) {
        const std::uint64_t to = o.to + next->from;
        const bool good = core::copy_to_process(o.reader, memory + o.from + next->from, to, next->bytes) == SEA_OK;
        shares.did(good);
        if (good) return true;
    }
    stage_.drop();
    return false;
}

// Up to pieces_at_once, as there is room; looks so often for more.
bool office::lay_pieces(int looks)
{
    int pieces = 0, shares = 0;
    while (const shm::stage_order *o = stage_.next()) {
        std::size_t bytes = 0;
        const int reader = core::node_arena().slot_at(o->reader).rank.load(std::memory_order_relaxed);
        const auto *memory =
            static_cast<const std::byte *>(core::external_memory(core::engine_held, o->id, reader, &bytes));
        if (!memory || o->from > bytes || o->bytes > bytes - o->from || (!o->to && !may_be_read(*o, memory))) {
            stage_.drop();
            continue;
        }
        if (o->to) {
            if (copy_share(*o, memory) && (++shares == shares_at_once || core::others_wait(core::engine_held))) break;
            continue;
        }
        for (int i = 0; i < looks && !stage_.has_room() && !core::others_wait(core::engine_held); ++i)
            __builtin_ia32_pause();
        if (pieces == pieces_at_once || !stage_.has_room()) break;
        copy_bytes(stage_.place(), memory + o->from, stage_.piece_bytes());
        stage_.lay();
        ++pieces;
    }
    return pieces + shares > 0;
}

// ---- the receiver ----

// In either of the two ways.
bool office::fit_for_both(request &r)
{
    const std::size_t left = r.wanted() - r.fetched;
    if (crowded_ || r.mapped || r.source == me_ || r.alone || left < least) return false;
    if (!r.comes) r.comes = ways_[slot_of(r.source)].choose(r.wanted());
    return *r.comes == way::stage || left >= least_shared;
}

// Does the process of a slot look at its stage all the time now?
bool office::looks_at_stage(unsigned slot) const
{
    const shm::slot &there = core::node_arena().slot_at(slot);
    return there.receiving.load(std::memory_order_relaxed) > 0 ||
           there.looked.load(std::memory_order_relaxed) + fresh > now_ns();
}

void office::order(request &r)
{
    const std::size_t bytes = r.wanted() - r.fetched;
    if (*r.comes == way::kernel) {
        auto *to = static_cast<std::byte *>(r.buffer) + r.fetched;
        r.shares = taking_.from.order_shares(r.offer.id, r.fetched, bytes, to);
        r.by_kernel = true;
        return;
    }
    r.order = taking_.from.order(r.offer.id, r.fetched, bytes);
    r.ordered = true;
    r.piece = shm::stage_piece_of(bytes);
}

// For this one and, so that the sender has no pause, for the next that comes by pieces. False: not at this moment.
bool office::place_orders(request &r)
{
    const unsigned slot = slot_of(r.source);
    if (!r.ordered && !r.shares.open()) {
        if (!fit_for_both(r)) return false;
        if (taking_.slot != slot) stop_taking();
        if (!looks_at_stage(slot)) {
            if (r.wanted() >= worth_waking) core::knock(slot, shm::asleep_for_memory);
            return false;
        }
        const shm::arena &node = core::node_arena();
        if (!taking_.from.owns() && !taking_.from.claim(node.stage(slot), node.stage_data(slot), slot_)) return false;
        taking_.slot = slot;
        taking_.heard = now_ns();
        order(r);
    }
    if (!r.ordered || fetches_.size() < 2 || fetches_[1]->ordered) return true;
    request &next = *fetches_[1];
    if (next.source == r.source && fit_for_both(next) && *next.comes == way::stage) order(next);
    return true;
}

// Takes the next shares, and when there are none waits for the sender's. False: what is missing has to come otherwise,
// since one of the two could not copy, or the sender has ended.
bool office::take_shares(request &r)
{
    const unsigned slot = slot_of(r.source);
    auto *to = static_cast<std::byte *>(r.buffer) + r.fetched;
    const std::uint64_t from = r.offer.address + r.fetched;
    int taken = 0;
    for (int looks = 0; !r.shares.finished() && taken < shares_at_once && looks <= looks_for_other; ++looks) {
        if (const auto next = r.shares.take()) {
            const int s = core::copy_from_process(slot, from + next->from, to + next->from, next->bytes);
            if (s != SEA_OK) r.shares.give_up();
            ++taken;
            looks = 0;
            taking_.heard = now_ns();
        } else if (stage_.wanted()) { // two that fetch from each other
            taken += lay_pieces(0);
        } else {
            __builtin_ia32_pause();
        }
        if (core::others_wait(core::engine_held)) break;
    }
    return !shares_over(r) || !r.alone;
}

// Nobody touches them any more: what is missing, if anything, is for this rank alone. False: the sender may.
bool office::shares_over(request &r)
{
    const bool finished = r.shares.finished();
    if (!finished && core::alive(r.source)) return false;
    if (finished && r.shares.whole())
        r.fetched = r.wanted();
    else
        r.alone = true;
    r.shares = {};
    return true;
}

// The sender has been at its share for so long that it may have been stopped.
bool office::is_held_up(const request &r) const { return r.shares.open() && now_ns() - taking_.heard > share_patience; }

// The first fetch, with the stage: it is that sender's until it has told.
void office::set_aside()
{
    request *r = fetches_.front();
    fetches_.pop_front();
    r->began = 0;
    aside_.push_back({r, std::exchange(taking_, {})});
}

void office::look_aside()
{
    std::erase_if(aside_, [this](held_up &h) {
        if (!shares_over(*h.fetch)) return false;
        h.stage.from.leave();
        fetches_.push_back(h.fetch);
        return true;
    });
}

// Until the sender is at none of them: it copies to memory of the program. One that has been stopped is not waited for:
// its copy was done when it stopped.
void office::give_up_shares(request &r)
{
    if (!r.shares.open()) return;
    r.shares.give_up();
    const nanoseconds end = now_ns() + longest_share;
    while (!r.shares.finished() && core::alive(r.source) && now_ns() < end) sched_yield();
    r.shares = {};
}

// What is there of it, and what comes at once. True: something was.
bool office::take_ready(request &r)
{
    bool any = false;
    int looks = 0;
    for (int pieces = 0; pieces < pieces_at_once && r.fetched < r.wanted();) {
        const std::byte *piece = taking_.from.front(r.order);
        if (!piece) {
            if (stage_.wanted()) lay_pieces(0); // two that fetch from each other
            if (++looks > looks_for_other || core::others_wait(core::engine_held)) break;
            __builtin_ia32_pause();
            continue;
        }
        const std::size_t n = std::min(r.piece, r.wanted() - r.fetched);
        copy_of(r.wanted(), static_cast<std::byte *>(r.buffer) + r.fetched, piece, n);
        taking_.from.pop();
        r.fetched += n;
        ++pieces;
        looks = 0;
        any = true;
    }
    return any;
}

// False: the data has to come otherwise.
bool office::take_pieces(request &r)
{
    if (!place_orders(r)) return false;
    if (r.fetched == 0 && r.began == 0) r.began = now_ns();
    if (r.shares.open()) return take_shares(r);
    const bool any = take_ready(r);
    const nanoseconds now = now_ns();
    look_at_stage(now);
    if (any) taking_.heard = now;
    if (now - taking_.heard < patience) return true;
    stop_taking();
    return false;
}

void office::stop_taking()
{
    taking_.from.leave();
    taking_.slot = no_slot;
    for (std::size_t i = 0; i < std::min<std::size_t>(fetches_.size(), 2); ++i) fetches_[i]->ordered = false;
}

} // namespace onesea::msg
