// SPDX-License-Identifier: Apache-2.0
#include "coll/near.hpp"

#include "base/full_fence.hpp"
#include "base/wide_copy.hpp"
#include "core/internal.hpp"
#include "core/node.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace onesea::coll {
namespace {

enum lane_kind : std::uint16_t { whole = 1, offered = 2 };

constexpr std::size_t most_offers = 64; // to one rank that are not counted: as many as `refused` has bits

// Only who waits is woken: for one that computes it lies where it will look.
void wake(unsigned slot)
{
    full_fence();
    if (core::node_arena().slot_at(slot).sleeping.load(std::memory_order_seq_cst) >= shm::asleep_for_memory)
        core::knock(slot, shm::asleep_for_memory);
}

// By pieces: memmove() of a long range takes another way, which is slower.
void copy_mapped(void *to, const std::byte *from, std::size_t bytes)
{
    constexpr std::size_t piece = 256 * 1024;
    for (std::size_t done = 0; done < bytes; done += piece)
        copy_of(bytes, static_cast<std::byte *>(to) + done, from + done, std::min(piece, bytes - done));
}

bool may_read(unsigned slot, std::uint64_t address)
{
    std::byte first;
    return core::copy_from_process(slot, address, &first, 1) != not_native;
}

} // namespace

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
    offered_to_.reserve(slots);
    for (unsigned s = 0; s < slots; ++s) {
        out_.push_back({.lane = {node.short_lane(s, own), node.short_cells(s, own)}});
        in_.emplace_back(node.short_lane(own, s), node.short_cells(own, s));
    }
    open_.store(true, std::memory_order_release);
}

void near_post::close()
{
    open_ = false;
    out_.clear();
    in_.clear();
    offered_to_.clear();
    offers_ = 0;
}

bool near_post::send(int rank, const envelope &e, const void *data, std::size_t bytes)
{
    if (bytes > most_bytes) return false;
    const unsigned slot = slot_near(rank);
    if (slot == shm::no_slot) return false;
    std::byte all[sizeof e + most_bytes];
    std::memcpy(all, &e, sizeof e);
    if (bytes > 0) std::memcpy(all + sizeof e, data, bytes);
    {
        std::lock_guard held(out_mutex_);
        if (!out_[slot].lane.push({whole, 0, 0, sizeof e + bytes, all})) return false;
    }
    sent_to(slot);
    core::count_message(rank, bytes);
    return true;
}

bool near_post::send(const offer &o)
{
    if (o.bytes < least_offered) return false;
    const unsigned slot = slot_near(o.rank);
    if (slot == shm::no_slot) return false;
    const offer_words words{o.e, reinterpret_cast<std::uint64_t>(o.data), o.bytes};
    {
        std::lock_guard held(out_mutex_);
        outgoing &out = out_[slot];
        if (out.refused && !core::mapped_here(core::own_slot(), words.address, o.bytes)) return false;
        if (out.offered.size() == most_offers) return false;
        out.offered.reserve(most_offers);
        if (!out.lane.push({offered, 0, 0, sizeof words, &words})) return false;
        if (out.offered.empty()) offered_to_.push_back(slot);
        out.offered.push_back(o);
        offers_.fetch_add(1, std::memory_order_relaxed);
    }
    sent_to(slot);
    core::count_message(o.rank, o.bytes);
    return true;
}

void near_post::sent_to(unsigned slot)
{
    auto &senders = core::node_arena().slot_at(slot).short_lanes[core::own_slot() / 64];
    const std::uint64_t me = std::uint64_t(1) << (core::own_slot() % 64);
    if (!(senders.load(std::memory_order_relaxed) & me)) senders.fetch_or(me, std::memory_order_seq_cst);
    wake(slot);
}

bool near_post::take(unsigned slot, mailbox &mail, context_id *of)
{
    incoming &in = in_[slot];
    if (!in.lane.ready()) return false; // as a rule, and without the lock
    std::lock_guard held(in.mutex);
    return take_front(slot, mail, of);
}

bool near_post::take_if_free(int rank, mailbox &mail, context_id *of)
{
    const unsigned slot = open_.load(std::memory_order_acquire) ? slot_near(rank) : shm::no_slot;
    if (slot == shm::no_slot) return false;
    std::unique_lock held(in_[slot].mutex, std::try_to_lock);
    return held && take_front(slot, mail, of);
}

