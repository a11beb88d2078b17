// SPDX-License-Identifier: Apache-2.0
// Transports in one process over real UDP sockets on loopback, in all modes, with damage and with strangers.
#include "net/net_transport.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "net/constants.hpp"
#include "net/crypto.hpp"
#include "net/link.hpp"
#include "net/udp_socket.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <gtest/gtest.h>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using namespace onesea;
using namespace onesea::net;

namespace {

struct memory_sink final : sink {
    std::vector<std::byte> memory;
    std::uint64_t frames = 0, bytes = 0;
    void receive(int, const frame &head, std::span<const std::byte> payload) override
    {
        ++frames;
        bytes += payload.size();
        if (head.type == frame_type::put && !payload.empty())
            std::memcpy(memory.data() + head.position, payload.data(), payload.size());
    }
};

struct wait_for : delivery {
    int status = 1;
    wait_for()
    {
        settled = [](delivery *d, int s) { static_cast<wait_for *>(d)->status = s; };
    }
};

class pair {
  public:
    udp_socket sockets[2];
    memory_sink sinks[2];
    std::unique_ptr<transport> ends[2];
    bool known[2] = {true, true};

    explicit pair(const char *address, secure_mode mode = secure_mode::auth, std::uint32_t mtu = 65536,
                  const char *faults = "", std::size_t buffer = wanted_socket_buffer, bool same_key = true)
    {
        for (int i = 0; i < 2; ++i) EXPECT_EQ(open_udp_socket(address, &sockets[i], buffer), SEA_OK) << last_error();
        for (int i = 0; i < 2; ++i) {
            net_config c;
            c.rank = i;
            c.udp_fd = sockets[i].fd;
            c.job_key[31] = same_key ? 1 : std::uint8_t(i);
            c.secure = mode;
            c.own_mtu = mtu;
            EXPECT_EQ(parse_faults(faults, &c.faults), SEA_OK);
            c.lookup = [this, address, mtu](int rank, peer_address *where) {
                if (rank < 0 || rank > 1 || !known[rank]) return false;
                ip_address ip;
                parse_ip(address, &ip);
                std::memcpy(where->address, ip.bytes, 16);
                where->port = sockets[rank].port;
                where->mtu = mtu;
                return true;
            };
            ends[i] = make_net_transport(c, sinks[i]);
            sinks[i].memory.resize(32 << 20);
        }
    }
    ~pair()
    {
        for (auto &s : sockets) ::close(s.fd);
    }
    template <class Done>
    bool run(Done done, std::uint64_t limit = 20 * second)
    {
        for (auto until = now_ns() + limit; !done();) {
            if (now_ns() > until) return false;
            for (auto &e : ends) e->poll(now_ns());
        }
        return true;
    }
};

outgoing put(std::uint64_t position, const std::vector<std::byte> &data, delivery *done)
{
    outgoing m;
    m.head.type = frame_type::put;
    m.head.position = position;
    m.payload = data.data();
    m.bytes = data.size();
    m.borrow = true;
    m.done = done;
    return m;
}

std::vector<std::byte> noise(std::size_t n)
{
    std::vector<std::byte> v(n);
    std::mt19937_64 random(n);
    for (auto &b : v) b = std::byte(random());
    return v;
}

void expect_long_put(pair &p, std::size_t bytes)
{
    auto data = noise(bytes);
    wait_for w;
    p.ends[0]->send(1, put(64, data, &w));
    ASSERT_TRUE(p.run([&] { return w.status != 1; }));
    EXPECT_EQ(w.status, SEA_OK);
    EXPECT_EQ(std::memcmp(p.sinks[1].memory.data() + 64, data.data(), bytes), 0);
    EXPECT_EQ(p.sinks[1].bytes, bytes);
    EXPECT_TRUE(p.ends[0]->idle());
}

} // namespace

