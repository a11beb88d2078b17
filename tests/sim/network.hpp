// SPDX-License-Identifier: Apache-2.0
// A network of several hosts in virtual time, with one datagram port each. Everything that happens is a function of the
// seed and of what the hosts do.
//
// A datagram that leaves a port is lost (singly or in bursts), doubled, changed, delayed, kept for a replay, or led to
// a host that it is not for; what arrives waits in an inbox as small as a socket buffer. Ports refuse sends as a kernel
// without room does. Each host has its own clock, which may jump forward.
#pragma once

#include "net/port.hpp"

#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace onesea::sim {

using net::microsecond;
using net::millisecond;
using net::second;

// Rates are 0 .. 1 per datagram, unless said otherwise.
struct damage {
    double loss = 0;
    double burst = 0; // a burst begins, in which most are lost
    double dup = 0, corrupt = 0;
    double replay = 0; // comes again, much later
    double stray = 0;  // goes to some other host
    double refuse = 0; // per send: the port takes only a part, and nothing more for a while
    nanoseconds delay = 20 * microsecond, jitter = 0;
    nanoseconds latency = 0; // of a host's waking up, at most
    std::size_t inbox_bytes = 4 << 20;
    bool gso = true;
};

struct tally {
    std::uint64_t sent = 0, lost = 0, changed = 0, replayed = 0, strayed = 0, refused = 0, overflown = 0, in_trains = 0,
                  bare_trains = 0, parts = 0;
};

class network {
  public:
    using random_engine = std::mt19937_64;

    network(random_engine &random, const damage &wrong, unsigned hosts);
    ~network();

    nanoseconds now() const { return now_; }
    net::datagram_port &port(unsigned host);
    const tally &counts() const { return counts_; }
    std::uint64_t trace() const { return trace_; } // of all that was sent and when

    void block(unsigned from, unsigned to, nanoseconds until);
    void stop(unsigned host, nanoseconds until); // takes nothing and runs no timer
    void jump(unsigned host, nanoseconds by);    // its clock
    void remove(unsigned host);                  // what comes for it vanishes

    // When that host is to be served next, and that it was: `deadline` is by its own clock.
    nanoseconds serve_at(unsigned host) const;
    void served(unsigned host, nanoseconds deadline);
    nanoseconds local_time(unsigned host) const;
    nanoseconds stopped_until(unsigned host) const;

    nanoseconds next_arrival() const; // `never`: nothing is on its way
    void advance(nanoseconds to);     // what arrives until then is put into inboxes

  private:
    struct flying {
        nanoseconds at;
        std::uint64_t order;
        unsigned from, to;
        std::vector<std::uint64_t> words;
        std::size_t bytes;
        bool operator<(const flying &o) const { return at != o.at ? at > o.at : order > o.order; }
    };
    struct host;

    random_engine &random_;
    damage wrong_;
    std::vector<std::unique_ptr<host>> hosts_;
    std::vector<nanoseconds> blocked_; // [from][to]
    std::vector<bool> in_burst_;
    std::vector<flying> wire_; // a heap
    std::deque<flying> kept_;  // for replays
    nanoseconds now_ = second;
    std::uint64_t order_ = 0, trace_ = 0;
    tally counts_;

    bool chance(double rate);
    bool is_lost(std::size_t path);
    void launch(flying f, nanoseconds extra);
    void transmit(unsigned from, unsigned to, std::span<const std::byte> datagram);
    void arrive(flying &&f);
};

// Where the port of a host is, as peers see it.
net::peer_address address_of(unsigned host, std::uint32_t mtu);

} // namespace onesea::sim
