// SPDX-License-Identifier: Apache-2.0
#include "coll/near.hpp"

#include "base/full_fence.hpp"
#include "core/internal.hpp"
#include "core/node.hpp"

#include <bit>
#include <cstring>

namespace onesea::coll {

near_post &the_near_post()
{
    static auto *p = new near_post; // never destroyed, as the mailbox
    return *p;
}

unsigned near_post::slot_near(int rank) const
{
    if (core::node_arena().header().transport == shm::transport_choice::net) return shm::no_slot;
    return core::slot_of(rank);
}

void near_post::open()
{
    const shm::arena &node = core::node_arena();
    const unsigned slots = node.header().slots, own = core::own_slot();
    out_.reserve(slots);
    in_.reserve(slots);
    for (unsigned s = 0; s < slots; ++s) {
        out_.emplace_back(node.short_lane(s, own), node.short_cells(s, own));
        in_.emplace_back(node.short_lane(own, s), node.short_cells(own, s));
    }
}

void near_post::close()
{
    out_.clear();
    in_.clear();
}

bool near_post::send(int rank, const envelope &e, const void *data, std::size_t bytes)
{
    if (bytes > most_bytes) return false;
    const unsigned slot = slot_near(rank);
    if (slot == shm::no_slot) return false;
    std::byte whole[sizeof e + most_bytes];
    std::memcpy(whole, &e, sizeof e);
    if (bytes > 0) std::memcpy(whole + sizeof e, data, bytes);
    {
        std::lock_guard held(out_mutex_);
        if (!out_[slot].push({1, 0, 0, sizeof e + bytes, whole})) return false;
    }
    auto &senders = core::node_arena().slot_at(slot).short_lanes[core::own_slot() / 64];
    const std::uint64_t me = std::uint64_t(1) << (core::own_slot() % 64);
    if (!(senders.load(std::memory_order_relaxed) & me)) senders.fetch_or(me, std::memory_order_seq_cst);
    core::count_message(rank, bytes);
    full_fence();
    // Only who waits is woken: for one that computes it lies where it will look.
    if (core::node_arena().slot_at(slot).sleeping.load(std::memory_order_seq_cst) >= shm::asleep_for_memory)
        core::knock(slot, shm::asleep_for_memory);
    return true;
}

bool near_post::take(unsigned slot, mailbox &mail, context_id *of)
{
    shm::short_lane_reader &lane = in_[slot];
    if (!lane.ready()) return false; // as a rule, and without the lock
    std::lock_guard held(in_mutex_);
    shm::lane_item item;
    if (!lane.front(&item)) return false;
    envelope e;
    if (item.bytes >= sizeof e) {
        const auto *bytes = static_cast<const std::byte *>(item.data);
        const int rank = core::node_arena().slot_at(slot).rank.load(std::memory_order_relaxed);
        std::memcpy(&e, bytes, sizeof e);
        mail.take_in(rank, e, bytes + sizeof e, item.bytes - sizeof e);
        *of = e.context;
    }
    lane.pop();
    return true;
}

bool near_post::take_from(int rank, mailbox &mail, context_id *of)
{
    const unsigned slot = slot_near(rank);
    return slot != shm::no_slot && take(slot, mail, of);
}

bool near_post::take_any(mailbox &mail, context_id *of)
{
    const shm::arena &node = core::node_arena();
    const shm::slot &mine = node.slot_at(core::own_slot());
    for (unsigned w = 0; w < (node.header().slots + 63) / 64; ++w)
        for (std::uint64_t bits = mine.short_lanes[w].load(std::memory_order_seq_cst); bits; bits &= bits - 1)
            if (take(w * 64 + unsigned(std::countr_zero(bits)), mail, of)) return true;
    return false;
}

} // namespace onesea::coll
