// SPDX-License-Identifier: Apache-2.0
// Drives the links over one UDP socket: tells datagrams apart, opens and seals them, batches sends, runs timers.
//
// A datagram is dropped before anything is made of it unless its header fits, its job and target are ours, and its tag
// is right under the keys of its claimed source. Only then a link is made for a peer that was silent so far.
#include "net/net_transport.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/faults.hpp"
#include "net/flood_guard.hpp"
#include "net/link.hpp"
#include "net/queueing.hpp"
#include "net/socket_filter.hpp"
#include "net/socket_io.hpp"
#include "net/train.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace onesea::net {
namespace {

constexpr unsigned batch_size = 48; // datagrams built before a send; 46 of 1472 bytes fill the largest one
constexpr std::size_t room_bytes = most_datagram + max_ack_bytes + gso_bytes;
constexpr std::size_t bytes_per_poll = 256 * 1024; // a sixth of the usual window: the sender never waits for an answer
constexpr std::size_t worth_another = 4096;        // bytes: behind a batch of that size there is often another
constexpr std::uint64_t share_period = millisecond;
constexpr std::uint64_t expecting_time = 50 * microsecond; // after a packet; some round trips
constexpr unsigned looks_when_expecting = 4;
constexpr unsigned express_packets = 16; // in a share_period: a peer with which it is worth to be connected

// What profile.cpp says may be set.
static_assert(path_tuning{}.fragment == gso_bytes && path_tuning{}.window >= least_grant);

class net_transport final : public transport {
  public:
    net_transport(net_config config, sink &to)
        : config_(std::move(config)), counts_(*config_.counts), drops_(counts_.process()), sink_(to),
          cipher_(config_.secure), job_tag_(derive_job_tag(config_.job_key)),
          socket_(config_.port ? nullptr
                               : std::make_unique<socket_io>(config_.udp_fd, config_.secure == secure_mode::off)),
          io_(config_.port ? *config_.port : *socket_), faults_(config_.faults),
          batch_(std::make_unique<datagram[]>(batch_size)), room_(std::make_unique<std::byte[]>(room_bytes)),
          budget_(io_.receive_bytes() / 2)
    {
        admit(entry_rules::sources_are::any);
    }

    std::string_view name() const override { return "net"; }
    std::uint32_t capabilities() const override { return 0; }
    bool reach(int rank) const override
    {
        peer_address where;
        return rank != config_.rank && config_.lookup(rank, &where);
    }
    std::size_t max_frame(int rank) const override
    {
        peer_address where;
        return config_.lookup(rank, &where) ? frame_room(datagram_limit(where)) : least_datagram - 100;
    }

    const path_tuning &tuning(int rank) const override
    {
        peer_address where;
        return tuning_of(mtu_to(config_.lookup(rank, &where) ? where : peer_address{}));
    }

    void send(int rank, const outgoing &message) override;
    void flush() override;
    void hurry(int rank, bool answers) override;
    std::uint8_t asked(int rank) const override
    {
        const auto known = peers_.find(rank);
        return known == peers_.end() ? std::uint8_t(0) : known->second.link->asked();
    }
    bool poll(nanoseconds now) override;
    wake_set wake_fds() const override { return io_.wake_fds(); }
    bool arm(bool for_memory) override;
    void disarm() override
    {
        io_.slept();
        queueing_.end();
    }
    nanoseconds deadline() const override;
    void peer_gone(int rank, bool cleanly) override;
    bool idle() const override;
    void close() override;
    void refresh_counts() override { drops_.kept_out.set(io_.dropped_before()); }

