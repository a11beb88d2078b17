// SPDX-License-Identifier: Apache-2.0
// Transports in one process over real UDP sockets on loopback, in all modes, with damage and with strangers.
#include "net/net_transport.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "net/test_pair.hpp"
#include "net/udp_socket.hpp"
#include "net/virtual_pair.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

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

TEST(net_transport, lets_land_what_is_expected_where_packets_are_proven_in_pieces)
{
    for (auto mode : {secure_mode::off, secure_mode::auth, secure_mode::encrypt})
        for (std::uint32_t mtu : {1500u, 9000u, 65536u})
            for (const char *faults : {"", "loss=0.02,dup=0.02,reorder=0.02,seed=3"}) {
                SCOPED_TRACE(testing::Message() << "mode " << int(mode) << " mtu " << mtu << " " << faults);
                pair p("127.0.0.1", mode, mtu, faults);
                p.sinks[1].tell(0, 64, 3'000'001);
                expect_long_put(p, 3'000'001);
                const bool proven_whole = mode == secure_mode::encrypt || *faults;
                EXPECT_GE(p.sinks[1].landed, mtu == 65536 && !proven_whole ? 2'000'000u : 0u);
                EXPECT_LE(p.sinks[1].landed, proven_whole ? 0u : 3'000'000u);
            }
}

// The two ends know nothing of each other's.
TEST(net_transport, carries_long_puts_whatever_was_tuned_at_either_end)
{
    profile least, most;
    for (path_kind path : {path_kind::loopback, path_kind::ethernet})
        for (const parameter &p : parameters_of(path)) {
            least.of(path).*p.value = p.least;
            most.of(path).*p.value = p.most;
        }
    const profile all[] = {{}, least, most};
    for (std::uint32_t mtu : {1500u, 65536u})
        for (const profile &here : all)
            for (const profile &there : all) {
                SCOPED_TRACE(testing::Message() << "mtu " << mtu << ": " << &here - all << ", " << &there - all);
                pair p("127.0.0.1", secure_mode::auth, mtu);
                p.make_end(0, here);
                p.make_end(1, there);
                EXPECT_LE(p.ends[0]->max_frame(1), here.of(path_of_mtu(mtu)).fragment);
                EXPECT_EQ(p.ends[0]->tuning(1), here.of(path_of_mtu(mtu)));
                expect_long_put(p, 1'000'001);
                auto data = noise(8);
                std::vector<wait_for> w(2000);
                for (std::size_t i = 0; i < w.size(); ++i) p.ends[1]->send(0, put(8 * i, data, &w[i]));
                ASSERT_TRUE(p.run([&] { return p.ends[1]->idle(); }));
                for (auto &one : w) ASSERT_EQ(one.status, SEA_OK);
            }
}

// All of a long put is queued at once: what is under way without an answer is a window.
TEST(net_transport, has_no_more_under_way_than_its_window)
{
    for (std::uint32_t window : {16u << 10, 64u << 10, 256u << 10}) {
        profile tuning;
        tuning.of(path_kind::ethernet).window = window;
        pair p("127.0.0.1", secure_mode::auth, 1500);
        p.make_end(0, tuning);
        auto data = noise(2'000'000);
        wait_for w;
        p.ends[0]->send(1, put(0, data, &w));
        const std::uint64_t packets = p.counts[0].row_of(1).counts.packets_out;
        EXPECT_GT(packets, 1u);
        EXPECT_LE(packets * 1500, window);
        ASSERT_TRUE(p.run([&] { return w.status != 1; }));
    }
}

TEST(net_transport, survives_damage_on_a_real_socket)
{
    pair p("127.0.0.1", secure_mode::auth, 1500, "loss=0.05,dup=0.05,reorder=0.05,corrupt=0.02,seed=3");
    expect_long_put(p, 2'000'000);
    const pair_row &row = p.counts[0].row_of(1);
    EXPECT_GT(row.counts.packets_lost, 0u);
    EXPECT_GT(row.smoothed_ns, 0u);
    const histogram_copy trips = row.round_trips.copy();
    EXPECT_GT(trips.samples(), 0u);
    EXPECT_LE(trips.quantile(0.5), trips.quantile(0.99));
    EXPECT_LE(trips.quantile(0.99), trips.longest);
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
    EXPECT_LT(p.counts[0].row_of(1).counts.packets_out, w.size() / 20);
}

