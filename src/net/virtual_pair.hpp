// SPDX-License-Identifier: Apache-2.0
// Tests only: two transports in virtual time, over ports that keep what is sent until it arrives, and may refuse or
// lose it. Rank 2 is known, too, but nobody answers for it.
#pragma once

#include "net/port.hpp"
#include "net/test_pair.hpp"

#include <deque>

namespace onesea::net::test {

struct arriving {
    nanoseconds at;
    std::vector<std::uint64_t> words;
    std::size_t bytes;
};

struct virtual_port final : datagram_port {
    nanoseconds *clock = nullptr;
    virtual_port *other = nullptr;
    endpoint own;
    std::deque<arriving> wire;
    arriving current;
    unsigned takes = ~0u; // so many packets before it refuses
    bool loses = false;
    unsigned sent = 0, refused = 0, sleeps = 0;
    nanoseconds spacing = 0;      // at least, between packets that come
    nanoseconds longest_wait = 0; // of a packet that had come

    bool gso() const override { return true; }
    std::size_t receive_bytes() const override { return 8 << 20; }
    nanoseconds now() const override { return *clock; }
    void slept() override { ++sleeps; }

    unsigned send(const endpoint &, std::span<const datagram> packets) override
    {
        unsigned n = 0;
        for (const datagram &d : packets) {
            if (takes == 0) return ++refused, n;
            --takes;
            ++n;
            ++sent;
            if (!loses) other->put_on_wire(d);
        }
        return n;
    }
    void put_on_wire(const datagram &d)
    {
        const nanoseconds after = wire.empty() ? 0 : wire.back().at + spacing;
        arriving a{std::max(*clock + 10 * microsecond, after), std::vector<std::uint64_t>(d.bytes / 8 + 1), d.bytes};
        auto *to = reinterpret_cast<std::byte *>(a.words.data());
        for (unsigned i = 0; i < d.count; ++i) to = std::copy(d.pieces[i].begin(), d.pieces[i].end(), to);
        wire.push_back(std::move(a));
    }
    bool receive_batch(const aside &wanted, arrivals *batch) override
    {
        if (wire.empty() || wire.front().at > *clock) return false;
        current = std::move(wire.front());
        wire.pop_front();
        longest_wait = std::max(longest_wait, *clock - current.at);
        batch->bytes = {reinterpret_cast<std::byte *>(current.words.data()), current.bytes};
        batch->segment = current.bytes;
        batch->from = other->own;
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
    virtual_port ports[2];
    memory_sink sinks[2];
    counts_page counts[2];
    std::unique_ptr<transport> ends[2];

    explicit virtual_pair(std::uint32_t mtu = 1500)
    {
        EXPECT_TRUE(crypto_ready());
        for (int i = 0; i < 2; ++i) {
            ports[i].clock = &now;
            ports[i].other = &ports[1 - i];
            ports[i].own = endpoint(address_of(i, mtu));
            sinks[i].memory.resize(8 << 20);
            net_config c;
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
            ends[i] = make_net_transport(c, sinks[i]);
        }
    }

    // Polls where something is due or arrives, as a process that sleeps in between.
    template <class Done>
    bool run(Done done, nanoseconds until)
    {
        while (!done()) {
            nanoseconds next = never;
            for (int i = 0; i < 2; ++i) {
                while (ends[i]->poll(now)) {
                }
                ends[i]->arm(false);
                next = std::min(next, std::max(ends[i]->deadline(), now + 1));
                ends[i]->disarm();
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
