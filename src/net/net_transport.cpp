// SPDX-License-Identifier: Apache-2.0
// The net transport but for what arrives: peers, sending, timers, who shares the receiver's room, who may come in.
#include "net/net_transport_state.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/socket_filter.hpp"

#include <algorithm>
#include <utility>

namespace onesea::net {
namespace {

constexpr std::uint64_t share_period = millisecond;
constexpr unsigned express_packets = 16; // in a share_period: a peer with which it is worth to be connected

// What profile.cpp says may be set.
static_assert(path_tuning{}.fragment == gso_bytes && path_tuning{}.window >= least_grant);

} // namespace

std::uint32_t net_transport::mtu_to(const peer_address &where) const
{
    const std::uint32_t theirs = where.mtu ? where.mtu : std::uint32_t(default_mtu);
    return std::min(config_.own_mtu ? config_.own_mtu : std::uint32_t(default_mtu), theirs);
}

// A datagram is a whole send where packets are as long as one.
std::size_t net_transport::datagram_limit(const peer_address &where) const
{
    const std::size_t mtu = mtu_to(where), fragment = tuning_of(mtu_to(where)).fragment;
    std::size_t headers = is_v4(where) ? udp_ip4_headers : udp_ip6_headers;
    std::size_t room = mtu > headers ? mtu - headers : 0;
    return std::clamp(std::min(room, fragment), least_datagram, most_datagram + max_ack_bytes) & ~std::size_t(7);
}

link_config net_transport::link_config_for(int rank, const peer_address &where)
{
    link_config c;
    c.own_rank = std::uint32_t(config_.rank);
    c.peer_rank = std::uint32_t(rank);
    c.job_tag = job_tag_;
    c.out = derive_keys(config_.secure, config_.job_key, c.own_rank, c.peer_rank, 0);
    c.in = derive_keys(config_.secure, config_.job_key, c.peer_rank, c.own_rank, 0);
    c.max_datagram = std::uint32_t(datagram_limit(where));
    c.trains = io_.gso();
    c.tuning = &tuning_of(mtu_to(where));
    c.give_up = config_.faults.give_up ? config_.faults.give_up : config_.give_up;
    c.trust = config_.trust;
    c.row = &counts_.row_of(rank);
    return c;
}

net_transport::peer *net_transport::look_up(int rank)
{
    auto known = peers_.find(rank);
    if (known == peers_.end()) return nullptr;
    last_rank_ = rank;
    return last_ = &known->second;
}

// nullptr: nobody knows where that rank is.
net_transport::peer *net_transport::make(int rank)
{
    peer_address where;
    if (!config_.lookup(rank, &where)) return nullptr;
    peer &p = peers_[rank];
    p.link = std::make_unique<net::link>(link_config_for(rank, where), cipher_, sink_, pool_);
    p.where = endpoint(where);
    p.rank = rank;
    return &p;
}

void net_transport::activate(peer &p)
{
    if (p.active) return;
    p.active = true;
    active_.push_back(&p);
    next_share_ = 0;
}

void net_transport::touch(peer &p)
{
    if (p.touched) return;
    activate(p);
    p.touched = true;
    touched_.push_back(&p);
}

void net_transport::send(int rank, const outgoing &message)
{
    peer *p = find(rank);
    if (!p) p = make(rank);
    if (!p || closed_) {
        if (message.done) message.done->settled(message.done, SEA_ERR_DEAD);
        return;
    }
    p->due |= p->link->send(message);
    activate(*p);
    // Where it was touched, poll() sends what it gathers, with the acknowledgement.
    if (!message.more && std::exchange(p->due, false) && !p->touched) pump(*p, io_.now());
    if (message.lazy && p->link->only_lazy()) {
        p->link->go_later(io_.now());
        next_deadline_ = std::min(next_deadline_, p->link->deadline());
    }
    if (p->link->has_queued()) holds_.store(true, std::memory_order_relaxed);
}

void net_transport::flush()
{
    if (!holds()) return;
    holds_.store(false, std::memory_order_relaxed);
    nanoseconds now = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) { // settling may make links
        if (!active_[i]->link->has_queued()) continue;
        active_[i]->link->flush();
        if (!now) now = io_.now();
        pump(*active_[i], now);
    }
}

void net_transport::hurry(int rank, bool answers)
{
    peer *p = find(rank);
    if (!p || closed_) return;
    p->link->hurry(answers);
    if (!p->link->may_build()) return;
    activate(*p); // the kernel may refuse it
    pump(*p, io_.now());
}

