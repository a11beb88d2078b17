// SPDX-License-Identifier: Apache-2.0
// What the kernel lets in, tried with real sockets: by header, by source, one by one and many in one send.
#include "net/socket_filter.hpp"

#include "net/packet.hpp"
#include "net/socket_io.hpp"
#include "net/udp_socket.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace onesea;
using namespace onesea::net;

namespace {

using who = entry_rules::sources_are;
using bytes = std::vector<std::byte>;

constexpr std::uint32_t own_rank = 2, own_job = 0x12345678;

struct bound {
    udp_socket socket;
    endpoint where;
    explicit bound(const char *address)
    {
        EXPECT_EQ(open_udp_socket(address, &socket), SEA_OK);
        where.size = sizeof where.v6;
        EXPECT_EQ(getsockname(socket.fd, &where.any, &where.size), 0);
    }
    ~bound() { ::close(socket.fd); }
    bound(const bound &) = delete;
    bound &operator=(const bound &) = delete;

    void send(const bound &to, const bytes &packet, std::uint16_t segment = 0) const
    {
        int value = segment;
        EXPECT_EQ(setsockopt(socket.fd, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof value), 0);
        EXPECT_EQ(sendto(socket.fd, packet.data(), packet.size(), 0, &to.where.any, to.where.size),
                  ssize_t(packet.size()));
    }
    // How many bytes have come in. What is sent on loopback has arrived when the send returns.
    std::size_t take() const
    {
        bytes room(1 << 17);
        std::size_t sum = 0;
        for (ssize_t n; (n = recv(socket.fd, room.data(), room.size(), MSG_DONTWAIT)) >= 0;) sum += std::size_t(n);
        return sum;
    }
};

packet_header good_header()
{
    packet_header h;
    h.flags = packet_flags::bundle;
    h.job_tag = own_job;
    h.source = 1;
    h.target = own_rank;
    return h;
}

bytes packet_with(const packet_header &h, std::size_t size = 64)
{
    bytes p(size);
    write_header(p.data(), h);
    return p;
}

entry_rules rules(who sources = who::any, std::vector<endpoint> list = {})
{
    return {own_job, own_rank, sources, std::move(list)};
}

// 127.0.0.1 and that port.
endpoint local(std::uint16_t port)
{
    peer_address a{};
    a.address[10] = a.address[11] = 0xff;
    a.address[12] = 127;
    a.address[15] = 1;
    a.port = port;
    return endpoint(a);
}

class socket_filter : public testing::TestWithParam<const char *> {
  protected:
    void SetUp() override
    {
        udp_socket probe;
        if (open_udp_socket(GetParam(), &probe) != SEA_OK) GTEST_SKIP() << "no such address here";
        ::close(probe.fd);
    }
};

INSTANTIATE_TEST_SUITE_P(each_family, socket_filter, testing::Values("127.0.0.1", "::1"),
                         [](auto &address) { return std::strchr(address.param, ':') ? "ip6" : "ip4"; });

} // namespace

TEST_P(socket_filter, lets_in_what_has_the_header_of_this_rank_and_job)
{
    bound from(GetParam()), to(GetParam());
    ASSERT_TRUE(attach_filter(to.socket.fd, rules()));
    for (unsigned flags = 0; flags < 256; ++flags) {
        packet_header h = good_header();
        h.flags = std::uint8_t(flags);
        h.source = flags % 2 ? max_rank : 0;
        from.send(to, packet_with(h, header_bytes + 8u * flags));
        EXPECT_EQ(to.take(), header_bytes + 8u * flags);
    }
    EXPECT_EQ(kernel_drops(to.socket.fd), 0u);
}

TEST_P(socket_filter, drops_and_counts_each_wrong_field_and_every_cut_header)
{
    bound from(GetParam()), to(GetParam());
    ASSERT_TRUE(attach_filter(to.socket.fd, rules()));
    std::vector<bytes> wrong;
    for (int bit = 0; bit < 8 * 16; ++bit) {
        bytes p = packet_with(good_header());
        p[std::size_t(bit / 8)] ^= std::byte(1 << bit % 8);
        const bool free = (bit >= 8 && bit < 16) || (bit >= 16 && bit < 32) || (bit >= 64 && bit < 88);
        if (!free) wrong.push_back(p); // flags, length of the acknowledgement, source
    }
    packet_header own = good_header();
    own.source = own_rank;
    wrong.push_back(packet_with(own));
    for (std::size_t n = 0; n < header_bytes; ++n) {
        wrong.push_back(packet_with(good_header()));
        wrong.back().resize(n);
    }
    for (const bytes &p : wrong) {
        from.send(to, p);
        EXPECT_EQ(to.take(), 0u);
    }
    EXPECT_EQ(kernel_drops(to.socket.fd), wrong.size());
}

