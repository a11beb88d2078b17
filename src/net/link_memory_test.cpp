// SPDX-License-Identifier: Apache-2.0
// What a link costs that nobody uses at the moment: there may be one for each of thousands of peers.
#include "net/link.hpp"

#include "base/clock.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <malloc.h>
#include <memory>
#include <vector>

namespace onesea::net {
namespace {

constexpr std::size_t idle_link_bytes = 1400; // of the heap, its object included

struct silent_sink final : sink {
    int frames = 0;
    void receive(int, const frame &, std::span<const std::byte>) override { ++frames; }
};

struct conversation {
    crypto cipher{secure_mode::off};
    bundle_pool pool;
    silent_sink sink;
    pair_row row{};
    std::uint64_t now = now_ns();
    std::unique_ptr<datagram> d = std::make_unique<datagram>();
    alignas(64) std::byte packet[2048];

    std::unique_ptr<link> make(std::uint32_t own, std::uint32_t peer)
    {
        link_config c;
        c.own_rank = own;
        c.peer_rank = peer;
        c.row = &row;
        return std::make_unique<link>(c, cipher, sink, pool);
    }
    bool carry(link &from, link &to, bool lose = false)
    {
        if (!from.build(now, d.get())) return false;
        if (lose) return true;
        std::size_t bytes = 0;
        for (unsigned i = 0; i < d->count; ++i) {
            std::memcpy(packet + bytes, d->pieces[i].data(), d->pieces[i].size());
            bytes += d->pieces[i].size();
        }
        packet_header header;
        packet_view view;
        EXPECT_TRUE(read_header({packet, bytes}, false, &header));
        EXPECT_EQ(defect::none, read_packet({packet, bytes}, false, header, &view));
        to.receive(view, now);
        to.end_of_burst();
        return true;
    }
    void talk(link &a, link &b)
    {
        const std::uint64_t word = 1;
        outgoing m;
        m.head.type = frame_type::put;
        m.payload = &word;
        m.bytes = sizeof word;
        for (link *from : {&a, &b}) from->send(m);
        for (int round = 0; round < 1000 && !(a.idle() && b.idle()); ++round) {
            now += 100 * microsecond;
            while (carry(a, b) || carry(b, a)) {
            }
            a.on_time(now);
            b.on_time(now);
        }
        EXPECT_TRUE(a.idle() && b.idle());
        a.rest();
        b.rest();
    }
};

TEST(LinkMemoryTest, an_idle_link_costs_little)
{
    conversation c;
    std::vector<std::unique_ptr<link>> links;
    links.reserve(2000);
    auto add = [&](unsigned pairs) {
        for (unsigned i = 0; i < pairs; ++i) {
            links.push_back(c.make(0, 1));
            links.push_back(c.make(1, 0));
            c.talk(*links[links.size() - 2], *links.back());
        }
    };
    add(10); // what all links share is there now
    const std::size_t before = mallinfo2().uordblks;
    add(500);
    const std::size_t after = mallinfo2().uordblks;
    EXPECT_EQ(2 * 510, c.sink.frames);
    if (before == 0) GTEST_SKIP() << "another allocator than that of the C library";
    EXPECT_LE((after - before) / 1000, idle_link_bytes);
    RecordProperty("bytes", int((after - before) / 1000));
}

// It is remembered for a while, and all that went behind it.
TEST(LinkMemoryTest, a_packet_taken_for_lost_is_forgotten_when_the_link_rests)
{
    conversation c;
    const auto a = c.make(0, 1), b = c.make(1, 0);
    const auto send_many = [&](bool lose_one) {
        for (int i = 0; i < 300; ++i) {
            outgoing m;
            m.head.type = frame_type::put;
            a->send(m);
            a->flush();
            EXPECT_TRUE(c.carry(*a, *b, lose_one && i == 0));
        }
        c.talk(*a, *b);
        c.pool.clear();
        return mallinfo2().uordblks;
    };
    constexpr std::size_t entry_bytes = 32; // about, of each packet that is remembered
    const std::size_t before = send_many(false), after = send_many(true);
    EXPECT_EQ(c.row.counts.packets_lost, 1u);
    if (before == 0) GTEST_SKIP() << "another allocator than that of the C library";
    EXPECT_LT(after, before + 300 * entry_bytes / 2);
}

} // namespace
} // namespace onesea::net