void net_transport::tell_short(const peer &p) const
{
    log(level::warn,
        "long packets to rank {} do not arrive, short ones do; going on with {} bytes each, which is slow. "
        "Does a switch or tunnel on the way take less than the mtu of the interfaces?",
        p.rank, short_datagram);
}

void net_transport::pump(peer &p, nanoseconds now)
{
    if (!io_.gso()) p.link->make_no_trains();
    if (p.link->goes_short() && !std::exchange(p.short_told, true)) tell_short(p);
    const std::size_t most = std::min(gso_bytes, p.link->most_in_one_send());
    p.waits = now < blocked_until_ && p.link->may_build();
    any_waits_ |= p.waits;
    while (now >= blocked_until_ && !p.link->is_empty()) {
        unsigned n = 0;
        std::size_t bytes = 0;
        do {
            batch_[n].room = {room_.get() + bytes, room_bytes - bytes};
            if (!p.link->build(now, &batch_[n])) break;
            bytes += batch_[n].bytes;
        } while (++n < batch_size && bytes + batch_[0].bytes <= most && io_.gso() && p.link->may_build());
        if (n == 0) break;
        if (!transmit(p, n, now)) break;
    }
    next_deadline_ = std::min(next_deadline_, p.link->deadline());
}

// False: the kernel takes nothing now; what was not sent is back in the link.
bool net_transport::transmit(peer &p, unsigned n, nanoseconds now)
{
    unsigned sent = io_.send(p.where, std::span(batch_.get(), n));
    p.lately += sent;
    if (sent == n) [[likely]]
        return true;
    while (n > sent) p.link->unbuild(batch_[--n]);
    blocked_until_ = now + retry_send;
    p.waits = any_waits_ = true;
    next_deadline_ = std::min(next_deadline_, blocked_until_);
    return false;
}

void net_transport::answer(nanoseconds now)
{
    if (!touched_.empty()) sink_.about_to_acknowledge();
    const bool answers_follow = sink_.answers_follow();
    for (std::size_t i = 0; i < touched_.size(); ++i) {
        touched_[i]->touched = false;
        touched_[i]->link->end_of_burst();
        if (answers_follow) touched_[i]->link->postpone_ack(now);
        pump(*touched_[i], now);
    }
    touched_.clear();
}

bool net_transport::poll(nanoseconds now)
{
    if (closed_ || polling_) return false;
    polling_ = true;
    bool any = take_all(now);
    if ((any && now >= next_share_) || now >= rest_at_) any |= share_budget(now); // who sleeps must see other fds
    answer(now);
    if (now >= next_deadline_) run_timers(now);
    polling_ = false;
    for (auto [rank, cleanly] : std::exchange(gone_, {})) peer_gone(rank, cleanly);
    return any;
}

// Settling may call send(), which may make links: the table is not walked meanwhile.
void net_transport::run_timers(nanoseconds now)
{
    const bool unblocked = now >= blocked_until_;
    if (unblocked) any_waits_ = false;
    next_deadline_ = any_waits_ ? blocked_until_ : never;
    due_.clear();
    for (peer *p : active_) {
        if (p->link->deadline() <= now || (p->waits && unblocked))
            due_.push_back(p->rank);
        else
            next_deadline_ = std::min(next_deadline_, p->link->deadline());
    }
    for (std::size_t i = 0; i < due_.size(); ++i) {
        peer *p = find(due_[i]);
        if (!p) continue;
        bool failed = p->link->has_failed();
        p->link->on_time(now);
        pump(*p, now);
        if (!failed && p->link->has_failed()) sink_.unreachable(due_[i]);
    }
}