TEST_P(socket_filter, judges_what_came_in_one_send_by_its_first_header)
{
    bound from(GetParam()), to(GetParam());
    ASSERT_TRUE(attach_filter(to.socket.fd, rules()));
    if (!to.socket.gro) GTEST_SKIP() << "the kernel does not join datagrams";
    const bytes good = packet_with(good_header(), 1000);
    bytes first_good, first_bad;
    for (int i = 0; i < 20; ++i) first_good.insert(first_good.end(), good.begin(), good.end());
    first_bad = first_good;
    first_bad[0] = std::byte(99);
    from.send(to, first_good, 1000);
    EXPECT_EQ(to.take(), first_good.size());
    from.send(to, first_bad, 1000);
    EXPECT_EQ(to.take(), 0u);
    // Who takes them one by one has them judged one by one.
    int off = 0;
    ASSERT_EQ(setsockopt(to.socket.fd, IPPROTO_UDP, UDP_GRO, &off, sizeof off), 0);
    from.send(to, first_bad, 1000);
    EXPECT_EQ(to.take(), first_bad.size() - 1000);
}

TEST_P(socket_filter, lets_in_known_sources_only)
{
    bound one(GetParam()), two(GetParam()), stranger(GetParam()), to(GetParam());
    const bytes packet = packet_with(good_header());
    ASSERT_TRUE(attach_filter(to.socket.fd, rules(who::all, {one.where, two.where})));
    for (const bound *from : {&one, &two, &stranger, &one}) from->send(to, packet);
    EXPECT_EQ(to.take(), 3 * packet.size());
    EXPECT_EQ(kernel_drops(to.socket.fd), 1u);
    ASSERT_TRUE(attach_filter(to.socket.fd, rules(who::all)));
    one.send(to, packet);
    EXPECT_EQ(to.take(), 0u) << "nobody is known";
    ASSERT_TRUE(attach_filter(to.socket.fd, rules()));
    stranger.send(to, packet);
    EXPECT_EQ(to.take(), packet.size()) << "the new rules have replaced the old ones";
}

TEST(socket_filter, finds_each_of_many_sources)
{
    const bytes packet = packet_with(good_header());
    for (std::size_t n : {1u, 2u, 8u, 9u, 16u, 17u, 100u, 499u, unsigned(most_sources)}) {
        bound from("127.0.0.1"), to("127.0.0.1");
        // Around the sender's port, so that it stands at another place of the list each time.
        for (std::size_t place = 0; place < n; place += n / 7 + 1) {
            std::vector<endpoint> list;
            for (std::size_t i = 0; i < n; ++i) list.push_back(local(std::uint16_t(from.socket.port + i - place)));
            ASSERT_TRUE(attach_filter(to.socket.fd, rules(who::all, list))) << n;
            from.send(to, packet);
            EXPECT_EQ(to.take(), packet.size()) << place << " of " << n;
            list.erase(list.begin() + std::ptrdiff_t(place));
            ASSERT_TRUE(attach_filter(to.socket.fd, rules(who::all, list)));
            from.send(to, packet);
            EXPECT_EQ(to.take(), 0u) << place << " of " << n;
        }
    }
}

TEST(socket_filter, lets_in_some_of_others_where_there_may_be_others)
{
    bound known("127.0.0.1"), other("127.0.0.1"), to("127.0.0.1");
    const bytes packet = packet_with(good_header());
    ASSERT_TRUE(attach_filter(to.socket.fd, rules(who::some, {known.where})));
    for (int i = 0; i < 100; ++i) known.send(to, packet);
    EXPECT_EQ(to.take(), 100 * packet.size());
    for (int i = 0; i < 4000; ++i) other.send(to, packet);
    const std::size_t came = to.take() / packet.size(); // one in four of 4000: 1000, standard deviation 27
    EXPECT_GT(came, 800u);
    EXPECT_LT(came, 1200u);
}

TEST(socket_filter, of_the_other_family_lets_in_none_of_it)
{
    auto four = make_filter(AF_INET, rules(who::all, {local(1), local(2)}));
    auto six = make_filter(AF_INET6, rules(who::all, {local(1), local(2)}));
    EXPECT_EQ(six.size() + 2, four.size() + 12) << "no keys, but three more words of address";
}

TEST(socket_io, tells_what_the_kernel_dropped_at_both_its_sockets)
{
    bound peer("127.0.0.1"), stranger("127.0.0.1"), own("127.0.0.1");
    socket_io io(own.socket.fd, false);
    io.admit(rules());
    EXPECT_EQ(io.dropped_before(), 0u);
    EXPECT_TRUE(io.prefer(peer.where));
    for (int i = 0; i < 3; ++i) stranger.send(own, bytes(64));
    EXPECT_EQ(io.dropped_before(), 3u);
    const bytes big(60'000);
    for (int i = 0; i < 1000; ++i) peer.send(own, big); // more than the express socket's buffer holds
    EXPECT_GT(io.dropped_before(), 3u);
}
