// SPDX-License-Identifier: Apache-2.0
// Long packets in datagrams: they arrive whole or not at all, however those are damaged, mixed, lost or repeated on the
// way.
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
    explicit train_maker(secure_mode mode = secure_mode::auth)
        : cipher_(mode), link_(config(mode), cipher_, nobody_, pool_)
    {
    }
    ~train_maker() { link_.settle_all(SEA_OK); }

    // The datagrams of a put of that data.
    std::vector<bytes> datagrams(std::uint64_t position, const bytes &data)
    {
        link_.send(put(position, data, nullptr));
        link_.flush();
        std::vector<bytes> all;
        auto built = std::make_unique<datagram>();
        while (link_.build(now_ns(), built.get())) {
            EXPECT_NE(built->train, 0u);
            cut_train train(*built);
            std::size_t total = 0;
            for (const iovec &piece : train.whole()) total += piece.iov_len;
            for (unsigned i = 0; i < train.count(); ++i) {
                bytes &one = all.emplace_back();
                for (const iovec &piece : train.at(i)) {
                    auto *from = static_cast<const std::byte *>(piece.iov_base);
                    one.insert(one.end(), from, from + piece.iov_len);
                }
                total -= one.size();
            }
            EXPECT_EQ(total, 0u);
        }
        return all;
    }

    // The same as a bare train. behind: another put in it, 100,000 bytes behind.
    std::vector<bytes> bare_datagrams(std::uint64_t position, const bytes &data, const bytes &behind = {})
    {
        link_.send(put(position, data, nullptr));
        if (!behind.empty()) link_.send(put(position + 100'000, behind, nullptr));
        link_.flush();
        auto built = std::make_unique<datagram>();
        std::vector<bytes> all;
        bytes packet;
        EXPECT_TRUE(link_.build(now_ns(), built.get()));
        for (unsigned i = 0; i < built->count; ++i)
            packet.insert(packet.end(), built->pieces[i].begin(), built->pieces[i].end());
        packet_header h;
        std::memcpy(&h, packet.data(), sizeof h);
        h.flags = std::uint8_t(h.flags & ~packet_flags::more);
        h.train = std::uint16_t(packet.size());
        write_header(packet.data(), h);
        cipher_.seal(link_.keys_out(), h.number, packet);
        for (std::span<const std::byte> left = packet; !left.empty();) {
            const auto one = left.first(std::min(packet_length, left.size()));
            all.emplace_back(one.begin(), one.end());
            left = left.subspan(one.size());
        }
        return all;
    }

  private:
    memory_sink nobody_;
    crypto cipher_;
    bundle_pool pool_;
    net::link link_;

    static link_config config(secure_mode mode)
    {
        job_key key{};
        key[31] = 1; // that of a pair
        link_config c;
        c.own_rank = 0;
        c.peer_rank = 1;
        c.job_tag = derive_job_tag(key);
        c.out = derive_keys(mode, key, 0, 1, 0);
        c.in = derive_keys(mode, key, 1, 0, 0);
        c.max_datagram = packet_length;
        c.trains = true;
        return c;
    }
};

bytes joined(const std::vector<bytes> &datagrams)
{
    bytes all;
    for (const bytes &d : datagrams) all.insert(all.end(), d.begin(), d.end());
    return all;
}

class train : public testing::TestWithParam<bool> { // in one send?
  protected:
    pair pair_;
    train_maker maker_;

    explicit train(bool filter = true)
        : pair_("127.0.0.1", secure_mode::auth, 1500, "", wanted_socket_buffer, true, filter)
    {
    }
    void deliver(const std::vector<bytes> &datagrams)
    {
        if (GetParam()) return send(joined(datagrams), datagrams[0].size());
        for (const bytes &d : datagrams) send(d, d.size());
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
    void expect_that_once_is_enough(const std::vector<bytes> &datagrams, const bytes &data)
    {
        ASSERT_EQ(datagrams.size(), 15u);
        deliver(datagrams);
        EXPECT_TRUE(arrived(64, data));
        EXPECT_EQ(pair_.sinks[1].frames, 1u) << "one packet, whatever its length";
        deliver(datagrams);
        take_in();
        EXPECT_EQ(pair_.sinks[1].frames, 1u);
        EXPECT_EQ(pair_.drops(1).replayed, 1u);
    }
    void expect_that_nothing_came()
    {
        take_in();
        EXPECT_EQ(pair_.sinks[1].frames, 0u);
    }
};
const char *name_of(const testing::TestParamInfo<bool> &whole) { return whole.param ? "whole" : "one_by_one"; }
INSTANTIATE_TEST_SUITE_P(net, train, testing::Bool(), name_of);

// The kernel's filter would keep out its datagrams without headers where they come one by one.
class bare_train : public train {
  protected:
    bare_train() : train(false) {}
};
INSTANTIATE_TEST_SUITE_P(net, bare_train, testing::Bool(), name_of);

} // namespace

TEST_P(train, arrives_and_is_executed_once_though_it_comes_twice)
{
    const auto data = noise(20'000);
    expect_that_once_is_enough(maker_.datagrams(64, data), data);
}

TEST_P(train, of_which_one_bit_is_wrong_has_no_effect_at_all)
{
    auto data = noise(9'000);
    auto good = maker_.datagrams(64, data);
    for (std::size_t at = 0; at < joined(good).size(); at += 509) {
        auto bad = good;
        bad[at / packet_length][at % packet_length] ^= std::byte(1 << at % 8);
        deliver(bad);
    }
    expect_that_nothing_came();
    deliver(good);
    EXPECT_TRUE(arrived(64, data));
}

TEST_P(train, in_which_datagrams_lack_or_change_places_has_no_effect)
{
    auto data = noise(12'000);
    auto good = maker_.datagrams(64, data);
    for (std::size_t i = 0; i + 1 < good.size(); ++i) {
        auto less = good, mixed = good, more = good;
        less.erase(less.begin() + std::ptrdiff_t(i));
        deliver(less);
        if (i + 2 < good.size()) { // the last is shorter: it cannot be cut elsewhere
            std::swap(mixed[i], mixed[i + 1]);
            deliver(mixed);
            if (i == 0) continue; // a second first datagram begins a train that is whole
            more.insert(more.begin() + std::ptrdiff_t(i), good[i]);
            deliver(more);
        }
    }
    expect_that_nothing_came();
    deliver(good);
    EXPECT_TRUE(arrived(64, data));
}

// Headers behind the first are in no tag: what they say wrong must not matter, or be found.
TEST_P(train, whose_headers_are_of_another_packet_has_no_effect)
{
    auto good = maker_.datagrams(64, noise(9'000)), other = maker_.datagrams(20'000, noise(9'000));
    for (std::size_t i = 0; i < good.size(); ++i) {
        auto mixed = good;
        std::copy_n(other[i].begin(), header_bytes, mixed[i].begin());
        deliver(mixed);
        mixed[i] = other[i];
        deliver(mixed);
    }
    expect_that_nothing_came();
}

// Whoever sits between the two could cut the proven bytes elsewhere, so that data becomes headers.
TEST_P(train, that_is_cut_in_other_lengths_has_no_effect)
{
    auto data = noise(9'000);
    auto all = joined(maker_.datagrams(64, data));
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

TEST_P(bare_train, arrives_and_is_executed_once_though_it_comes_twice)
{
    const auto data = noise(20'000);
    expect_that_once_is_enough(maker_.bare_datagrams(64, data), data);
}

// Wrong bits, datagrams that lack, are doubled, or change places, and what belongs to something else in between.
TEST_P(bare_train, that_is_not_as_it_was_has_no_effect_at_all)
{
    auto data = noise(12'000);
    const auto good = maker_.bare_datagrams(64, data);
    const bytes foreign = noise(packet_length);
    for (std::size_t at = 0; at < joined(good).size(); at += 509) {
        auto bad = good;
        bad[at / packet_length][at % packet_length] ^= std::byte(1 << at % 8);
        deliver(bad);
        take_in();
    }
    for (std::size_t i = 0; i + 1 < good.size(); ++i) {
        auto less = good, more = good, mixed = good;
        const auto at = std::ptrdiff_t(i);
        less.erase(less.begin() + at);
        deliver(less);
        more.insert(more.begin() + at + 1, i ? good[i] : foreign);
        deliver(more);
        if (i + 2 < good.size()) std::swap(mixed[i], mixed[i + 1]);
        if (i > 0 && i + 2 < good.size()) deliver(mixed);
        take_in();
    }
    expect_that_nothing_came();
    deliver(good);
    EXPECT_TRUE(arrived(64, data));
}

// Where all that lands has come, but not all of the packet: no tag can be checked yet.
TEST_P(bare_train, may_lack_its_end_for_a_while_when_its_payload_has_landed)
{
    const auto data = noise(20'000), behind = noise(3'000);
    const auto before = maker_.bare_datagrams(200'000, data), all = maker_.bare_datagrams(64, data, behind);
    pair_.sinks[1].tell(0, 64, data.size());
    deliver(before); // one is copied, to compare
    EXPECT_TRUE(arrived(200'000, data));
    pair_.sinks[1].frames = pair_.sinks[1].bytes = 0;
    pair_.sinks[1].told.head.flags = frame_flags::last;
    const auto most = all.end() - 1;
    deliver({all.begin(), most});
    take_in();
    EXPECT_EQ(pair_.sinks[1].frames, 0u);
    deliver({most, all.end()});
    EXPECT_TRUE(arrived(64, data));
    EXPECT_TRUE(arrived(100'064, behind));
    EXPECT_EQ(pair_.drops(1).forged, 0u);
    EXPECT_EQ(pair_.sinks[1].landed, 0u) << "it was collected";
}

TEST_P(bare_train, ends_where_another_train_of_its_sender_begins)
{
    auto data = noise(12'000), other = noise(8'000);
    const auto datagrams = maker_.bare_datagrams(64, data), between = maker_.datagrams(20'000, other);
    const auto half = datagrams.begin() + (GetParam() ? std::ptrdiff_t(datagrams.size()) : 3);
    deliver({datagrams.begin(), half});
    deliver({between[0]});
    if (half != datagrams.end()) deliver({half, datagrams.end()});
    take_in();
    EXPECT_EQ(pair_.sinks[1].frames, GetParam() ? 1u : 0u) << "a train that begins ends it";
    deliver(datagrams);
    deliver(between);
    EXPECT_TRUE(arrived(64, data));
    EXPECT_TRUE(arrived(20'000, other));
}

// Nothing but the address tells there who sent a datagram, and no tag will show what was put in between.
TEST(trains, take_nothing_from_elsewhere_in_mode_off)
{
    pair p("127.0.0.1", secure_mode::off, 1500, "", wanted_socket_buffer, true, false);
    udp_socket stranger;
    ASSERT_EQ(open_udp_socket("127.0.0.1", &stranger), SEA_OK);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(p.sockets[1].port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto send = [&](int fd, const bytes &one) {
        EXPECT_EQ(sendto(fd, one.data(), one.size(), 0, reinterpret_cast<sockaddr *>(&to), sizeof to),
                  ssize_t(one.size()));
        for (int i = 0; i < 20; ++i) p.ends[1]->poll(now_ns());
    };
    auto data = noise(9'000);
    train_maker maker(secure_mode::off);
    for (const bytes &good : maker.datagrams(64, data)) {
        bytes forged = good;
        forged.back() ^= std::byte(1);
        send(stranger.fd, forged);
        send(p.sockets[0].fd, good);
    }
    EXPECT_EQ(std::memcmp(p.sinks[1].memory.data() + 64, data.data(), data.size()), 0);
    EXPECT_EQ(p.drops(1).forged, 7u);
    ::close(stranger.fd);
}

TEST(trains, without_headers_are_nobodys_in_mode_off)
{
    pair p("127.0.0.1", secure_mode::off, 1500, "", wanted_socket_buffer, true, false);
    train_maker maker(secure_mode::off);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(p.sockets[1].port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (const bytes &one : maker.bare_datagrams(64, noise(9'000))) {
        ASSERT_EQ(sendto(p.sockets[0].fd, one.data(), one.size(), 0, reinterpret_cast<sockaddr *>(&to), sizeof to),
                  ssize_t(one.size()));
        for (int i = 0; i < 20; ++i) p.ends[1]->poll(now_ns());
    }
    EXPECT_EQ(p.sinks[1].frames, 0u);
    EXPECT_EQ(p.drops(1).not_ours, 7u);
}

TEST(trains, are_made_by_transports_when_nothing_was_lost_for_a_while)
{
    for (auto mode : {secure_mode::auth, secure_mode::encrypt, secure_mode::off}) {
        pair p("127.0.0.1", mode, 1500);
        expect_long_put(p, 20 << 20);
        const std::uint64_t packets = p.counts[0].row_of(1).counts.packets_out;
        EXPECT_LT(packets, (20u << 20) / 1400 / 4) << "most of it went in long packets";
    }
}

// What is expected lands from them, too, which it does not from those with headers.
TEST(trains, are_bare_when_they_come_in_one_piece)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    p.sinks[1].tell(0, 64, 20 << 20);
    expect_long_put(p, 20 << 20);
    EXPECT_GT(p.sinks[1].landed, 1u << 20);
    EXPECT_EQ(p.counts[0].row_of(1).counts.packets_lost, 0u);
}

namespace {

datagram packet_of(const bytes &all, std::size_t train)
{
    datagram d;
    d.pieces[0] = all;
    d.count = 1;
    d.bytes = all.size();
    d.train = train;
    return d;
}

} // namespace

TEST(trains, are_closed_up_as_they_were_cut)
{
    for (std::size_t size = 128 + 8; size < 1000; size += 8) {
        bytes all = noise(size);
        packet_header h;
        h.flags = packet_flags::bundle | packet_flags::first | packet_flags::more;
        h.number = 77;
        h.train = 128;
        write_header(all.data(), h);
        cut_train cut(packet_of(all, 128));
        bytes sent;
        for (const iovec &piece : cut.whole())
            sent.insert(sent.end(), static_cast<const std::byte *>(piece.iov_base),
                        static_cast<const std::byte *>(piece.iov_base) + piece.iov_len);
        const std::size_t wire = sent.size();
        ASSERT_EQ(wire, size + (cut.count() - 1) * header_bytes);
        if (wire % 128 == 0) sent.resize(wire + 64); // of the next packet: only where the last datagram is full
        std::size_t taken = 0;
        auto packet = close_up(sent, h, &taken);
        ASSERT_EQ(packet.size(), size);
        EXPECT_EQ(taken, wire);
        EXPECT_EQ(std::memcmp(packet.data(), all.data(), size), 0) << size;
    }
}

namespace {

packet_header header_of(std::uint32_t source, std::uint64_t number, std::uint8_t flags, unsigned index = 0)
{
    packet_header h;
    h.ack_bytes = std::uint16_t(index);
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
    bytes one(64, std::byte(1)), two(64, std::byte(2)), end(40, std::byte(3));
    EXPECT_TRUE(c.add(header_of(1, 10, packet_flags::first | packet_flags::more), one).taken);
    EXPECT_TRUE(c.add(header_of(2, 10, packet_flags::first | packet_flags::more), two).taken);
    auto whole = c.add(header_of(1, 10, 0, 1), end).packet;
    ASSERT_EQ(whole.size(), 72u);
    EXPECT_EQ(whole[0], std::byte(1));
    EXPECT_FALSE(c.add(header_of(1, 10, 0, 1), end).taken) << "it is over";
    whole = c.add(header_of(2, 10, 0, 1), end).packet;
    ASSERT_EQ(whole.size(), 72u);
    EXPECT_EQ(whole[0], std::byte(2));
}

TEST(train_collector, gives_the_place_of_an_unfinished_train_to_a_new_one)
{
    train_collector c;
    bytes part(64, std::byte(1)), end(40);
    for (std::uint32_t source = 1; source <= 9; ++source)
        EXPECT_TRUE(c.add(header_of(source, 1, packet_flags::first | packet_flags::more), part).taken);
    EXPECT_FALSE(c.add(header_of(1, 1, 0, 1), end).taken) << "pushed out";
    EXPECT_EQ(c.add(header_of(9, 1, 0, 1), end).packet.size(), 72u);
}

TEST(train_collector, takes_no_more_than_a_send_can_hold)
{
    train_collector c;
    bytes part(gso_bytes / 8 / 8 * 8);
    EXPECT_TRUE(c.add(header_of(1, 0, packet_flags::first | packet_flags::more), part).taken);
    for (unsigned n = 1; n < 16; ++n) {
        const bool fits = part.size() + n * (part.size() - header_bytes) <= gso_bytes;
        EXPECT_EQ(c.add(header_of(1, 0, packet_flags::more, n), part).taken > 0, fits) << n;
        if (!fits) break;
    }
    EXPECT_FALSE(c.add(header_of(1, 0, 0, 16), part).taken);
}

TEST(train_collector, takes_only_the_next_datagram_of_the_same_train)
{
    const bytes part(64), end(40);
    constexpr std::uint8_t begins = packet_flags::first | packet_flags::more;
    for (const packet_header &wrong : {header_of(1, 11, 0, 1), header_of(1, 10, 0, 2), header_of(2, 10, 0, 1)}) {
        train_collector c;
        c.add(header_of(1, 10, begins), part);
        EXPECT_FALSE(c.add(wrong, end).taken) << wrong.number << " " << wrong.ack_bytes;
    }
}

TEST(train_collector, gives_each_new_sender_another_place)
{
    train_collector c;
    const bytes part(64), end(40);
    for (std::uint32_t source = 1; source <= 6; ++source)
        c.add(header_of(source, 1, packet_flags::first | packet_flags::more), part);
    EXPECT_EQ(c.take_unfinished(), 2u);
    EXPECT_EQ(c.take_unfinished(), 0u);
    for (std::uint32_t source = 3; source <= 6; ++source)
        EXPECT_EQ(c.add(header_of(source, 1, 0, 1), end).packet.size(), 72u) << source;
}

TEST(train_collector, tells_of_trains_that_were_split_on_the_way)
{
    for (const bool together : {false, true}) {
        train_collector c;
        const bytes part(64), end(40);
        c.add(header_of(1, 1, packet_flags::first | packet_flags::more), part, together);
        EXPECT_EQ(c.add(header_of(1, 1, 0, 1), end).split, together);
    }
}

TEST(train_collector, does_not_go_on_with_a_bare_train_as_with_one_of_headers)
{
    const bytes part(64), end(40);
    packet_header bare = header_of(1, 10, packet_flags::first);
    bare.train = 128;
    packet_header next = header_of(1, 10, 0, 1);
    next.train = 128;
    train_collector c;
    c.begin_bare(bare, part, false);
    EXPECT_FALSE(c.add(next, end).taken);
    c.begin_bare(bare, part, false);
    c.add(header_of(1, 11, packet_flags::first | packet_flags::more), part);
    EXPECT_FALSE(c.add_bare(end, false).taken) << "another one of that sender has begun";
    EXPECT_EQ(c.add(header_of(1, 11, 0, 1), end).packet.size(), 72u);
}
