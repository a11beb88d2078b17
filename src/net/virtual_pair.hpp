// SPDX-License-Identifier: Apache-2.0
// Tests only: two transports in virtual time, over ports that keep what is sent until it arrives, and may refuse or
// lose it. Rank 2 is known, too, but nobody answers for it unless it joins.
#pragma once

#include "net/port.hpp"
#include "net/test_pair.hpp"

#include <deque>

namespace onesea::net::test {

struct arriving {
    nanoseconds at;
    std::vector<std::uint64_t> words;
    std::size_t bytes;
    endpoint from;
    std::size_t charge() const { return bytes + (bytes / default_mtu + 1) * packet_overhead; } // a train is cut
};

struct virtual_port final : datagram_port {
    nanoseconds *clock = nullptr;
    std::vector<virtual_port *> others; // that can be reached
    endpoint own;
    std::size_t room = 8 << 20;
    std::deque<arriving> wire;
    arriving current;
    unsigned takes = ~0u; // so many packets before it refuses
    bool loses = false;
    unsigned sent = 0, refused = 0, sleeps = 0;
    nanoseconds spacing = 0;                   // at least, between packets that come
    nanoseconds longest_wait = 0;              // of a packet that had come
    std::size_t charged = 0, most_charged = 0; // of what is on the wire to here
    endpoint preferred;

    bool gso() const override { return true; }
    std::size_t receive_bytes() const override { return room; }
    nanoseconds now() const override { return *clock; }
    void slept() override { ++sleeps; }
    bool prefer(const endpoint &peer) override { return preferred = peer, false; }

    unsigned send(const endpoint &to, std::span<const datagram> packets) override
    {
        unsigned n = 0;
        for (const datagram &d : packets) {
            if (takes == 0) return ++refused, n;
            --takes;
            ++n;
            ++sent;
            for (virtual_port *each : others)
                if (!loses && each->own == to) each->put_on_wire(d, own);
        }
        return n;
    }
    void put_on_wire(const datagram &d, const endpoint &from)
    {
        const nanoseconds after = wire.empty() ? 0 : wire.back().at + spacing;
        arriving a{std::max(*clock + 10 * microsecond, after), std::vector<std::uint64_t>(d.bytes / 8 + 1), d.bytes,
                   from};
        auto *to = reinterpret_cast<std::byte *>(a.words.data());
        for (unsigned i = 0; i < d.count; ++i) to = std::copy(d.pieces[i].begin(), d.pieces[i].end(), to);
        charged += a.charge();
        most_charged = std::max(most_charged, charged);
        wire.push_back(std::move(a));
    }
    bool receive_batch(const aside &wanted, arrivals *batch) override
    {
        if (wire.empty() || wire.front().at > *clock) return false;
        current = std::move(wire.front());
        wire.pop_front();
        charged -= current.charge();
        longest_wait = std::max(longest_wait, *clock - current.at);
        batch->bytes = {reinterpret_cast<std::byte *>(current.words.data()), current.bytes};
        batch->segment = current.bytes;
        batch->from = current.from;
        batch->parted = put_aside(wanted, batch->bytes);
        return true;
    }
};

inline peer_address address_of(int rank, std::uint32_t mtu)
{
    peer_address a;
    a.address[10] = a.address[11] = 0xff;
    a.address[12] = 10;
    a.address[15] = std::uint8_t(rank + 1);
    a.port = 1000;
    a.mtu = mtu;
    return a;
}

class virtual_pair : public testing::Test {
  protected:
    nanoseconds now = second;
    virtual_port ports[3];
    memory_sink sinks[3];
    counts_page counts[3];
    net_config configs[3];
    std::unique_ptr<transport> ends[3];

    explicit virtual_pair(std::uint32_t mtu = 1500)
    {
        EXPECT_TRUE(crypto_ready());
        for (int i = 0; i < 3; ++i) {
            ports[i].clock = &now;
            ports[i].own = endpoint(address_of(i, mtu));
            net_config &c = configs[i];
            c.rank = i;
            c.port = &ports[i];
            c.own_mtu = mtu;
            c.counts = &counts[i];
            c.ranks = [] { return 3; };
            c.lookup = [mtu](int rank, peer_address *where) {
                if (rank < 0 || rank > 2) return false;
                *where = address_of(rank, mtu);
                return true;
            };
        }
        for (int i = 0; i < 2; ++i) join(i);
    }

    // Of one that is there already: again, before anything was sent.
    void join(int i)
    {
        sinks[i].memory.resize(8 << 20);
        for (int other = 0; other < 3 && !ends[i]; ++other)
            if (ends[other]) {
                ports[other].others.push_back(&ports[i]);
                ports[i].others.push_back(&ports[other]);
            }
        ends[i] = make_net_transport(configs[i], sinks[i]);
    }

    // Polls where something is due or arrives, as a process that sleeps in between.
    template <class Done>
    bool run(Done done, nanoseconds until)
    {
        while (!done()) {
            nanoseconds next = never;
            for (auto &end : ends) {
                if (!end) continue;
                while (end->poll(now)) {
                }
                end->arm(false);
                next = std::min(next, std::max(end->deadline(), now + 1));
                end->disarm();
            }
            for (auto &p : ports)
                if (!p.wire.empty()) next = std::min(next, p.wire.front().at);
            if (done()) return true;
            if (next > until) return now = until, false;
            now = std::max(now, next);
        }
        return true;
    }
};

} // namespace onesea::net::test
