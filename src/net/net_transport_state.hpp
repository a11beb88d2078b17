// SPDX-License-Identifier: Apache-2.0
// Drives the links over one UDP socket: tells datagrams apart, opens and seals them, batches sends, runs timers.
//
// A datagram is dropped before anything is made of it unless its header fits, its job and target are ours, and its tag
// is right under the keys of its claimed source. Only then a link is made for a peer that was silent so far.
#pragma once

#include "net/faults.hpp"
#include "net/flood_guard.hpp"
#include "net/landing.hpp"
#include "net/link.hpp"
#include "net/net_transport.hpp"
#include "net/queueing.hpp"
#include "net/socket_io.hpp"
#include "net/train.hpp"

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace onesea::net {

inline constexpr unsigned batch_size = 48; // datagrams built before a send; 46 of 1472 bytes fill the largest one
inline constexpr std::size_t room_bytes = most_datagram + max_ack_bytes + gso_bytes;

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
        may_land_ = config_.secure != secure_mode::encrypt && !faults_.active(); // neither is done to a part
        admit(entry_rules::sources_are::any);
    }

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

    std::size_t max_copied_frame(int rank) override
    {
        const peer *p = find(rank);
        return p ? p->link->max_copied_frame() : max_frame(rank);
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
        bool due = false;   // it wants to send; more is to come first
        bool waits = false; // the kernel took nothing when it was its turn
        bool short_told = false;
        unsigned lately = 0; // packets both ways since the last look for the busiest peer
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
    landing landing_;
    flood_guard guard_;
    bool may_land_ = false;
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
    peer *find(int rank) { return rank == last_rank_ ? last_ : look_up(rank); }
    peer *look_up(int rank);
    [[gnu::cold]] peer *make(int rank);
    [[gnu::cold]] void tell_short(const peer &p) const;
    void pump(peer &p, nanoseconds now);
    bool transmit(peer &p, unsigned n, nanoseconds now);
    std::size_t take(std::span<std::byte> arrived, std::size_t length, const endpoint &from, nanoseconds now);
    [[gnu::noinline]] std::size_t take_train(const packet_header &header, std::span<std::byte> arrived,
                                             std::size_t length, const endpoint &from, nanoseconds now);
    [[gnu::noinline]] std::size_t take_bare_train(const packet_header &header, std::span<std::byte> arrived,
                                                  std::size_t length, const endpoint &from, nanoseconds now);
    [[gnu::noinline]] std::size_t take_unnamed(std::span<std::byte> arrived, std::size_t length, const endpoint &from,
                                               nanoseconds now);
    enum class joined { whole, split, one_by_one }; // how the datagrams of a train were when they came
    void take_whole(std::span<std::byte> packet, const endpoint &from, nanoseconds now, joined how);
    void note_train(const packet_header &header, bool whole);
    [[gnu::noinline]] bool take_parted(const datagram_port::arrivals &a, nanoseconds now);
    bool is_ours(std::span<const std::byte> datagram, packet_header *header) const;
    template <class Open>
    bool prove(const packet_header &header, const endpoint &from, Open &&open);
    bool prove(const packet_header &header, std::span<std::byte> bytes, const endpoint &from);
    void receive(const packet_header &header, std::span<std::byte> packet, nanoseconds now,
                 const std::byte *landed = nullptr);
    void touch(peer &p);
    void activate(peer &p);
    [[gnu::noinline]] bool share_budget(nanoseconds now);
    void admit(entry_rules::sources_are who);
    void add_sources(entry_rules *rules);
    void watch_for_floods(nanoseconds now);
    [[gnu::noinline]] void run_timers(nanoseconds now);
    bool take_all(nanoseconds now);
    void answer(nanoseconds now);
};

} // namespace onesea::net
