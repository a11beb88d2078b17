// SPDX-License-Identifier: Apache-2.0
#include "coll/near.hpp"

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

std::optional<unsigned> near_post::slot_near(int rank) const
{
    if (core::node_arena().header().transport == shm::transport_choice::net) return std::nullopt;
    return core::slot_of(rank);
}

shm::short_lane_writer &near_post::to(unsigned slot)
{
    const shm::arena &node = core::node_arena();
    if (out_.empty()) out_.resize(node.header().slots);
    auto &lane = out_[slot];
    const unsigned own = core::own_slot();
    if (!lane) lane = std::make_unique<shm::short_lane_writer>(node.short_lane(slot, own), node.short_cells(slot, own));
    return *lane;
}

shm::short_lane_reader &near_post::from(unsigned slot)
{
    const shm::arena &node = core::node_arena();
    if (in_.empty()) in_.resize(node.header().slots);
    auto &lane = in_[slot];
    const unsigned own = core::own_slot();
    if (!lane) lane = std::make_unique<shm::short_lane_reader>(node.short_lane(own, slot), node.short_cells(own, slot));
    return *lane;
}

bool near_post::send(int rank, const envelope &e, const void *data, std::size_t bytes)
{
    if (bytes > most_bytes) return false;
    const auto slot = slot_near(rank);
    if (!slot) return false;
    std::byte whole[sizeof e + most_bytes];
    std::memcpy(whole, &e, sizeof e);
    if (bytes > 0) std::memcpy(whole + sizeof e, data, bytes);
    {
        std::lock_guard held(out_mutex_);
        if (!to(*slot).push({1, 0, 0, sizeof e + bytes, whole})) return false;
    }
    auto &senders = core::node_arena().slot_at(*slot).short_lanes[core::own_slot() / 64];
    const std::uint64_t me = std::uint64_t(1) << (core::own_slot() % 64);
    if (!(senders.load(std::memory_order_relaxed) & me)) senders.fetch_or(me, std::memory_order_seq_cst);
    core::count_message(rank, bytes);
    // Only who waits is woken: for one that computes it lies where it will look.
    if (core::node_arena().slot_at(*slot).sleeping.load(std::memory_order_seq_cst) >= shm::asleep_for_memory)
        core::knock(*slot, shm::asleep_for_memory);
    return true;
}

std::vector<int> near_post::senders() const
{
    const shm::arena &node = core::node_arena();
    const shm::slot &mine = node.slot_at(core::own_slot());
    std::vector<int> ranks;
    for (unsigned w = 0; w < (node.header().slots + 63) / 64; ++w)
        for (std::uint64_t bits = mine.short_lanes[w].load(std::memory_order_seq_cst); bits; bits &= bits - 1)
            ranks.push_back(node.slot_at(w * 64 + unsigned(std::countr_zero(bits))).rank.load());
    return ranks;
}

bool near_post::take_one(int rank, mailbox &mail, context_id *of)
{
    const auto slot = slot_near(rank);
    if (!slot) return false;
    std::lock_guard held(in_mutex_);
    shm::short_lane_reader &lane = from(*slot);
    shm::lane_item item;
    if (!lane.front(&item)) return false;
    envelope e;
    if (item.bytes >= sizeof e) {
        const auto *bytes = static_cast<const std::byte *>(item.data);
        std::memcpy(&e, bytes, sizeof e);
        mail.take_in(rank, e, bytes + sizeof e, item.bytes - sizeof e);
        *of = e.context;
    }
    lane.pop();
    return true;
}

void near_post::close()
{
    std::scoped_lock held(out_mutex_, in_mutex_);
    out_.clear();
    in_.clear();
}

} // namespace onesea::coll