// Both at once, also while something else is under way and others would wait for company.
TEST(net_transport, sends_what_follows_at_once_in_the_same_packet)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    auto data = noise(8);
    wait_for w[6];
    for (int i = 0; i < 6; i += 2) {
        const std::uint64_t before = p.counts[0].row_of(1).counts.packets_out;
        outgoing ahead = put(8 * std::size_t(i), data, &w[i]), behind = put(8 * std::size_t(i) + 8, data, &w[i + 1]);
        ahead.ordered = behind.ordered = true;
        ahead.more = true;
        p.ends[0]->send(1, ahead);
        EXPECT_EQ(p.counts[0].row_of(1).counts.packets_out, before);
        p.ends[0]->send(1, behind);
        EXPECT_EQ(p.counts[0].row_of(1).counts.packets_out, before + 1) << i;
    }
    p.ends[0]->flush();
    ASSERT_TRUE(p.run([&] { return p.ends[0]->idle(); }));
    for (auto &one : w) ASSERT_EQ(one.status, SEA_OK);
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
    pollfd f{p.ends[1]->wake_fds()[0], POLLIN, 0};
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

// Who waits is woken for what a round of progress brings, so it must say that it brought something.
TEST(net_transport, says_that_something_has_come_when_it_was_kept_back_before)
{
    pair p("127.0.0.1", secure_mode::auth, 65536, "reorder=1");
    auto data = noise(8);
    wait_for w;
    p.ends[0]->send(1, put(0, data, &w));
    for (const auto until = now_ns() + 2 * second; p.ends[1]->arm(false) && now_ns() < until;)
        p.ends[1]->poll(now_ns());
    ASSERT_FALSE(p.ends[1]->arm(false)) << "nothing is kept back";
    EXPECT_EQ(p.sinks[1].frames, 0u);
    EXPECT_TRUE(p.ends[1]->poll(now_ns()));
    EXPECT_EQ(p.sinks[1].frames, 1u);
}

TEST(faults, are_read_from_text_and_misspelt_ones_are_named)
{
    fault_rates r;
    ASSERT_EQ(parse_faults("loss=0.05,dup=0.01,reorder=0.02,corrupt=0.5,seed=7", &r), SEA_OK);
    EXPECT_EQ(r.loss, 0.05);
    EXPECT_EQ(r.seed, 7u);
    EXPECT_EQ(r.give_up, 0u);
    ASSERT_EQ(parse_faults("longest=1400", &r), SEA_OK);
    EXPECT_EQ(r.longest, 1400u);
    ASSERT_EQ(parse_faults("give_up=3", &r), SEA_OK);
    EXPECT_EQ(r.give_up, 3u * second);
    EXPECT_EQ(parse_faults("", &r), SEA_OK);
    EXPECT_FALSE(r.any());
    for (const char *bad : {"los=0.1", "loss", "loss=2", "loss=x", "loss=0.1x", "seed=-1", "loss=0.1,,dup=0.1",
                            "loss=-0.1", "longest=1199", "give_up=0", "give_up=1.5"}) {
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

namespace {

struct waiting_packets : virtual_pair {
    wait_for w[3];

    waiting_packets() : virtual_pair(65536)
    {
        const auto data = noise(8000);
        for (wait_for &each : w) ends[0]->send(1, put(0, data, &each));
        for (nanoseconds t = 0; t < millisecond; t += microsecond) ends[0]->poll(now + t);
        now += millisecond;
    }
    std::size_t bytes_of_one_look()
    {
        ends[1]->poll(now);
        return sinks[1].bytes;
    }
};

} // namespace

// That they are whole is no reason to let the next one wait.
TEST_F(waiting_packets, are_taken_in_together) { EXPECT_EQ(bytes_of_one_look(), 3 * 8000u); }

// Of nobody: it takes time nevertheless, and others are to be served.
TEST_F(waiting_packets, of_a_flood_are_left_for_the_next_look)
{
    constexpr std::size_t each = 32'000, many = 200;
    for (std::size_t i = 0; i < many; ++i) {
        ports[1].wire.push_back({now, std::vector<std::uint64_t>(each / 8), each, ports[2].own});
        ports[1].charged += ports[1].wire.back().charge();
    }
    const std::size_t before = ports[1].wire.size();
    EXPECT_TRUE(ends[1]->poll(now));
    EXPECT_GT(before - ports[1].wire.size(), 3u);
    EXPECT_LT(before - ports[1].wire.size(), many / 4);
    while (ends[1]->poll(now)) continue;
    EXPECT_TRUE(ports[1].wire.empty());
    EXPECT_EQ(sinks[1].bytes, 3 * 8000u);
}

// The kernel takes its time to tell that there is nothing more.
TEST_F(waiting_packets, are_taken_in_until_the_program_may_go_on)
{
    sinks[1].enough = 8000;
    EXPECT_EQ(bytes_of_one_look(), 8000u);
    EXPECT_GT(bytes_of_one_look(), 8000u) << "the others when it asks again";
}
