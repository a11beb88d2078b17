// SPDX-License-Identifier: Apache-2.0
// A kernel that takes nothing more for a while: two transports over ports in virtual time, of which one refuses.
#include "net/port.hpp"
#include "net/test_pair.hpp"
#include "net/train.hpp"

#include <deque>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

struct arriving {
    nanoseconds at;
    std::vector<std::uint64_t> words;
    std::size_t bytes;
};

struct refusing_port final : datagram_port {
    nanoseconds *clock = nullptr;
    refusing_port *other = nullptr;
    endpoint own;
    std::deque<arriving> wire;
    arriving current;
    unsigned takes = ~0u; // so many packets before it refuses
    bool loses = false;
    unsigned sent = 0, refused = 0, sleeps = 0;

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
        arriving a{*clock + 10 * microsecond, std::vector<std::uint64_t>(d.bytes / 8 + 1), d.bytes};
        auto *to = reinterpret_cast<std::byte *>(a.words.data());
        for (unsigned i = 0; i < d.count; ++i) to = std::copy(d.pieces[i].begin(), d.pieces[i].end(), to);
        wire.push_back(std::move(a));
    }
    bool receive_batch(arrivals *batch) override
    {
        if (wire.empty() || wire.front().at > *clock) return false;
        current = std::move(wire.front());
        wire.pop_front();
        batch->bytes = {reinterpret_cast<std::byte *>(current.words.data()), current.bytes};
        batch->segment = current.bytes;
        batch->from = other->own;
        return true;
    }
};

peer_address address_of(int rank)
{
    peer_address a;
    a.address[10] = a.address[11] = 0xff;
    a.address[12] = 10;
    a.address[15] = std::uint8_t(rank + 1);
    a.port = 1000;
    a.mtu = 1500;
    return a;
}

struct refused_send : testing::Test {
    nanoseconds now = second;
    refusing_port ports[2];
    memory_sink sinks[2];
    counts_page counts[2];
    std::unique_ptr<transport> ends[2];
    const std::vector<std::byte> little = noise(2000), much = noise(150'000);

    refused_send()
    {
        EXPECT_TRUE(crypto_ready());
        for (int i = 0; i < 2; ++i) {
            ports[i].clock = &now;
            ports[i].other = &ports[1 - i];
            ports[i].own = endpoint(address_of(i));
            sinks[i].memory.resize(1 << 20);
            net_config c;
            c.rank = i;
            c.port = &ports[i];
            c.own_mtu = 1500;
            c.counts = &counts[i];
            c.ranks = [] { return 3; };
            c.lookup = [](int rank, peer_address *where) {
                if (rank < 0 || rank > 2) return false;
                *where = address_of(rank);
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
    void warm_up()
    {
        for (int i = 0; i < 20; ++i) {
            wait_for w;
            ends[0]->send(1, put(0, little, &w));
            ASSERT_TRUE(run([&] { return w.status != 1; }, now + second));
        }
        run([] { return false; }, now + 10 * millisecond);
    }
    // Ends when rank 0 has sent something more.
    nanoseconds time_until_it_sends()
    {
        const auto before = ports[0].sent;
        const auto begin = now;
        EXPECT_TRUE(run([&] { return ports[0].sent != before; }, now + second));
        return now - begin;
    }
};

} // namespace

TEST_F(refused_send, is_tried_again_soon_behind_others_before_anything_was_heard)
{
    wait_for w;
    ports[0].takes = 50;
    ends[0]->send(1, put(0, much, &w));
    ports[1].loses = true;
    ports[0].takes = ~0u;
    EXPECT_LE(time_until_it_sends(), retry_send);
    ports[1].loses = false;
    ASSERT_TRUE(run([&] { return w.status != 1; }, now + second));
}

// Rank 2 never answers. What waits for rank 1 was not tried while nothing was taken.
TEST_F(refused_send, lets_what_is_for_other_peers_wait_no_longer_than_itself)
{
    warm_up();
    wait_for first, to_another, second_one;
    ends[0]->send(1, put(0, little, &first));
    ports[0].takes = 0;
    ends[0]->send(2, put(0, little, &to_another));
    ASSERT_EQ(ports[0].refused, 1u);
    ends[0]->send(1, put(0, much, &second_one));
    ports[0].takes = ~0u;
    ports[1].loses = true; // no answer reminds rank 0 of it
    run([] { return false; }, now + retry_send);
    EXPECT_GT(ports[0].sent, 90u) << "all but what is for rank 2";
    ports[1].loses = false;
    ASSERT_TRUE(run([&] { return second_one.status != 1; }, now + second));
    ends[0]->peer_gone(2, true);
}

TEST_F(refused_send, is_tried_again_soon_where_it_was_a_probe)
{
    warm_up();
    nanoseconds times[2] = {};
    for (bool refuse : {false, true}) {
        wait_for w;
        const auto begin = now;
        ports[0].loses = true;
        ends[0]->send(1, put(0, little, &w));
        ports[0].loses = false;
        ports[0].takes = refuse ? 0 : ~0u;
        ASSERT_TRUE(run([&] { return !refuse || ports[0].refused > 0; }, now + second));
        ports[0].takes = ~0u;
        ASSERT_TRUE(run([&] { return w.status != 1; }, now + second));
        times[refuse] = now - begin;
        run([] { return false; }, now + 10 * millisecond);
    }
    EXPECT_LE(times[1], times[0] + 2 * retry_send);
}

using sleeping_transport = refused_send;
TEST_F(sleeping_transport, tells_its_port_when_it_wakes)
{
    const auto before = ports[0].sleeps;
    ends[0]->arm(false);
    EXPECT_EQ(ports[0].sleeps, before);
    ends[0]->disarm();
    EXPECT_EQ(ports[0].sleeps, before + 1);
}