// What the socket buffer holds is divided among the peers that were heard of lately; those that have been silent for
// longer and have nothing to do are forgotten here. The busiest one is connected to.
bool net_transport::share_budget(nanoseconds now)
{
    std::size_t sharers = 0;
    unsigned packets = 0;
    const peer *busiest = nullptr;
    unsigned most = 0;
    std::erase_if(active_, [&](peer *p) {
        const bool lately = p->link->last_heard() + active_time > now;
        p->active = lately || !p->link->idle() || p->link->deadline() != never;
        sharers += lately;
        packets += p->lately;
        if (p->lately > most) {
            most = p->lately;
            busiest = p;
        }
        p->lately = 0;
        if (!p->active) p->link->rest();
        return !p->active;
    });
    const bool other_fds = most >= express_packets && most > packets / 2 && io_.prefer(busiest->where);
    const auto share_of = [&](std::size_t all) {
        return std::max(all / std::max<std::size_t>(sharers, 1), least_grant);
    };
    for (peer *p : active_) { // a link caps both
        p->link->set_grant(share_of(budget_));
        p->link->set_room(share_of(most_under_way));
    }
    next_share_ = now + share_period;
    watch_for_floods(now);
    rest_at_ = std::min(active_.empty() ? never : now + 2 * active_time, guard_.until());
    if (active_.empty()) {
        pool_.clear();
        trains_.rest();
    }
    return other_fds;
}

void net_transport::admit(entry_rules::sources_are who)
{
    if (!config_.filter) return;
    entry_rules rules{job_tag_, std::uint32_t(config_.rank), who, {}};
    if (who != entry_rules::sources_are::any) add_sources(&rules);
    io_.admit(rules);
}

// All ranks of the job if they are few enough, else those that were spoken to.
void net_transport::add_sources(entry_rules *rules)
{
    const int ranks = config_.ranks ? config_.ranks() : 0;
    if (ranks > 0 && std::size_t(ranks) <= most_sources) {
        rules->who = entry_rules::sources_are::all;
        peer_address where;
        for (int r = 0; r < ranks; ++r)
            if (r != config_.rank && config_.lookup(r, &where)) rules->sources.emplace_back(where);
        return;
    }
    for (const peer *p : active_)
        if (rules->sources.size() < most_sources) rules->sources.push_back(p->where);
    for (const auto &[rank, p] : peers_)
        if (!p.active && rules->sources.size() < most_sources) rules->sources.push_back(p.where);
}

void net_transport::watch_for_floods(nanoseconds now)
{
    refresh_counts();
    const std::uint64_t refused = drops_.not_ours + drops_.forged + drops_.malformed + drops_.replayed;
    switch (guard_.look(now, refused, drops_.kept_out)) {
    case flood_guard::order::none:
        return;
    case flood_guard::order::close:
        return admit(entry_rules::sources_are::some);
    case flood_guard::order::open:
        return admit(entry_rules::sources_are::any);
    }
}

bool net_transport::arm(bool)
{
    next_deadline_ = never;
    for (peer *p : active_) next_deadline_ = std::min(next_deadline_, p->link->deadline());
    if (next_deadline_ < blocked_until_ || any_waits_) next_deadline_ = blocked_until_;
    return !faults_.holding();
}

nanoseconds net_transport::deadline() const { return std::min({next_deadline_, rest_at_, queueing_.until()}); }

void net_transport::peer_gone(int rank, bool cleanly)
{
    if (polling_) return gone_.emplace_back(rank, cleanly), void();
    auto known = peers_.find(rank);
    if (known == peers_.end()) return;
    peer dying = std::move(known->second);
    std::erase(touched_, &known->second);
    std::erase(active_, &known->second);
    if (last_ == &known->second) last_rank_ = -1;
    peers_.erase(known);
    dying.link->settle_all(cleanly ? SEA_OK : SEA_ERR_DEAD);
}

bool net_transport::idle() const
{
    return std::all_of(active_.begin(), active_.end(), [](peer *p) { return p->link->idle(); });
}

void net_transport::close()
{
    closed_ = true;
    refresh_counts();
    nanoseconds now = io_.now();
    for (auto &[rank, p] : peers_) {
        if (p.link->peer_closed()) continue;
        batch_[0].room = {};
        p.link->build_close(now, &batch_[0]);
        io_.send(p.where, std::span(batch_.get(), 1));
    }
}

std::unique_ptr<transport> make_net_transport(net_config config, sink &to, int *status)
{
    auto refuse = [&](int s) {
        if (status) *status = s;
        return nullptr;
    };
    if ((config.udp_fd < 0 && !config.port) || config.rank < 0 || !config.lookup || !config.counts)
        return refuse(
            fail(SEA_ERR_INVALID, "the net transport needs a socket, a rank, a way to find peers and a page"));
    if (!crypto_ready()) return refuse(fail(SEA_ERR_SYSTEM, "the cryptographic libraries do not work here"));
    if (status) *status = SEA_OK;
    return std::make_unique<net_transport>(std::move(config), to);
}

} // namespace onesea::net
