// SPDX-License-Identifier: Apache-2.0
// Anybody can send ICMP that seems to tell of a narrow path or of a host that is not there: it changes nothing for
// IPv4.
#include "net/test_network.hpp"

#include "net/socket_io.hpp"

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

constexpr std::uint16_t narrow = 552;

std::uint16_t checksum(const void *start, std::size_t bytes)
{
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i + 1 < bytes; i += 2) {
        std::uint16_t word;
        std::memcpy(&word, static_cast<const std::byte *>(start) + i, sizeof word);
        sum += word;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return std::uint16_t(~(sum + (sum >> 16)));
}

// As if a router had not let through what `from` sent to `to`.
bool forge(int raw, std::uint8_t code, const open_socket &from, const open_socket &to)
{
    struct {
        icmphdr head;
        iphdr ip;
        udphdr udp;
    } told{};
    told.head.type = ICMP_DEST_UNREACH;
    told.head.code = code;
    if (code == ICMP_FRAG_NEEDED) told.head.un.frag.mtu = htons(narrow);
    told.ip.version = 4;
    told.ip.ihl = 5;
    told.ip.protocol = IPPROTO_UDP;
    told.ip.ttl = 64;
    told.ip.tot_len = htons(1500);
    told.ip.saddr = told.ip.daddr = htonl(INADDR_LOOPBACK);
    told.ip.check = checksum(&told.ip, sizeof told.ip);
    told.udp.source = htons(from.socket.port);
    told.udp.dest = htons(to.socket.port);
    told.udp.len = htons(1480);
    told.head.checksum = checksum(&told, sizeof told);
    return sendto(raw, &told, sizeof told, 0, &from.where.any, from.where.size) == ssize_t(sizeof told);
}

// An Ethernet of its own, and a socket for ICMP on it; -1: this user may not.
int enter_network() { return enter_own_network(1500) ? socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) : -1; }

// Sends ten whole datagrams in one; how many came whole.
std::size_t send_ten(socket_io &io, const open_socket &to, socket_io &at)
{
    constexpr std::size_t bytes = 1472;
    std::vector<std::byte> data(bytes * 10);
    std::array<datagram, 10> ten;
    for (std::size_t n = 0; n < ten.size(); ++n) {
        ten[n].pieces[0] = std::span(data).subspan(n * bytes, bytes);
        ten[n].count = 1;
        ten[n].bytes = bytes;
    }
    if (io.send(to.where, ten) != ten.size()) return 0;
    std::size_t whole = 0;
    for (int looks = 0; looks < 20; ++looks)
        at.receive([&](const datagram_port::arrivals &batch) {
            for (std::size_t left = batch.bytes.size(); left > 0; left -= std::min(left, batch.segment))
                whole += std::min(left, batch.segment) == bytes;
        });
    return whole;
}

int send_beside_forged(std::uint8_t code, bool connected)
{
    const int raw = enter_network();
    if (raw < 0) return not_allowed;
    open_socket a, b;
    socket_io io(a.socket.fd, false), at_b(b.socket.fd, false);
    if (connected && !io.prefer(b.where)) return missed;
    for (int round = 0; round < 20; ++round) {
        if (!forge(raw, code, a, b) || send_ten(io, b, at_b) != 10 || !io.gso()) return missed;
    }
    return passed;
}

// Without a pause, while something is sent: none comes between two sends, but any number within one.
int send_within_a_flood()
{
    const int raw = enter_network();
    if (raw < 0) return not_allowed;
    open_socket a, b;
    socket_io io(a.socket.fd, false), at_b(b.socket.fd, false);
    if (!io.prefer(b.where)) return missed;
    std::atomic<bool> ends{false};
    std::thread flood([&] {
        while (!ends) forge(raw, ICMP_FRAG_NEEDED, a, b);
    });
    bool good = true;
    for (int round = 0; round < 1000 && good; ++round) good = send_ten(io, b, at_b) == 10 && io.gso();
    ends = true;
    flood.join();
    return good ? passed : missed;
}

} // namespace

TEST(forged_icmp, of_a_narrow_path_changes_nothing)
{
    in_a_process_of_its_own([] { return send_beside_forged(ICMP_FRAG_NEEDED, false); });
}

TEST(forged_icmp, of_a_narrow_path_changes_nothing_where_a_peer_is_preferred)
{
    in_a_process_of_its_own([] { return send_beside_forged(ICMP_FRAG_NEEDED, true); });
}

TEST(forged_icmp, in_any_number_changes_nothing) { in_a_process_of_its_own(send_within_a_flood); }

TEST(forged_icmp, of_a_port_without_listener_loses_nothing)
{
    in_a_process_of_its_own([] { return send_beside_forged(ICMP_PORT_UNREACH, true); });
}

TEST(forged_icmp, of_an_unknown_protocol_loses_nothing)
{
    in_a_process_of_its_own([] { return send_beside_forged(ICMP_PROT_UNREACH, true); });
}

TEST(forged_icmp, of_an_unknown_host_loses_nothing)
{
    in_a_process_of_its_own([] { return send_beside_forged(ICMP_HOST_UNKNOWN, true); });
}