// The lock of what comes from the slot is held, here and in what follows.
bool near_post::take_front(unsigned slot, mailbox &mail, context_id *of)
{
    incoming &in = in_[slot];
    shm::lane_item item;
    if (!in.lane.front(&item)) return false;
    const int rank = core::node_arena().slot_at(slot).rank.load(std::memory_order_relaxed);
    offer_words words{};
    if (item.bytes >= sizeof words.e) std::memcpy(&words.e, item.data, sizeof words.e);
    *of = words.e.context;
    const auto *bytes = static_cast<const std::byte *>(item.data);
    const bool is_offer = item.kind == offered && item.bytes == sizeof words;
    if (is_offer)
        std::memcpy(&words, item.data, sizeof words);
    else if (item.kind == whole && item.bytes >= sizeof words.e)
        mail.take_in(rank, words.e, bytes + sizeof words.e, item.bytes - sizeof words.e);
    in.lane.pop();
    if (is_offer) take_offer(slot, rank, words, mail);
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

void near_post::take_offer(unsigned slot, int rank, const offer_words &words, mailbox &mail)
{
    incoming &in = in_[slot];
    const bool known = core::slot_of(rank) == slot; // else its heap may not be mapped yet
    const std::byte *mapped = known ? core::mapped_here(slot, words.address, words.bytes) : nullptr;
    const bool allowed = mapped || in.readable || may_read(slot, words.address);
    if (allowed) copy_data(slot, rank, words, mapped, mail);
    in.readable |= allowed && !mapped;
    shm::lane_control &control = in.lane.control();
    const std::uint64_t number = control.taken.load(std::memory_order_relaxed), bit = std::uint64_t(1) << number % 64;
    const std::uint64_t refused = control.refused.load(std::memory_order_relaxed);
    control.refused.store(allowed ? refused & ~bit : refused | bit, std::memory_order_relaxed);
    control.taken.store(number + 1, std::memory_order_release);
    wake(slot);
}

// To where its receive wants it, or to memory of its own.
void near_post::copy_data(unsigned slot, int rank, const offer_words &words, const std::byte *mapped, mailbox &mail)
{
    const placement p = mail.take_in(rank, words.e, nullptr, words.bytes);
    if (!p.to) return; // its call is over
    int status = SEA_OK;
    if (mapped)
        copy_mapped(p.to, mapped, words.bytes);
    else
        status = core::alive(rank) ? core::copy_from_process(slot, words.address, p.to, words.bytes) : SEA_ERR_DEAD;
    if (status == SEA_ERR_DEAD) return; // it is lost, as everybody will know
    if (status != SEA_OK)
        mail.unreadable(p, rank);
    else if (p.matched)
        mail.arrived(p.matched);
    else
        mail.arrived(p.stored);
}

bool near_post::count_taken(const sea_counter &own, std::vector<offer> *refused)
{
    if (!has_offers()) return false;
    bool others = false;
    std::lock_guard held(out_mutex_);
    for (std::size_t i = 0; i < offered_to_.size();) {
        outgoing &out = out_[offered_to_[i]];
        others |= count_taken_of(out, own, refused);
        if (out.offered.empty())
            offered_to_.erase(offered_to_.begin() + std::ptrdiff_t(i));
        else
            ++i;
    }
    return others;
}

bool near_post::count_taken_of(outgoing &out, const sea_counter &own, std::vector<offer> *refused)
{
    shm::lane_control &control = out.lane.control();
    const bool lives = core::alive(out.offered.front().rank);
    const std::uint64_t taken = control.taken.load(std::memory_order_acquire) - out.counted;
    const std::size_t n = lives ? std::size_t(taken) : out.offered.size();
    const std::uint64_t refusals = lives ? control.refused.load(std::memory_order_relaxed) : 0;
    if (refusals) refused->reserve(refused->size() + n);
    bool others = false;
    for (std::size_t i = 0; i < n; ++i) {
        const offer &o = out.offered[i];
        if (refusals >> (out.counted + i) % 64 & 1) {
            out.refused = true;
            refused->push_back(o);
            continue;
        }
        others |= o.sent != &own;
        std::atomic_ref(o.sent->value).fetch_add(1, std::memory_order_release);
    }
    out.counted += n;
    out.offered.erase(out.offered.begin(), out.offered.begin() + std::ptrdiff_t(n));
    offers_.fetch_sub(n, std::memory_order_relaxed);
    return others;
}

std::vector<int> near_post::to_be_asked(nanoseconds now)
{
    constexpr nanoseconds again = 10'000'000; // it may have been busy with others
    std::vector<int> ranks;
    std::lock_guard held(out_mutex_);
    for (unsigned slot : offered_to_) {
        outgoing &out = out_[slot];
        const std::uint64_t all = out.counted + out.offered.size();
        if (out.asked_for == all && now < out.asked + again) continue;
        out.asked_for = all;
        out.asked = now;
        ranks.push_back(out.offered.front().rank);
    }
    return ranks;
}

} // namespace onesea::coll
