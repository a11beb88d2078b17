// SPDX-License-Identifier: Apache-2.0
// Messages that come through the lanes of the node, and the part of the office in every round of progress.
#include "base/log.hpp"
#include "msg/office.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>

namespace onesea::msg {
namespace {

constexpr int at_once = 64;   // messages of one lane in a round: none keeps the others waiting
constexpr int in_passing = 8; // others that a receive takes with its own: what follows each is done once for all
constexpr int looks = 2000, looks_when_crowded = 50;
constexpr nanoseconds while_orders_wait = 100'000;     // who takes pieces away rings no doorbell
constexpr nanoseconds while_receives_wait = 1'000'000; // so late may be found what comes for one, and a share

} // namespace

// Calls use(slot) for every lane to here that has been used, until it returns false.
template <class Use>
void office::for_each_lane(Use &&use) const
{
    const shm::slot &mine = core::node_arena().slot_at(slot_);
    const unsigned words = (unsigned(lanes_.size()) + 63) / 64;
    for (unsigned w = 0; w < words; ++w)
        for (std::uint64_t bits = mine.lanes[w].load(std::memory_order_seq_cst); bits; bits &= bits - 1)
            if (!use(w * 64 + unsigned(std::countr_zero(bits)))) return;
}

// Takes up to `limit` messages out of a lane, or until `until` has met its own. If that has a handle, what follows
// is for others of its kind, as a rule: they are served, too. What nobody has posted a receive for is left then, since
// it would be copied twice.
bool office::drain(unsigned slot, int limit, const request *until)
{
    incoming_lane &l = lanes_[slot];
    const bool goes_on = until && until->has_handle();
    shm::lane_item item;
    bool any = false, met = false;
    while (limit-- > 0 && l.in.front(&item)) {
        const int source = core::node_arena().slot_at(slot).rank.load(std::memory_order_relaxed);
        const pattern what{item.team, source, item.tag};
        request *r = meet(what);
        if (met && !r) break;
        any = true;
        if (item.kind == lane_offer && item.bytes == sizeof(offer_words)) {
            offer_words words;
            std::memcpy(&words, item.data, sizeof words);
            arrive_offer(r, source, what, words);
        } else {
            arrive(r, slot, what, item.data, item.bytes);
        }
        if (l.in.pop() && l.in.control().wanted.exchange(0, std::memory_order_seq_cst)) {
            errands_.knocks.push_back(slot);
            work_.store(true, std::memory_order_relaxed);
        }
        if (met || !until || matcher_.is_posted(until)) continue;
        if (!goes_on) break;
        met = true;
        limit = std::min(limit, in_passing);
    }
    return any;
}

// All lanes, each time another one first.
bool office::drain_all(int limit, const request *until)
{
    bool any = false;
    const unsigned first = turn_;
    for (bool wrapped : {false, true})
        for_each_lane([&](unsigned slot) {
            if ((slot < first) != wrapped) return true;
            if (drain(slot, limit, until)) {
                any = true;
                turn_ = slot + 1;
            }
            return !until || matcher_.is_posted(until);
        });
    if (turn_ >= lanes_.size()) turn_ = 0;
    return any;
}

// What may hold a message for this pattern.
void office::drain_for(const pattern &want, const request *until)
{
    if (want.source == anything) {
        drain_all(until ? 1 : INT_MAX, until);
    } else if (want.source != me_) {
        const unsigned slot = slot_of(want.source);
        if (slot != no_slot && lanes_[slot].in.ready()) drain(slot, INT_MAX, until);
    }
}

bool office::any_ready() const
{
    bool ready = false;
    for_each_lane([&](unsigned slot) {
        ready = lanes_[slot].in.ready();
        return !ready;
    });
    return ready;
}

// The one lane through which what a request waits for can come; no_slot: there may be more, or it comes otherwise.
unsigned office::lane_to_watch(const request &r) const
{
    if (r.want.source == anything || r.want.source == me_) return no_slot;
    return slot_of(r.want.source);
}

// Looks at the lanes for a bounded time, if what is waited for comes through them.
void office::spin_for(request &r)
{
    const bool open = r.want.source == anything;
    const unsigned slot = lane_to_watch(r);
    const shm::arena_header &node = core::node_arena().header();
    if (open ? node.nodes > 1 || node.transport == shm::transport_choice::net : slot == no_slot) return;
    auto waiting = [&] { return r.state.load(std::memory_order_acquire) == request::phase::waiting; };
    auto ready = [&] { return open ? any_ready() : lanes_[slot].in.ready(); };
    shm::slot &mine = core::node_arena().slot_at(slot_);
    mine.receiving.fetch_add(1, std::memory_order_seq_cst);
    for (int i = crowded_ ? looks - looks_when_crowded : 0; i < looks && waiting() && !stage_.wanted(); ++i) {
        if (ready()) {
            guard held(lock_);
            if (waiting() && matcher_.is_posted(&r)) drain_for(r.want, &r);
        } else {
            __builtin_ia32_pause();
        }
    }
    mine.receiving.fetch_sub(1, std::memory_order_seq_cst);
    if (mine.offered.load(std::memory_order_seq_cst) && mine.offered.exchange(0)) core::wake_dispatcher_soon();
}

bool office::poll()
{
    if (!open_) return false;
    bool any = false;
    if (any_ready() || any_stuck_.load(std::memory_order_relaxed)) {
        guard held(lock_);
        any = drain_all(at_once, nullptr);
        any |= push_stuck();
    }
    if (work_.load(std::memory_order_relaxed)) {
        any = true;
        settle(core::engine_held);
    }
    any |= look_at_stage(core::last_look(core::engine_held));
    if (!aside_.empty()) look_aside();
    if (fetches_.empty()) return any;
    fetch_some();
    settle(core::engine_held);
    return true;
}

nanoseconds office::rest()
{
    if (!open_) return never;
    if (any_ready() || !fetches_.empty() || work_.load()) return 0;
    if (stage_.wanted()) return while_orders_wait;
    guard held(lock_);
    if (work_.load()) return 0; // another thread was at a lane just now
    for (unsigned slot : stuck_) {
        neighbour &n = *neighbours_[slot];
        n.out.control().wanted.exchange(1, std::memory_order_seq_cst);
        if (n.out.has_room()) return 0;
    }
    return handles_posted_ > 0 || !aside_.empty() ? while_receives_wait : never;
}

void office::gone(int rank, int status)
{
    if (!open_) return;
    {
        guard held(lock_);
        if (const unsigned slot = slot_of(rank); slot != no_slot) {
            stage_.reader_gone(slot);
            drain(slot, INT_MAX, nullptr);
            if (neighbours_[slot]) neighbours_[slot]->stuck.clear();
        } else if (status != SEA_ERR_DEAD || remotes_.contains(rank)) { // a job may lose a million ranks
            remote &r = remote_of(rank);
            r.broken = status;
            drop_assembly(r, status);
        }
        told_ = core::ends_told(core::engine_held);
        last_loss_ = status;
        matcher_.for_each_kept([&](arrival *a) { // what it offered can be fetched no more
            auto *l = static_cast<letter *>(a);
            if (a->what.source != rank || (l->whole && !l->stays)) return;
            matcher_.take(a);
            forget(l);
        });
        matcher_.for_each_posted([&](posted *p) {
            auto &r = static_cast<request &>(*p);
            const bool ended = r.want.source == rank || (r.want.source == anything && nobody_left(r.team.get()));
            if (!ended) return;
            unpost(r);
            finish(r, status);
        });
        if (!looked_for_.empty()) {
            nudge_ = true;
            work_.store(true);
        }
    }
    settle(core::engine_held);
}

// Of several, any of which would do, one after the other: it is the last one that counts.
void office::awaited(std::set<int> &ranks)
{
    if (!open_) return;
    guard held(lock_);
    auto add = [&](const pattern &want, coll::team *team) {
        const int rank = want.source == anything ? first_left(team) : want.source;
        if (rank >= 0) ranks.insert(rank);
    };
    matcher_.for_each_posted([&](posted *p) { add(p->want, static_cast<request *>(p)->team.get()); });
    for (const sight *s : looked_for_) add(s->want, s->team);
    for (const auto &[rank, r] : remotes_)
        if (r.whole > 0) ranks.insert(rank); // the rest of a message
}

// The earliest in words: programs mostly wait for that.
void office::waits(std::vector<std::string> &what)
{
    if (!open_) return;
    guard held(lock_);
    const auto add = [&](std::size_t n, const char *thing, const pattern &first) {
        const std::string source = first.source == anything ? "any rank" : fmt::format("rank {}", first.source),
                          tag = first.tag == anything ? "any tag" : fmt::format("tag {}", first.tag);
        what.push_back(
            fmt::format("{}{} from {} with {}", core::counted(n, thing), n == 1 ? "" : ", the first", source, tag));
    };
    if (const posted *p = matcher_.earliest_posted()) add(matcher_.posted_count(), "receive", p->want);
    if (!looked_for_.empty()) add(looked_for_.size(), "probe", looked_for_.front()->want);
    std::set<int> sources;
    for (const request *r : fetches_) sources.insert(r->source);
    for (const held_up &h : aside_) sources.insert(h.fetch->source);
    if (!sources.empty())
        what.push_back(core::counted(fetches_.size() + aside_.size(), "message") + " on the way from " +
                       core::ranks_text(sources));
}

} // namespace onesea::msg
