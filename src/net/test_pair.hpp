// SPDX-License-Identifier: Apache-2.0
// Tests only: two transports in one process over real UDP sockets on loopback.
#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"
#include "net/net_transport.hpp"
#include "net/udp_socket.hpp"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <unistd.h>
#include <vector>

namespace onesea::net::test {

struct memory_sink final : sink {
    std::vector<std::byte> memory;
    std::uint64_t frames = 0, bytes = 0;
    std::uint64_t enough = ~0ull; // bytes, for the program to go on
    bool may_go_on() const override { return bytes >= enough; }
    std::vector<int> cut_off; // to whom the way was given up
    std::function<void()> on_frame;
    void unreachable(int rank) override { cut_off.push_back(rank); }
    void receive(int, const frame &head, std::span<const std::byte> payload) override
    {
        ++frames;
        bytes += payload.size();
        if (on_frame) on_frame();
        if (head.type != frame_type::put || payload.empty()) return;
        std::byte *to = memory.data() + head.position;
        if (payload.data() == to)
            landed += payload.size();
        else
            std::memcpy(to, payload.data(), payload.size());
        if (head.position == told.head.position)
            tell(told.source, head.position + payload.size(), told.bytes - payload.size());
    }

    // Where the rest of a long put belongs, as long as it comes without a gap.
    expectation told;
    std::uint64_t landed = 0; // bytes
    void tell(int source, std::uint64_t position, std::size_t left)
    {
        told.source = left ? source : -1;
        told.head.type = frame_type::put;
        told.head.position = position;
        told.to = memory.data() + position;
        told.bytes = left;
    }
    bool expects(expectation *next) override
    {
        const bool gap = told.source >= 0 && bytes != told.head.position - first;
        *next = told;
        return told.source >= 0 && !gap;
    }
    std::uint64_t first = 64; // position of the put
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
    std::uint16_t seen_at[2]; // the ports where they take each other to be
    memory_sink sinks[2];
    counts_page counts[2];
    net_config configs[2];
    std::unique_ptr<transport> ends[2];
    bool known[2] = {true, true};

    explicit pair(const char *address, secure_mode mode = secure_mode::auth, std::uint32_t mtu = 65536,
                  const char *faults = "", std::size_t buffer = wanted_socket_buffer, bool same_key = true,
                  bool filter = true)
    {
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(open_udp_socket(address, &sockets[i], buffer), SEA_OK) << last_error();
            seen_at[i] = sockets[i].port;
        }
        for (int i = 0; i < 2; ++i) {
            net_config &c = configs[i];
            c.rank = i;
            c.udp_fd = sockets[i].fd;
            c.job_key[31] = same_key ? 1 : std::uint8_t(i);
            c.secure = mode;
            c.own_mtu = mtu;
            c.filter = filter;
            c.ranks = [] { return 2; };
            c.counts = &counts[i];
            EXPECT_EQ(parse_faults(faults, &c.faults), SEA_OK);
            c.lookup = [this, address, mtu](int rank, peer_address *where) {
                if (rank < 0 || rank > 1 || !known[rank]) return false;
                ip_address ip;
                parse_ip(address, &ip);
                std::memcpy(where->address, ip.bytes, 16);
                where->port = seen_at[rank];
                where->mtu = mtu;
                return true;
            };
            sinks[i].memory.resize(32 << 20);
            make_end(i, {});
        }
    }
    // Again, before anything was sent.
    void make_end(int i, const profile &tuning)
    {
        configs[i].tuning = tuning;
        ends[i] = make_net_transport(configs[i], sinks[i]);
    }
    ~pair()
    {
        for (auto &s : sockets) ::close(s.fd);
    }
    const process_counts &drops(int end)
    {
        ends[end]->refresh_counts();
        return counts[end].process();
    }
    // Of no known protocol, job or rank: told by the kernel or by the transport.
    std::uint64_t strangers(int end) { return drops(end).not_ours + drops(end).kept_out; }
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

inline outgoing put(std::uint64_t position, const std::vector<std::byte> &data, delivery *done)
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

inline std::vector<std::byte> noise(std::size_t n)
{
    std::vector<std::byte> v(n);
    std::mt19937_64 random(n);
    for (auto &b : v) b = std::byte(random());
    return v;
}

inline void expect_long_put(pair &p, std::size_t bytes)
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

} // namespace onesea::net::test
