// SPDX-License-Identifier: Apache-2.0
// Messages that leave: through the lane inside the node, as frames to other nodes, by hand to the own rank.
#include "base/copy.hpp"
#include "base/error.hpp"
#include "base/full_fence.hpp"
#include "msg/office.hpp"
#include "msg/settings.hpp"

#include <algorithm>
#include <memory>
#include <sched.h>
#include <utility>

namespace onesea::msg {
namespace {

constexpr int looks_for_room = 2000, looks_when_crowded = 20;

} // namespace

office::neighbour &office::first_to(unsigned slot)
{
    auto &n = neighbours_[slot];
    n = std::make_unique<neighbour>();
    n->out = shm::lane_writer(core::node_arena().lane(slot, slot_), core::node_arena().cells(slot, slot_));
    return *n;
}

int office::send_eager(const parcel &p)
{
    if (p.rank == me_) {
        const int s = send_self(p);
        settle(); // another thread may sleep until it comes
        return s;
    }
    const unsigned slot = slot_of(p.rank);
    if (slot == no_slot) {
        if (p.bytes > net_eager) return must_offer;
        core::locked lock = core::enter();
        int s = send_remote(core::engine_held, p);
        if (s == share_used && core::take_in(core::engine_held)) s = send_remote(core::engine_held, p);
        return s == share_used ? must_offer : s;
    }
    if (!core::alive(p.rank)) return fail(SEA_ERR_DEAD, "rank {} has ended", p.rank);
    if (p.bytes > lane_eager_) return must_offer;
    const int looks = crowded_ ? looks_when_crowded : looks_for_room;
    for (int i = 0; i < looks; ++i) {
        const int s = send_local(slot, p);
        if (s != lane_full) return s;
        if (i == 0) announce(slot, false, true);
        if (crowded_)
            sched_yield();
        else
            __builtin_ia32_pause();
    }
    const int s = send_late(slot, p);
    if (s == SEA_OK) core::wake_dispatcher_soon();
    return s;
}

int office::send_self(const parcel &p)
{
    guard held(lock_);
    if (p.bytes > lane_eager_ || own_charged_ + charge(p.bytes) > share_) return must_offer;
    own_charged_ += charge(p.bytes);
    arrive(no_slot, {p.team, me_, p.tag}, p.data, p.bytes);
    return SEA_OK;
}

// Our share of the rank's memory.
bool office::share_has_room(neighbour &n, std::size_t cost) const
{
    if (n.charged + cost - n.released_seen <= share_) return true;
    n.released_seen = n.out.control().released.load(std::memory_order_acquire);
    return n.charged + cost - n.released_seen <= share_;
}

int office::send_local(unsigned slot, const parcel &p)
{
    bool crowded_lane;
    {
        guard held(lock_);
        neighbour &n = neighbour_at(slot);
        const std::size_t cost = charge(p.bytes);
        if (!share_has_room(n, cost)) return must_offer;
        if (!n.stuck.empty()) push_stuck(slot, n);
        // Who sends and receives in turns with it is waited for.
        const bool in_turns = lanes_[slot].in.position() != n.heard;
        if (!n.stuck.empty() || !n.out.push({lane_message, p.tag, p.team, p.bytes, p.data}, in_turns)) return lane_full;
        n.heard = lanes_[slot].in.position();
        n.charged += cost;
        crowded_lane = n.out.is_crowded();
    }
    core::count_message(p.rank, p.bytes);
    announce(slot, false, crowded_lane);
    return SEA_OK;
}

// The lane has no room, but the rank has: a copy waits here until its dispatcher has been at the lane. So small
// messages need no receive, whoever gets a processor first.
int office::send_late(unsigned slot, const parcel &p)
{
    auto copy = std::make_unique_for_overwrite<std::byte[]>(p.bytes);
    {
        guard held(lock_);
        neighbour &n = neighbour_at(slot);
        if (!share_has_room(n, charge(p.bytes))) return must_offer;
        n.charged += charge(p.bytes);
        if (p.bytes) copy_bytes(copy.get(), p.data, p.bytes);
        stick(slot, n, {{lane_message, p.tag, p.team, p.bytes, nullptr}, {}, std::move(copy)});
    }
    core::count_message(p.rank, p.bytes);
    announce(slot, false, true);
    return SEA_OK;
}

// Tells the rank of a slot that there is something in the lane to it.
void office::announce(unsigned slot, bool is_offer, bool crowded_lane)
{
    shm::slot &there = core::node_arena().slot_at(slot);
    auto &word = there.lanes[slot_ / 64];
    const std::uint64_t bit = std::uint64_t(1) << (slot_ % 64);
    if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit, std::memory_order_seq_cst);
    full_fence();
    if (is_offer && there.receiving.load(std::memory_order_seq_cst) > 0) {
        there.offered.exchange(1, std::memory_order_seq_cst);
        if (there.receiving.load(std::memory_order_seq_cst) > 0) return; // it looks at `offered` when it ends
    }
    const std::uint32_t needs = is_offer || crowded_lane ? shm::asleep_for_messages : shm::asleep_for_memory;
    if (there.sleeping.load(std::memory_order_seq_cst) >= needs) core::knock(slot, needs);
}

