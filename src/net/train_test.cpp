// SPDX-License-Identifier: Apache-2.0
// Packets under one tag: they arrive whole or not at all, however they are cut, damaged, mixed or repeated on the way.
#include "net/train.hpp"

#include "net/test_pair.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sys/socket.h>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

using bytes = std::vector<std::byte>;
constexpr std::size_t packet_length = 1400;

// Rank 0's side of the conversation with rank 1 of a `pair`, so that a test decides what goes on the wire.
class train_maker {
  public:
    train_maker() : cipher_(secure_mode::auth), link_(config(), cipher_, nobody_, pool_) {}
    ~train_maker() { link_.settle_all(SEA_OK); }

    // The packets of a put of that data, joined if there are enough of them.
    std::vector<bytes> packets(std::uint64_t position, const bytes &data)
    {
        link_.send(put(position, data, nullptr));
        link_.flush();
        std::vector<datagram> built(64);
        std::vector<std::uint64_t> room(gso_bytes / 8);
        std::size_t n = 0, at = 0;
        for (; n < built.size(); at += built[n++].bytes) {
            built[n].room = std::as_writable_bytes(std::span(room)).subspan(at);
            if (!link_.build(now_ns(), &built[n])) break;
        }
        seal_open_packets(cipher_, link_.keys_out(), {built.data(), n}, true, true);
        std::vector<bytes> all;
        for (std::size_t i = 0; i < n; ++i) all.emplace_back(built[i].pieces[0].begin(), built[i].pieces[0].end());
        return all;
    }

  private:
    memory_sink nobody_;
    crypto cipher_;
    bundle_pool pool_;
    net::link link_;

    static link_config config()
    {
        job_key key{};
        key[31] = 1; // that of a pair
        link_config c;
        c.own_rank = 0;
        c.peer_rank = 1;
        c.job_tag = derive_job_tag(key);
        c.out = derive_keys(secure_mode::auth, key, 0, 1, 0);
        c.in = derive_keys(secure_mode::auth, key, 1, 0, 0);
        c.max_datagram = packet_length;
        return c;
    }
};

bytes joined(const std::vector<bytes> &packets)
{
    bytes all;
    for (const bytes &p : packets) all.insert(all.end(), p.begin(), p.end());
    return all;
}

class train : public testing::TestWithParam<bool> { // in one send?
  protected:
    pair pair_{"127.0.0.1", secure_mode::auth, 1500};
    train_maker maker_;

    void deliver(const std::vector<bytes> &packets)
    {
        if (GetParam()) return send(joined(packets), packets[0].size());
        for (const bytes &p : packets) send(p, p.size());
    }
    void send(const bytes &all, std::size_t cut)
    {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(pair_.sockets[1].port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int segment = int(cut), whole = 0;
        setsockopt(pair_.sockets[0].fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment);
        EXPECT_EQ(sendto(pair_.sockets[0].fd, all.data(), all.size(), 0, reinterpret_cast<sockaddr *>(&to), sizeof to),
                  ssize_t(all.size()));
        setsockopt(pair_.sockets[0].fd, IPPROTO_UDP, UDP_SEGMENT, &whole, sizeof whole);
    }
    void take_in()
    {
        for (int i = 0; i < 200; ++i) pair_.ends[1]->poll(now_ns());
    }
    bool arrived(std::uint64_t position, const bytes &data)
    {
        take_in();
        return std::memcmp(pair_.sinks[1].memory.data() + position, data.data(), data.size()) == 0;
    }
    void expect_that_nothing_came()
    {
        take_in();
        EXPECT_EQ(pair_.sinks[1].frames, 0u);
    }
};
INSTANTIATE_TEST_SUITE_P(net, train, testing::Bool(),
                         [](auto &whole) { return whole.param ? "whole" : "packet_by_packet"; });

} // namespace

