// SPDX-License-Identifier: Apache-2.0
// Memory that the program goes on changing while it is sent, as a get of a table that is in use does: what was tagged
// and what the kernel copies afterwards differ.
#include "net/link_world.hpp"

#include "base/clock.hpp"
#include "base/wide_copy.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

constexpr std::size_t live = 6000;

struct live_world : world {
    live_world(secure_mode mode, std::size_t limit, bool trains, std::uint32_t trust = 0)
        : world(1, {}, mode, limit, default_give_up, {&usual_tuning, &usual_tuning}, trains, trust)
    {
        for (int side : {0, 1}) net.at(side).set_grant(768 * 1024);
        b.live = live;
        net.set_verdict([this](int from, unsigned) { // between the tag and the copy
            if (from == 0) a.requests.back().data[live] ^= 1;
            return true;
        });
    }
};

struct unhearing final : sink {
    void receive(int, const frame &, std::span<const std::byte>) override {}
};

} // namespace

TEST(link, sends_memory_that_changes_all_the_time)
{
    for (secure_mode mode : {secure_mode::off, secure_mode::auth, secure_mode::encrypt})
        for (std::size_t limit : {std::size_t(1472), std::size_t(8972), most_datagram})
            for (std::size_t bytes : {8'000, 16'000, 200'000})
                for (bool trains : {false, true}) {
                    SCOPED_TRACE(testing::Message() << "mode " << int(mode) << ", " << bytes << " bytes, datagrams of "
                                                    << limit << (trains ? ", trains" : ""));
                    live_world w(mode, limit, trains);
                    w.a.ask(bytes, true, false, false);
                    ASSERT_TRUE(w.finish(second));
                    w.expect_all_good();
                    EXPECT_LE(w.net.refused(), 1u) << "what goes again is tagged as it is sent";
                }
}

// What was lent is read when it arrives, late or twice, when the program has long put something else there.
TEST(link, lends_memory_only_until_it_is_acknowledged)
{
    for (secure_mode mode : {secure_mode::off, secure_mode::auth, secure_mode::encrypt})
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            SCOPED_TRACE(testing::Message() << "mode " << int(mode) << ", seed " << seed);
            const double rate = seed % 2 ? 0 : 0.05;
            world w(seed, {.loss = rate, .dup = 0.1, .jitter = 3 * millisecond}, mode, most_datagram, default_give_up,
                    {&usual_tuning, &usual_tuning}, false, 4);
            for (int side : {0, 1}) w.net.at(side).set_grant(768 * 1024);
            for (std::size_t bytes : {100'000, 30'000, 2'000'000, 64'000, 24'000}) {
                w.a.ask(bytes, true, false, false);
                if (bytes >= 100'000) continue;
                ASSERT_TRUE(w.finish());
            }
            ASSERT_TRUE(w.finish());
            w.expect_all_good();
            EXPECT_EQ(w.net.lent() > 0, mode != secure_mode::encrypt) << "what is hidden is in a copy";
        }
}

// Also head and tail, which were written where the next datagram is built.
TEST(link, builds_datagrams_that_stay_as_they_are_until_they_are_acknowledged)
{
    unhearing nobody;
    for (secure_mode mode : {secure_mode::off, secure_mode::auth}) {
        crypto cipher(mode);
        bundle_pool pool;
        link_config c;
        c.own_rank = 1;
        c.peer_rank = 2;
        c.out = derive_keys(mode, {}, 1, 2, 0);
        c.max_datagram = most_datagram;
        net::link sender(c, cipher, nobody, pool);
        const std::vector<std::byte> data(200'000, std::byte(7));
        outgoing m;
        m.head.type = frame_type::put;
        m.payload = data.data();
        m.bytes = data.size();
        m.borrow = true;
        sender.send(m);
        std::vector<std::vector<std::span<const std::byte>>> built;
        auto d = std::make_unique<datagram>();
        while (sender.build(now_ns(), d.get())) {
            EXPECT_TRUE(d->lasting);
            EXPECT_EQ(d->alone, built.empty()) << "nothing is acknowledged yet";
            built.emplace_back(d->pieces.begin(), d->pieces.begin() + d->count);
            std::ranges::fill(d->head, std::byte(0xee));
            std::ranges::fill(d->tail, std::byte(0xee));
        }
        EXPECT_GE(built.size(), 3u);
        for (const auto &pieces : built) {
            std::vector<std::uint64_t> words(1 << 13);
            auto *at = reinterpret_cast<std::byte *>(words.data());
            std::size_t bytes = 0;
            for (const auto &p : pieces) {
                if (!p.empty()) std::memcpy(at + bytes, p.data(), p.size());
                bytes += p.size();
            }
            packet_header header;
            packet_view view;
            ASSERT_TRUE(read_header({at, bytes}, cipher.tagged(), &header));
            EXPECT_TRUE(!cipher.tagged() || cipher.open(c.out, header.number, {at, bytes}));
            EXPECT_EQ(read_packet({at, bytes}, cipher.tagged(), header, &view), defect::none);
        }
    }
}

TEST(link, lends_only_what_the_program_lent)
{
    unhearing nobody;
    crypto cipher(secure_mode::auth);
    for (const bool borrow : {false, true}) {
        bundle_pool pool;
        link_config c;
        c.max_datagram = most_datagram;
        net::link sender(c, cipher, nobody, pool);
        const std::vector<std::byte> data(40'000, std::byte(7));
        outgoing m;
        m.payload = data.data();
        m.bytes = data.size();
        m.borrow = borrow;
        sender.send(m);
        auto d = std::make_unique<datagram>();
        ASSERT_TRUE(sender.build(now_ns(), d.get()));
        EXPECT_EQ(d->lasting, borrow);
    }
}

TEST(link, copies_what_no_cache_holds_and_its_peer_has_more_to_do_with)
{
    unhearing nobody;
    std::uint64_t mib = 1;
    while (!passes_caches(std::uint16_t(mib))) ++mib;
    const std::vector<std::byte> data(mib << 20);
    auto is_lent = [&](secure_mode mode, std::size_t bytes, bool lands) {
        crypto cipher(mode);
        bundle_pool pool;
        link_config c;
        c.max_datagram = most_datagram;
        net::link sender(c, cipher, nobody, pool);
        outgoing m;
        m.payload = data.data();
        m.bytes = bytes;
        m.borrow = true;
        m.lands = lands;
        sender.send(m);
        auto d = std::make_unique<datagram>();
        EXPECT_TRUE(sender.build(now_ns(), d.get()));
        return d->lasting;
    };
    for (const bool lands : {false, true}) {
        EXPECT_TRUE(is_lent(secure_mode::off, data.size() - 1, lands));
        EXPECT_FALSE(is_lent(secure_mode::off, data.size(), lands));
        EXPECT_TRUE(is_lent(secure_mode::auth, data.size() - 1, lands));
        EXPECT_EQ(is_lent(secure_mode::auth, data.size(), lands), lands);
    }
}

// One packet each, which only a probe brings again: a loss as any other.
TEST(link, is_careful_for_a_while_once_memory_has_changed)
{
    live_world w(secure_mode::auth, most_datagram, false, 256);
    for (int i = 0; i < 6000; ++i) {
        w.a.ask(16'000, true, false, false);
        ASSERT_TRUE(w.finish(second));
    }
    w.expect_all_good();
    EXPECT_LE(w.net.refused(), 6u) << "after 256 packets, then after twice as many each time";
}