void office::send(core::engine_held_t held, const parcel &p, std::uint64_t id)
{
    const unsigned slot = p.rank == me_ ? no_slot : slot_of(p.rank);
    int s = must_offer;
    if (p.rank == me_)
        s = send_self(p);
    else if (!core::alive(p.rank))
        s = SEA_ERR_DEAD;
    else if (slot == no_slot)
        s = p.in_place ? send_in_place(held, p, id) : send_remote(held, p);
    else if (p.bytes <= lane_eager_)
        s = send_local(slot, p);
    if (s == lane_full) s = send_late(slot, p);
    if (s == must_offer || s == share_used)
        offer(p, id);
    else if (s != under_way)
        core::end_external(held, id, s);
    settle(held);
}

void office::offer(const parcel &p, std::uint64_t id)
{
    const offer_words words{p.bytes, id, reinterpret_cast<std::uint64_t>(p.data)};
    core::count_message(p.rank, p.bytes);
    if (p.rank == me_) {
        guard held(lock_);
        arrive_offer(me_, {p.team, me_, p.tag}, words);
    } else if (const unsigned slot = slot_of(p.rank); slot != no_slot) {
        if (!core::mapped_here(slot_, words.address, p.bytes)) huge_pages_.copied(p.data, p.bytes);
        offer_local(slot, {lane_offer, p.tag, p.team, sizeof words, nullptr}, words);
    } else if (int s = offer_remote(p, words)) {
        core::end_external(core::engine_held, id, s);
    }
}

void office::offer_local(unsigned slot, shm::lane_item item, const offer_words &words)
{
    {
        guard held(lock_);
        neighbour &n = neighbour_at(slot);
        item.data = &words;
        if (!n.stuck.empty() || !n.out.push(item)) stick(slot, n, {item, words, nullptr});
    }
    announce(slot, true, true);
}

void office::stick(unsigned slot, neighbour &n, neighbour::stuck_item item)
{
    n.stuck.push_back(std::move(item));
    if (!std::exchange(n.listed, true)) stuck_.push_back(slot);
    any_stuck_.store(true, std::memory_order_relaxed);
}

// As far as there is room now.
bool office::push_stuck(unsigned slot, neighbour &n)
{
    bool pushed = false;
    while (!n.stuck.empty()) {
        neighbour::stuck_item &s = n.stuck.front();
        s.item.data = s.copy ? static_cast<const void *>(s.copy.get()) : &s.words;
        if (!n.out.push(s.item)) break;
        n.stuck.pop_front();
        pushed = true;
    }
    if (pushed) announce(slot, true, true);
    return pushed;
}

bool office::push_stuck()
{
    bool any = false;
    for (std::size_t i = 0; i < stuck_.size();) {
        neighbour &n = *neighbours_[stuck_[i]];
        any |= push_stuck(stuck_[i], n);
        if (n.stuck.empty()) {
            n.listed = false;
            stuck_[i] = stuck_.back();
            stuck_.pop_back();
        } else {
            ++i;
        }
    }
    any_stuck_.store(!stuck_.empty(), std::memory_order_relaxed);
    return any;
}

int office::send_remote(core::engine_held_t, const parcel &p)
{
    if (int s = admit_remote(p)) return s;
    send_in_frames(p);
    core::wake_for_deadlines(core::engine_held);
    return SEA_OK;
}

int office::send_in_place(core::engine_held_t, const parcel &p, std::uint64_t id)
{
    if (int s = admit_remote(p)) return s;
    send_from_memory(p, id);
    return under_way;
}

int office::admit_remote(const parcel &p)
{
    if (p.bytes > net_eager) return must_offer;
    if (!core::alive(p.rank)) return fail(SEA_ERR_DEAD, "rank {} has ended", p.rank);
    {
        guard inside(lock_);
        remote &r = remote_of(p.rank);
        if (r.broken) return fail(r.broken, "rank {} cannot be reached", p.rank);
        if (r.eager == remote::unknown) r.eager = std::min(net_eager, core::eager_message_limit(p.rank));
        if (p.bytes > r.eager) return must_offer;
        if (!has_room(r, p.bytes)) return share_used;
        r.charged += charge(p.bytes);
    }
    core::count_message(p.rank, p.bytes);
    return SEA_OK;
}

bool office::has_room(const remote &r, std::size_t bytes) const
{
    return r.charged + charge(bytes) - r.granted <= share_;
}

bool office::goes_in_place(const parcel &p)
{
    if (p.bytes < least_in_place || p.bytes > net_eager || slot_of(p.rank) != no_slot) return false;
    if (!core::alive(p.rank)) return false;
    {
        guard held(lock_);
        remote &r = remote_of(p.rank);
        if (!r.row.add(core::looks_for_ends(), p.bytes)) return false;
        if (has_room(r, p.bytes)) return true;
    }
    core::locked lock = core::enter();
    core::take_in(core::engine_held); // what has been given back may not have been taken in
    return true;
}

} // namespace onesea::msg
