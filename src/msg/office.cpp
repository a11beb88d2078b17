// SPDX-License-Identifier: Apache-2.0
// The office: opening, closing, matching, what is done behind the lock. Receives are in office_receive, the ways
// out and in in office_send, office_lanes, office_frames and office_fetch.
#include "msg/office.hpp"

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/error.hpp"
#include "msg/settings.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

namespace onesea::msg {

office &the_office()
{
    static auto *o = new office; // never destroyed: messages may be sent by a handler of exit()
    return *o;
}

void office::open(core::engine_held_t)
{
    if (open_) return;
    const auto &header = core::node_arena().header();
    me_ = core::own_rank();
    told_ = core::ends_told(core::engine_held);
    slot_ = core::own_slot();
    bound_ = message_memory();
    letter_box_.keep_at_most(bound_ / 8);
    shares_ = {bound_, header.world.load(std::memory_order_relaxed), header.rank_capacity};
    share_ = shares_.of(me_);
    lane_eager_ = std::min<std::size_t>(lane_eager, header.tuning.of(path_kind::shm).eager_message);
    crowded_ = core::crowded();
    const bool alone = header.transport == shm::transport_choice::net;
    first_ = unsigned(alone ? me_ : core::node_arena().slot_at(0).rank.load());
    near_ = alone ? 1 : header.starters;
    offset_ = alone ? slot_ : 0;
    neighbours_.resize(header.slots);
    lanes_.clear();
    lanes_.reserve(header.slots);
    for (unsigned s = 0; s < header.slots; ++s)
        lanes_.push_back({shm::lane_reader(core::node_arena().lane(slot_, s), core::node_arena().cells(slot_, s))});
    ways_ = std::vector<way_choice>(header.slots);
    stage_ = shm::stage_writer(core::node_arena().stage(slot_), core::node_arena().stage_data(slot_));
    open_ = true;
}

void office::close()
{
    open_ = false;
    matcher_.for_each_kept([&](arrival *a) {
        matcher_.take(a);
        letter_box_.destroy(static_cast<letter *>(a));
    });
    auto drop = [](request *r) {
        if (r->operation) delete r;
    };
    matcher_.for_each_posted([&](posted *p) {
        matcher_.withdraw(p);
        drop(static_cast<request *>(p));
    });
    for (auto *list : {&errands_.finished, &errands_.to_fetch}) {
        for (request *r : *list) drop(r);
        list->clear();
    }
    stop_taking();
    stage_ = {};
    for (request *r : std::exchange(fetches_, {})) {
        give_up_shares(*r);
        drop(r);
    }
    for (held_up &h : std::exchange(aside_, {})) {
        give_up_shares(*h.fetch);
        h.stage.from.leave();
        drop(h.fetch);
    }
    for (auto &[number, l] : std::exchange(taken_, {})) letter_box_.destroy(l.what);
    neighbours_.clear();
    remotes_.clear();
    last_remote_ = nullptr;
    stuck_.clear();
    any_stuck_ = false;
    handles_.clear();
    used_ = own_charged_ = handles_posted_ = 0;
    letter_box_.keep_at_most(0);
    world_left_ = {};
}

// ---- under the lock ----

office::remote &office::other_remote(int rank)
{
    last_remote_ = &*remotes_.try_emplace(rank).first;
    return last_remote_->second;
}

request *office::meet(const pattern &what)
{
    auto *r = static_cast<request *>(matcher_.meet(what));
    if (r && r->has_handle()) --handles_posted_;
    return r;
}

void office::unpost(request &r)
{
    matcher_.withdraw(&r);
    if (r.has_handle()) --handles_posted_;
}

void office::finish(request &r, int status)
{
    r.status = status;
    if (r.info && (status == SEA_OK || status == SEA_ERR_TRUNCATED))
        *r.info = {r.team ? r.team->who.member(r.source) : r.source, r.tag, r.bytes};
    if (r.operation) {
        errands_.finished.push_back(&r);
        work_.store(true, std::memory_order_relaxed);
        return;
    }
    if (r.follower) end_follower(r);
    if (!in_round_ && (r.kept ? core::anybody_waits() : r.may_sleep)) {
        nudge_ = true;
        work_.store(true, std::memory_order_relaxed);
    }
    r.state.store(request::phase::done, std::memory_order_release); // its thread may go on, and it is gone
}

void office::end_follower(const request &r)
{
    errands_.followers.push_back({r.follower, r.status, r.status == SEA_OK ? std::string() : end_text(r)});
    work_.store(true, std::memory_order_relaxed);
}

void office::release(int source, std::size_t bytes)
{
    const std::size_t n = charge(bytes);
    if (source == me_) {
        own_charged_ -= n;
    } else if (const unsigned slot = slot_of(source); slot != no_slot) {
        release_lane(slot, source, bytes);
    } else {
        remote &r = remote_of(source);
        r.released += n;
        if (r.released - r.told < shares_.of(source) / 4) return;
        r.told = r.released;
        errands_.grants.push_back(source);
        work_.store(true, std::memory_order_relaxed);
    }
}

void office::release_lane(unsigned slot, int source, std::size_t bytes)
{
    incoming_lane &l = lanes_[slot];
    l.released += charge(bytes);
    if (l.released - l.told < shares_.of(source) / 8) return;
    l.told = l.released;
    l.in.control().released.store(l.told, std::memory_order_release);
}

void office::keep(letter *l)
{
    used_ += sizeof(letter) + (l->stays ? 0 : l->bytes);
    matcher_.keep(l);
    if (looked_for_.empty()) return;
    nudge_ = true;
    work_.store(true, std::memory_order_relaxed);
}

// It is in no queue any more.
void office::forget(letter *l)
{
    used_ -= sizeof(letter) + (l->stays ? 0 : l->bytes);
    letter_box_.destroy(l);
}

void office::arrive(unsigned slot, const pattern &what, const void *data, std::size_t bytes) noexcept
{
    arrive(meet(what), slot, what, data, bytes);
}

// r: who receives it, or nullptr.
void office::arrive(request *r, unsigned slot, const pattern &what, const void *data, std::size_t bytes) noexcept
{
    if (r) {
        r->source = what.source;
        r->tag = what.tag;
        r->bytes = bytes;
        const std::size_t n = r->wanted();
        if (n == 4)
            std::memcpy(r->buffer, data, 4);
        else if (n == 8)
            std::memcpy(r->buffer, data, 8);
        else if (n)
            copy_bytes(r->buffer, data, n);
        if (slot != no_slot)
            release_lane(slot, what.source, bytes);
        else
            release(what.source, bytes);
        return finish(*r, r->good_status());
    }
    letter *l = letter_box_.make(bytes);
    l->what = what;
    l->bytes = bytes;
    if (bytes) copy_bytes(l->data(), data, bytes);
    keep(l);
}

void office::arrive_offer(int source, const pattern &what, const offer_words &words) noexcept
{
    arrive_offer(meet(what), source, what, words);
}

void office::arrive_offer(request *r, int source, const pattern &what, const offer_words &words) noexcept
{
    if (r) {
        r->tag = what.tag;
        return meet_offer(*r, source, words);
    }
    letter *l = letter_box_.make(0);
    l->what = what;
    l->bytes = words.bytes;
    l->stays = true;
    l->offer = words;
    keep(l);
}

void office::meet_offer(request &r, int source, const offer_words &words)
{
    r.source = source;
    r.bytes = words.bytes;
    r.offer = words;
    r.fetched = 0;
    const unsigned slot = slot_of(source);
    r.mapped = slot != no_slot && source != me_ ? core::mapped_here(slot, words.address, words.bytes) : nullptr;
    if (!r.has_handle() && slot != no_slot) {
        if (r.may_sleep) {
            nudge_ = true;
            work_.store(true, std::memory_order_relaxed);
        }
        r.state.store(request::phase::own_fetch, std::memory_order_release);
        return;
    }
    r.state.store(request::phase::fetching, std::memory_order_release);
    errands_.to_fetch.push_back(&r);
    work_.store(true, std::memory_order_relaxed);
}

// A letter that has been taken out goes to a receive.
void office::hand_out(letter *l, request &r)
{
    r.source = l->what.source;
    r.tag = l->what.tag;
    r.bytes = l->bytes;
    if (!l->whole) {
        r.state.store(request::phase::fetching, std::memory_order_release);
        l->taker = &r;
        return;
    }
    if (l->stays) {
        const int lost = l->lost;
        if (lost == SEA_OK) meet_offer(r, r.source, l->offer);
        forget(l);
        if (lost != SEA_OK) finish(r, lost);
        return;
    }
    if (std::size_t n = r.wanted()) copy_bytes(r.buffer, l->data(), n);
    release(r.source, l->bytes);
    forget(l);
    finish(r, r.good_status());
}

// The table tells of an end at once, gone() when what came before it has been taken in: it is no end until then.
bool office::has_ended(int rank) const { return core::end_was_told(rank, told_); }

bool office::is_lost(int rank) const
{
    if (has_ended(rank)) return true;
    auto found = remotes_.find(rank);
    return found != remotes_.end() && found->second.broken;
}

int office::first_left(coll::team *team)
{
    coll::survivors &left = team ? team->left : world_left_;
    return left.first_but(
        me_, team ? team->who.size() : core::world_size(), [&](int i) { return team ? team->who.rank(i) : i; },
        [this](int rank) { return !is_lost(rank); });
}

bool office::nobody_left(coll::team *team)
{
    return (team ? team->who.size() : core::world_size()) > 1 && first_left(team) < 0;
}

// Why nothing will come any more for this pattern; SEA_OK: something may. Lanes are to be looked at after it.
int office::end_of_sources(const pattern &want, coll::team *team)
{
    if (core::ended() == 0 && remotes_.empty()) return SEA_OK; // as a rule
    if (want.source == anything) {
        const bool any_lost = last_loss_ != SEA_OK || core::ended() > 0;
        if (!any_lost || !nobody_left(team)) return SEA_OK;
        return last_loss_ == SEA_OK ? SEA_ERR_DEAD : last_loss_;
    }
    if (want.source == me_) return SEA_OK;
    if (has_ended(want.source)) return SEA_ERR_DEAD;
    if (remotes_.empty()) return SEA_OK;
    if (last_remote_ && last_remote_->first == want.source) return last_remote_->second.broken;
    auto found = remotes_.find(want.source);
    return found == remotes_.end() ? SEA_OK : found->second.broken;
}

// ---- by threads of the program ----

bool office::find_taken(std::uint64_t number, pattern *what, std::shared_ptr<coll::team> *team)
{
    guard held(lock_);
    auto found = taken_.find(number);
    if (found == taken_.end()) return false;
    *what = found->second.what->what;
    *team = found->second.team;
    return true;
}

class office::looking {
  public:
    looking(office &all, const sight &of) : all_(all), of_(of)
    {
        guard held(all_.lock_);
        all_.looked_for_.push_back(&of_);
    }
    ~looking()
    {
        guard held(all_.lock_);
        std::erase(all_.looked_for_, &of_);
    }
    looking(const looking &) = delete;
    looking &operator=(const looking &) = delete;