TEST_P(train, arrives_and_is_executed_once_though_it_comes_twice)
{
    auto data = noise(20'000);
    auto packets = maker_.packets(64, data);
    ASSERT_GE(packets.size(), least_train);
    deliver(packets);
    EXPECT_TRUE(arrived(64, data));
    const auto frames = pair_.sinks[1].frames;
    deliver(packets);
    take_in();
    EXPECT_EQ(pair_.sinks[1].frames, frames);
    EXPECT_EQ(pair_.drops(1).replayed, packets.size());
}

TEST_P(train, of_which_one_bit_is_wrong_has_no_effect_at_all)
{
    auto data = noise(9'000);
    auto good = maker_.packets(64, data);
    for (std::size_t at = 0; at < joined(good).size(); at += 509) {
        auto bad = good;
        bad[at / packet_length][at % packet_length] ^= std::byte(1 << at % 8);
        deliver(bad);
    }
    expect_that_nothing_came();
    deliver(good);
    EXPECT_TRUE(arrived(64, data));
}

TEST_P(train, in_which_packets_lack_or_change_places_has_no_effect)
{
    auto data = noise(12'000);
    auto good = maker_.packets(64, data);
    for (std::size_t i = 0; i + 1 < good.size(); ++i) {
        auto less = good, mixed = good, more = good;
        less.erase(less.begin() + std::ptrdiff_t(i));
        deliver(less);
        if (i + 2 < good.size()) { // the last is shorter: it cannot be cut elsewhere
            std::swap(mixed[i], mixed[i + 1]);
            deliver(mixed);
            if (i == 0) continue; // a second first packet begins a train that is whole
            more.insert(more.begin() + std::ptrdiff_t(i), good[i]);
            deliver(more);
        }
    }
    expect_that_nothing_came();
    deliver(good);
    EXPECT_TRUE(arrived(64, data));
}

// Whoever sits between the two could cut the proven bytes elsewhere, so that data becomes headers.
TEST_P(train, that_is_cut_in_other_lengths_has_no_effect)
{
    auto data = noise(9'000);
    auto all = joined(maker_.packets(64, data));
    for (std::size_t cut : {packet_length - 8, packet_length + 8, 2 * packet_length, packet_length / 2}) {
        if (GetParam()) {
            send(all, cut);
            continue;
        }
        for (std::size_t at = 0; at < all.size(); at += cut) {
            auto end = all.begin() + std::ptrdiff_t(std::min(at + cut, all.size()));
            bytes one(all.begin() + std::ptrdiff_t(at), end);
            send(one, one.size());
        }
    }
    expect_that_nothing_came();
}

TEST_P(train, of_few_packets_is_none)
{
    auto packets = maker_.packets(64, noise(3'000));
    ASSERT_LT(packets.size(), least_train);
    for (const bytes &p : packets) {
        packet_header h;
        ASSERT_TRUE(read_header(p, true, &h));
        EXPECT_EQ(h.train, 0u);
    }
    deliver(packets);
    EXPECT_TRUE(arrived(64, noise(3'000)));
}

TEST(trains, are_made_by_transports_when_nothing_was_lost_for_a_while)
{
    for (auto mode : {secure_mode::auth, secure_mode::encrypt, secure_mode::off}) {
        pair p("127.0.0.1", mode, 1500);
        expect_long_put(p, 20 << 20);
    }
}

namespace {

packet_header header_of(std::uint32_t source, std::uint64_t number, std::uint8_t flags)
{
    packet_header h;
    h.source = source;
    h.number = number;
    h.flags = flags;
    h.train = 64;
    return h;
}

} // namespace

TEST(train_collector, keeps_the_trains_of_several_senders_apart)
{
    train_collector c;
    bytes one(64, std::byte(1)), two(64, std::byte(2)), end(8, std::byte(3));
    EXPECT_TRUE(c.add(header_of(1, 10, packet_flags::first | packet_flags::more), one).taken);
    EXPECT_TRUE(c.add(header_of(2, 10, packet_flags::first | packet_flags::more), two).taken);
    auto whole = c.add(header_of(1, 11, 0), end).whole;
    ASSERT_EQ(whole.size(), 72u);
    EXPECT_EQ(whole[0], std::byte(1));
    EXPECT_FALSE(c.add(header_of(1, 11, 0), end).taken) << "it is over";
    whole = c.add(header_of(2, 11, 0), end).whole;
    ASSERT_EQ(whole.size(), 72u);
    EXPECT_EQ(whole[0], std::byte(2));
}

TEST(train_collector, gives_the_place_of_an_unfinished_train_to_a_new_one)
{
    train_collector c;
    bytes part(64, std::byte(1)), end(8);
    for (std::uint32_t source = 1; source <= 9; ++source)
        EXPECT_TRUE(c.add(header_of(source, 1, packet_flags::first | packet_flags::more), part).taken);
    EXPECT_FALSE(c.add(header_of(1, 2, 0), end).taken) << "pushed out";
    EXPECT_EQ(c.add(header_of(9, 2, 0), end).whole.size(), 72u);
}

TEST(train_collector, takes_no_more_than_a_send_can_hold)
{
    train_collector c;
    bytes part(64);
    EXPECT_TRUE(c.add(header_of(1, 0, packet_flags::first | packet_flags::more), part).taken);
    for (std::uint64_t n = 1; n < 2 * gso_bytes / 64; ++n)
        EXPECT_EQ(c.add(header_of(1, n, packet_flags::more), part).taken, 64 * (n + 1) <= gso_bytes) << n;
    EXPECT_FALSE(c.add(header_of(1, 2 * gso_bytes / 64, 0), part).taken);
}