TEST(net_transport, carries_long_puts_in_every_mode_and_packet_size)
{
    for (auto mode : {secure_mode::off, secure_mode::auth, secure_mode::encrypt})
        for (std::uint32_t mtu : {1280u, 1500u, 9000u, 65536u})
            for (const char *address : {"127.0.0.1", "::1"}) {
                SCOPED_TRACE(testing::Message() << "mode " << int(mode) << " mtu " << mtu << " " << address);
                ip_address ip;
                ASSERT_TRUE(parse_ip(address, &ip));
                udp_socket probe;
                if (!ip.is_v4() && open_udp_socket(ip, &probe) != SEA_OK) continue; // a machine without IPv6
                if (probe.fd >= 0) ::close(probe.fd);
                pair p(address, mode, mtu);
                expect_long_put(p, 3'000'001);
            }
}

TEST(net_transport, survives_damage_on_a_real_socket)
{
    pair p("127.0.0.1", secure_mode::auth, 1500, "loss=0.05,dup=0.05,reorder=0.05,corrupt=0.02,seed=3");
    expect_long_put(p, 2'000'000);
    sea_pair_stats stats{};
    p.ends[0]->stats(1, &stats);
    EXPECT_GT(stats.packets_lost, 0u);
    EXPECT_GT(stats.round_trip_us, 0);
}

TEST(net_transport, does_not_overflow_a_small_socket_buffer)
{
    for (std::uint32_t mtu : {1500u, 65536u}) {
        pair p("127.0.0.1", secure_mode::auth, mtu, "", 256 * 1024);
        expect_long_put(p, 8'000'000);
    }
}

TEST(net_transport, sends_ten_thousand_small_messages_in_few_packets)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    auto data = noise(8);
    std::vector<wait_for> w(10'000);
    for (std::size_t i = 0; i < w.size(); ++i) p.ends[0]->send(1, put(8 * i, data, &w[i]));
    p.ends[0]->flush();
    ASSERT_TRUE(p.run([&] { return p.ends[0]->idle(); }));
    for (auto &one : w) ASSERT_EQ(one.status, SEA_OK);
    EXPECT_EQ(p.sinks[1].frames, w.size());
    sea_pair_stats stats{};
    p.ends[0]->stats(1, &stats);
    EXPECT_LT(stats.packets_out, w.size() / 20);
}

TEST(net_transport, ignores_strangers_and_makes_no_state_for_them)
{
    pair p("127.0.0.1", secure_mode::auth, 1500, "", wanted_socket_buffer, false); // two different keys
    auto data = noise(100);
    wait_for w;
    p.ends[0]->send(1, put(0, data, &w));
    EXPECT_FALSE(p.run([&] { return w.status != 1; }, 200 * millisecond));
    EXPECT_EQ(p.sinks[1].frames, 0u);
    sea_pair_stats stats{};
    p.ends[1]->stats(0, &stats);
    EXPECT_EQ(stats.packets_in + stats.packets_out, 0u);
}