  private:
    struct peer {
        std::unique_ptr<net::link> link;
        endpoint where;
        int rank = -1;
        bool touched = false, active = false;
        bool due = false;    // it wants to send; more is to come first
        bool waits = false;  // the kernel took nothing when it was its turn
        unsigned lately = 0; // packets since the last look for the busiest peer
    };
    net_config config_;
    counts_page &counts_;
    process_counts &drops_;
    sink &sink_;
    crypto cipher_;
    std::uint32_t job_tag_;
    bundle_pool pool_;
    std::unique_ptr<socket_io> socket_;
    datagram_port &io_;
    fault_injector faults_;
    train_collector trains_;
    std::unique_ptr<datagram[]> batch_;
    std::unique_ptr<std::byte[]> room_; // where short packets are put together, next to each other
    std::unordered_map<int, peer> peers_;
    int last_rank_ = -1; // that find() was asked for, and what it found
    peer *last_ = nullptr;
    std::vector<peer *> touched_;
    std::vector<peer *> active_; // has work, a timer, or was heard of lately: nobody walks the others
    std::size_t budget_;
    nanoseconds next_share_ = 0, rest_at_ = never, next_deadline_ = never, blocked_until_ = 0, expecting_until_ = 0;
    queueing queueing_;
    flood_guard guard_;
    bool closed_ = false, polling_ = false;
    bool any_waits_ = false;                 // a peer, for blocked_until_
    std::vector<std::pair<int, bool>> gone_; // told while poll() was using their links
    std::vector<int> due_;