  private:
    office &all_;
    const sight &of_;
};

void office::wait_for_arrival(const sight &of, bool (*ready)(void *), void *argument, double seconds)
{
    const nanoseconds deadline = deadline_after(seconds);
    const looking here(*this, of);
    core::wait_until(ready, argument, deadline);
}

int office::look(const pattern &want, const std::shared_ptr<coll::team> &team, sea_message_info *info,
                 std::uint64_t *number)
{
    guard held(lock_);
    arrival *a = matcher_.find(want);
    if (!a) {
        drain_for(want, nullptr);
        a = matcher_.find(want);
    }
    if (!a) {
        const int s = end_of_sources(want, team.get());
        if (s == SEA_OK) return SEA_ERR_TIMEOUT;
        drain_for(want, nullptr); // it may have sent and ended since the first look
        a = matcher_.find(want);
        if (!a) return s;
    }
    const int source = a->what.source;
    if (info) *info = {team ? team->who.member(source) : source, a->what.tag, static_cast<letter *>(a)->bytes};
    if (!number) return SEA_OK;
    matcher_.take(a);
    *number = next_taken_++;
    taken_[*number] = {static_cast<letter *>(a), team};
    return SEA_OK;
}

void office::usage(std::size_t *used, std::size_t *bound)
{
    guard held(lock_);
    if (used) *used = used_;
    if (bound) *bound = bound_;
}

// ---- what needs core ----

void office::settle()
{
    if (!work_.load(std::memory_order_relaxed)) return;
    const core::locked lock = core::enter();
    if (settle(core::engine_held)) core::wake_for_deadlines(core::engine_held); // the call may not wait
}

bool office::settle(core::engine_held_t)
{
    if (settling_) return false; // the round that is under way sees the rest
    settling_ = true;
    bool sent = false;
    while (work_.load(std::memory_order_relaxed) && work_.exchange(false)) {
        bool nudge = false, any = false;
        {
            guard held(lock_);
            any = errands_.any();
            if (any) std::swap(running_, errands_);
            nudge = std::exchange(nudge_, false);
        }
        if (nudge) core::nudge(core::engine_held);
        if (any) sent |= run_errands();
    }
    settling_ = false;
    if (sent) core::wake_if_late(core::engine_held);
    return sent;
}

// Those of running_. Has it sent something?
bool office::run_errands()
{
    for (unsigned slot : running_.knocks) core::knock(slot, shm::asleep_for_messages);
    for (int rank : running_.grants) grant(rank);
    for (request *r : running_.to_fetch)
        if (slot_of(r->source) != no_slot)
            fetches_.push_back(r);
        else
            pull(*r);
    for (request *r : running_.finished)
        if (r->status == SEA_OK)
            core::end_external(core::engine_held, r->operation);
        else
            core::end_external(core::engine_held, r->operation, r->status, end_text(*r));
    for (errands::follower &f : running_.followers)
        core::end_external(core::engine_held, f.operation, f.status, std::move(f.text));
    const bool sent = !running_.grants.empty() || !running_.to_fetch.empty();
    running_.clear();
    return sent;
}

} // namespace onesea::msg