TEST(net_transport, survives_garbage_in_its_socket)
{
    pair p("127.0.0.1");
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(p.sockets[1].port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::mt19937_64 random(5);
    for (int i = 0; i < 200; ++i) {
        auto junk = noise(random() % 2000);
        if (!junk.empty() && i % 2) junk[0] = std::byte(protocol_version);
        sendto(fd, junk.data(), junk.size(), 0, reinterpret_cast<sockaddr *>(&to), sizeof to);
    }
    ::close(fd);
    expect_long_put(p, 100'000);
    EXPECT_EQ(p.sinks[1].bytes, 100'000u);
}

namespace {

// Speaks for rank 0 through its socket, so that a test decides what goes on the wire, how often and how damaged.
class impostor {
  public:
    explicit impostor(pair &p, std::uint32_t source = 0, std::uint32_t target = 1, std::uint8_t key_byte = 1)
        : pair_(p), cipher_(secure_mode::auth), link_(config(source, target, key_byte), cipher_, nobody_)
    {
    }
    ~impostor() { link_.settle_all(SEA_OK); }

    std::vector<std::byte> put_packet(std::uint64_t position, const std::vector<std::byte> &data)
    {
        outgoing m = put(position, data, nullptr);
        link_.send(m);
        link_.flush();
        datagram d;
        EXPECT_TRUE(link_.build(now_ns(), &d));
        std::vector<std::byte> all;
        for (unsigned i = 0; i < d.count; ++i) all.insert(all.end(), d.pieces[i].begin(), d.pieces[i].end());
        return all;
    }
    // From the socket of one rank to that of the other, which then polls.
    void deliver(int from, const std::vector<std::byte> &packet)
    {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(pair_.sockets[1 - from].port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(sendto(pair_.sockets[from].fd, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr *>(&to),
                         sizeof to),
                  ssize_t(packet.size()));
        for (int i = 0; i < 3; ++i) pair_.ends[1 - from]->poll(now_ns());
    }

  private:
    pair &pair_;
    memory_sink nobody_;
    crypto cipher_;
    net::link link_;

    static link_config config(std::uint32_t source, std::uint32_t target, std::uint8_t key_byte)
    {
        job_key key{};
        key[31] = key_byte;
        link_config c;
        c.own_rank = source;
        c.peer_rank = target;
        c.job_tag = derive_job_tag(key);
        c.out = derive_keys(key, source, target, 0);
        c.in = derive_keys(key, target, source, 0);
        return c;
    }
};

} // namespace

TEST(net_transport, executes_a_replayed_datagram_once)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    impostor i(p);
    auto packet = i.put_packet(0, noise(64));
    for (int n = 0; n < 5; ++n) i.deliver(0, packet);
    EXPECT_EQ(p.sinks[1].frames, 1u);
}

TEST(net_transport, drops_a_datagram_cut_at_any_length_or_with_any_byte_changed)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    impostor i(p);
    auto packet = i.put_packet(0, noise(64));
    for (std::size_t n = 0; n < packet.size(); ++n) {
        i.deliver(0, {packet.begin(), packet.begin() + std::ptrdiff_t(n)});
        auto changed = packet;
        changed[n] ^= std::byte(1);
        i.deliver(0, changed);
    }
    sea_pair_stats stats{};
    p.ends[1]->stats(0, &stats);
    EXPECT_EQ(p.sinks[1].frames, 0u);
    EXPECT_EQ(stats.packets_in + stats.packets_out, 0u) << "they made a link";
    i.deliver(0, packet);
    EXPECT_EQ(p.sinks[1].frames, 1u) << "what was dropped must not have used up the packet's number";
}

TEST(net_transport, drops_reflected_datagrams_and_those_of_other_ranks_and_jobs)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    impostor good(p), other_target(p, 0, 7), other_source(p, 7, 1), self(p, 1, 1), other_job(p, 0, 1, 2);
    good.deliver(1, good.put_packet(0, noise(64))); // comes back to rank 0, which is said to have sent it
    for (impostor *bad : {&other_target, &other_source, &self, &other_job})
        bad->deliver(0, bad->put_packet(0, noise(64)));
    auto renamed = good.put_packet(0, noise(64)); // swapped ranks, the tag of the other direction
    std::swap(renamed[8], renamed[12]);
    good.deliver(1, renamed);
    EXPECT_EQ(p.sinks[0].frames + p.sinks[1].frames, 0u);
    for (int end = 0; end < 2; ++end) {
        sea_pair_stats stats{};
        p.ends[end]->stats(1 - end, &stats);
        EXPECT_EQ(stats.packets_in + stats.packets_out, 0u);
    }
    expect_long_put(p, 10'000);
}

TEST(net_transport, settles_with_dead_what_was_sent_to_a_rank_that_ended)
{
    pair p("127.0.0.1");
    auto data = noise(5'000'000);
    wait_for w[3];
    p.ends[0]->send(1, put(0, data, &w[0]));
    p.known[1] = false;
    p.ends[0]->peer_gone(1, false);
    EXPECT_EQ(w[0].status, SEA_ERR_DEAD);
    p.ends[0]->send(1, put(0, data, &w[1]));
    EXPECT_EQ(w[1].status, SEA_ERR_DEAD);
    EXPECT_FALSE(p.ends[0]->reach(1));
    EXPECT_TRUE(p.ends[0]->idle());
}

TEST(net_transport, counts_as_executed_what_was_sent_to_a_rank_that_left)
{
    pair p("127.0.0.1");
    auto data = noise(100);
    wait_for w;
    p.ends[0]->send(1, put(0, data, &w));
    p.ends[0]->peer_gone(1, true);
    EXPECT_EQ(w.status, SEA_OK);
}

TEST(net_transport, wakes_a_sleeper_through_its_descriptor)
{
    pair p("127.0.0.1");
    auto data = noise(8);
    wait_for w;
    EXPECT_TRUE(p.ends[1]->arm(false));
    EXPECT_EQ(p.ends[1]->deadline(), never) << "an idle transport needs no timer";
    p.ends[0]->send(1, put(0, data, &w));
    pollfd f{p.ends[1]->wake_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&f, 1, 2000), 1);
    p.ends[1]->disarm();
    EXPECT_TRUE(p.ends[1]->poll(now_ns()));
    EXPECT_EQ(p.sinks[1].frames, 1u);
    EXPECT_NE(p.ends[0]->deadline(), never) << "the probe timer runs until the acknowledgement is in";
}

TEST(net_transport, refuses_a_configuration_it_cannot_work_with)
{
    memory_sink s;
    int status = SEA_OK;
    EXPECT_EQ(make_net_transport({}, s, &status), nullptr);
    EXPECT_EQ(status, SEA_ERR_INVALID);
}

TEST(faults, are_read_from_text_and_misspelt_ones_are_named)
{
    fault_rates r;
    ASSERT_EQ(parse_faults("loss=0.05,dup=0.01,reorder=0.02,corrupt=0.5,seed=7", &r), SEA_OK);
    EXPECT_EQ(r.loss, 0.05);
    EXPECT_EQ(r.seed, 7u);
    EXPECT_EQ(parse_faults("", &r), SEA_OK);
    EXPECT_FALSE(r.any());
    for (const char *bad :
         {"los=0.1", "loss", "loss=2", "loss=x", "loss=0.1x", "seed=-1", "loss=0.1,,dup=0.1", "loss=-0.1"}) {
        EXPECT_EQ(parse_faults(bad, &r), SEA_ERR_INVALID) << bad;
        EXPECT_NE(std::string(last_error()).find("ONESEA_NET_FAULTS"), std::string::npos) << bad;
    }
}

TEST(udp_socket, is_opened_with_what_was_asked_for)
{
    udp_socket s;
    ASSERT_EQ(open_udp_socket("127.0.0.1", &s), SEA_OK);
    EXPECT_GT(s.port, 0);
    EXPECT_GE(s.receive_bytes, 200'000u);
    EXPECT_EQ(s.gro, supports_gro());
    ::close(s.fd);
    EXPECT_EQ(open_udp_socket("not an address", &s), SEA_ERR_INVALID);
    EXPECT_NE(std::string(last_error()).find("not an address"), std::string::npos);
    EXPECT_EQ(open_udp_socket("192.0.2.1", &s), SEA_ERR_SYSTEM) << "an address of no interface here";
}

TEST(udp_socket, addresses_are_read_and_written)
{
    for (const char *text : {"127.0.0.1", "10.1.2.3", "::1", "2001:db8::5"}) {
        ip_address a;
        ASSERT_TRUE(parse_ip(text, &a)) << text;
        EXPECT_EQ(to_string(a), text);
    }
    ip_address a;
    for (const char *text : {"", "localhost", "1.2.3", "::g", "fe80::1%nosuchinterface", "1.2.3.4%lo"})
        EXPECT_FALSE(parse_ip(text, &a)) << text;
}

TEST(udp_socket, interfaces_include_loopback)
{
    bool found = false;
    for (auto &i : list_interfaces()) found |= i.loopback && i.up && i.mtu > 0 && i.address.is_loopback();
    EXPECT_TRUE(found);
}
