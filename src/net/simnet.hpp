// SPDX-License-Identifier: Apache-2.0
// A network for tests: two links, virtual time, damage by seed. The same seed gives the same run.
//
// Datagrams really are sealed, copied into an inbox that is as small as a socket buffer, checked and opened, as the UDP
// driver does it. A side that is stopped takes nothing out of its inbox and runs no timers. `verdict` can decide about
// each datagram before chance does, `lateness` make it arrive behind later ones.
#pragma once

#include "net/train.hpp"

#include <deque>
#include <functional>
#include <queue>
#include <random>

namespace onesea::net {

struct sim_rates {
    double loss = 0, dup = 0, corrupt = 0;
    nanoseconds delay = 10 * microsecond, jitter = 0; // jitter beyond the spacing of packets reorders them
    std::size_t inbox_bytes = 4 << 20;                // as charged; more is dropped
};

class simnet {
  public:
    using decide = std::function<bool(int from, unsigned nth)>; // false: the nth datagram of that side is lost
    using put_off = std::function<nanoseconds(int from, unsigned nth)>;

    simnet(std::uint64_t seed, const sim_rates &rates, sink &sink0, sink &sink1, secure_mode mode = secure_mode::auth,
           std::size_t datagram_limit = 1472, nanoseconds give_up = default_give_up,
           std::array<const path_tuning *, 2> tunings = {&usual_tuning, &usual_tuning}, bool trains = false,
           std::uint32_t trust = 0);
    ~simnet();

    nanoseconds now() const { return now_; }
    link &at(int side) { return *sides_[side].link; }
    std::uint64_t sent(int side) const { return sides_[side].sent; }
    std::uint64_t refused() const { return refused_; }
    std::uint64_t lent() const { return lent_; } // datagrams of which pages went instead of copies
    std::uint64_t bare() const { return bare_; } // trains without headers that have come
    void join_trains(bool on) { joins_ = on; }   // those with headers come in one piece, too
    void set_verdict(decide d) { verdict_ = std::move(d); }
    void set_lateness(put_off l) { lateness_ = std::move(l); }
    void stop(int side, nanoseconds until) { sides_[side].stopped_until = until; }
    void partition(nanoseconds until) { partition_until_ = until; }
    void narrow(std::size_t bytes) { most_bytes_ = bytes; } // longer datagrams are dropped

    void send(int side, const outgoing &message);
    void flush(int side);
    void hurry(int side, bool answers = false);

    // Runs until `done`, or until nothing is left to happen, or until that time; true if `done`.
    bool run(const std::function<bool()> &done, nanoseconds until);

  private:
    struct flying {
        nanoseconds at;
        std::uint64_t order;
        int to;
        std::vector<std::uint64_t> words;
        std::size_t bytes;
        struct run {
            std::size_t at;
            iovec of;
        };
        std::vector<run> lent; // is read when it arrives (page_lender.hpp)
        bool operator<(const flying &o) const { return at != o.at ? at > o.at : order > o.order; }
    };
    struct end {
        std::unique_ptr<net::link> link;
        std::deque<flying> inbox;
        train_collector trains;
        std::size_t inbox_bytes = 0;
        nanoseconds stopped_until = 0;
        unsigned sent = 0;
    };
    sim_rates rates_;
    std::size_t most_bytes_ = std::size_t(-1);
    std::mt19937_64 random_;
    crypto cipher_;
    bundle_pool pool_;
    end sides_[2];
    std::priority_queue<flying> wire_;
    decide verdict_;
    put_off lateness_;
    nanoseconds now_ = 1 * second, partition_until_ = 0;
    std::uint64_t order_ = 0, refused_ = 0, lent_ = 0, bare_ = 0;
    bool taking_ = false, joins_ = false;

    bool chance(double rate) { return rate > 0 && std::uniform_real_distribution<>(0, 1)(random_) < rate; }

    nanoseconds next_event() const;
    void put_on_wire(int from, const datagram &d);
    void put_on_wire(int from, std::span<const iovec> pieces, std::size_t size, bool lasting);
    void pump(int side);
    // What arrived as the packet that it carries, with its header; empty: there is none, or not yet.
    std::span<std::byte> packet_of(int to, std::span<std::byte> bytes, packet_header *header, bool *whole);
    void take(int to, flying &f);
    void poll(int i);
};

} // namespace onesea::net