    std::uint32_t mtu_to(const peer_address &where) const;
    const path_tuning &tuning_of(std::uint32_t mtu) const { return config_.tuning.of(path_of_mtu(mtu)); }
    std::size_t datagram_limit(const peer_address &where) const;
    std::size_t frame_room(std::size_t datagram) const
    {
        std::size_t around = header_bytes + frame_bytes + cipher_.tag_size();
        return std::min(datagram - around, most_payload);
    }
    link_config link_config_for(int rank, const peer_address &where);
    peer *find(int rank);
    peer *make(int rank);
    void pump(peer &p, nanoseconds now);
    bool transmit(peer &p, unsigned n, nanoseconds now);
    std::size_t take(std::span<std::byte> arrived, std::size_t length, const endpoint &from, nanoseconds now);
    std::size_t take_train(const packet_header &header, std::span<std::byte> arrived, std::size_t length,
                           const endpoint &from, nanoseconds now);
    bool prove(const packet_header &header, std::span<std::byte> bytes, const endpoint &from);
    void receive(const packet_header &header, std::span<std::byte> packet, nanoseconds now);
    void touch(peer &p);
    void activate(peer &p);
    bool share_budget(nanoseconds now);
    void admit(entry_rules::sources_are who);
    void add_sources(entry_rules *rules);
    void watch_for_floods(nanoseconds now);
    void run_timers(nanoseconds now);
    bool take_all(nanoseconds now);
    void answer(nanoseconds now);
};

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

net_transport::peer *net_transport::find(int rank)
{
    if (rank == last_rank_) return last_;
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

void net_transport::pump(peer &p, nanoseconds now)
{
    const std::size_t most = std::min(gso_bytes, p.link->most_in_one_send());
    p.waits = now < blocked_until_ && p.link->may_build();
    any_waits_ |= p.waits;
    while (now >= blocked_until_) {
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
    if (sent == n) return true;
    while (n > sent) p.link->unbuild(batch_[--n]);
    blocked_until_ = now + retry_send;
    p.waits = any_waits_ = true;
    next_deadline_ = std::min(next_deadline_, blocked_until_);
    return false;
}

// Is it from whom it says? The tag proves it, and without tags the address must do.
bool net_transport::prove(const packet_header &header, std::span<std::byte> bytes, const endpoint &from)
{
    const peer *p = find(int(header.source));
    peer_address where;
    if (!p && !config_.lookup(int(header.source), &where)) return ++drops_.not_ours, false;
    const bool good =
        cipher_.tagged()
            ? cipher_.open(p ? p->link->keys_in()
                             : derive_keys(config_.secure, config_.job_key, header.source, header.target, 0),
                           header.number, bytes)
            : from == (p ? p->where : endpoint(where));
    if (!good) ++drops_.forged;
    return good;
}

// A packet that was proven.
void net_transport::receive(const packet_header &header, std::span<std::byte> packet, nanoseconds now)
{
    packet_view view;
    if (read_packet(packet, cipher_.tagged(), header, &view) != defect::none) return void(++drops_.malformed);
    auto rank = int(header.source);
    peer *p = find(rank);
    if (!p && !(p = make(rank))) return void(++drops_.not_ours); // it has ended this moment
    touch(*p);
    ++p->lately;
    const bool failed = p->link->has_failed();
    if (!p->link->receive(view, now)) ++drops_.replayed;
    if (header.flags & packet_flags::bundle)
        queueing_.came(rank, packet.size(), p->link->rest_follows(), header.flags & packet_flags::ask_ack, now);
    if (!failed && p->link->has_failed()) return sink_.unreachable(rank);
    if (!failed && p->link->peer_closed()) p->link->settle_all(SEA_OK);
}

// Takes in the datagram at the front of what arrived, or the train that begins there; how many bytes that were.
std::size_t net_transport::take(std::span<std::byte> arrived, std::size_t length, const endpoint &from, nanoseconds now)
{
    packet_header header;
    auto bytes = arrived.first(std::min(length, arrived.size()));
    bool ours = reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 == 0 && // strangers' sizes may have moved it
                read_header(bytes, cipher_.tagged(), &header) && header.job_tag == job_tag_ &&
                header.target == std::uint32_t(config_.rank) && header.source != header.target;
    if (!ours)
        ++drops_.not_ours;
    else if (header.train)
        return take_train(header, arrived, bytes.size(), from, now);
    else if (prove(header, bytes, from))
        receive(header, bytes, now);
    return bytes.size();
}

std::size_t net_transport::take_train(const packet_header &header, std::span<std::byte> arrived, std::size_t length,
                                      const endpoint &from, nanoseconds now)
{
    std::size_t here = length;
    auto packet = length == header.train ? close_up(arrived, header, &here) : std::span<std::byte>();
    if (packet.empty()) {
        if (!cipher_.tagged() && !prove(header, arrived.first(length), from)) return length; // no tag will tell later
        auto [taken, whole] = trains_.add(header, arrived.first(length));
        if (!taken) ++drops_.not_ours;
        packet = whole;
    }
    if (packet.empty()) return here;
    packet_header first;
    std::memcpy(&first, packet.data(), sizeof first);
    if (prove(first, packet, from)) receive(first, packet, now);
    return here;
}

// Takes in what has arrived, up to a limit; true if anything had. Where packets come one after the other the next one
// is expected: it is worth to look again at once.
bool net_transport::take_all(nanoseconds now)
{
    if (queueing_.goes_on(now)) return false;
    bool any = false;
    auto deliver = [&](std::span<std::byte> one, const endpoint &from) { take(one, one.size(), from, now); };
    auto use = [&](std::span<std::byte> arrived, std::size_t length, const endpoint &from) {
        while (!arrived.empty()) {
            const std::size_t one = std::min(length, arrived.size());
            if (faults_.active()) faults_.pass(arrived.first(one), from, deliver);
            arrived = arrived.subspan(faults_.active() ? one : take(arrived, length, from, now));
        }
    };
    unsigned looks = now < expecting_until_ ? looks_when_expecting : 1;
    for (std::size_t bytes = 1; bytes < bytes_per_poll;) {
        const std::size_t got = io_.receive(use);
        any |= got > 0;
        if (got == 0 && queueing_.may_begin()) {
            queueing_.begin(io_.now());
            break;
        }
        if (got == 0 && !any && --looks > 0) continue;
        // What was asked for is answered before the kernel is asked for more.
        if (got < worth_another || sink_.may_go_on()) break;
        bytes += got;
    }
    if (any) expecting_until_ = now + expecting_time;
    if (!any && faults_.active()) faults_.release(deliver);
    return any;
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

} // namespace

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
