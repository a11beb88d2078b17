// SPDX-License-Identifier: Apache-2.0
// The `net` transport: frames between ranks over authenticated, reliable UDP. See README.md and docs/protocol.md.
#pragma once

#include "base/counts_page.hpp"
#include "base/profile.hpp"
#include "base/transport.hpp"
#include "net/constants.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace onesea::net {

// Where a rank's socket is: IPv6, or IPv4 mapped (::ffff:a.b.c.d).
struct peer_address {
    std::uint8_t address[16] = {};
    std::uint16_t port = 0;  // host byte order
    std::uint32_t mtu = 0;   // of the peer's interface, bytes; 0: unknown, 1500 is taken
    std::uint32_t scope = 0; // IPv6 scope id as this machine sees it
};

// The same numbers as shm::secure_mode.
enum class secure_mode : std::uint32_t { off = 0, auth = 1, encrypt = 2 };

// Damage done on purpose to what is received, to show that it is survived. Rates are 0 .. 1 per datagram.
struct fault_rates {
    double loss = 0, dup = 0, reorder = 0, corrupt = 0;
    std::uint64_t seed = 1;
    nanoseconds give_up = 0;   // instead of that of net_config; 0: that one holds
    std::uint64_t longest = 0; // bytes: longer datagrams are lost; 0: none is
    bool any() const { return loss > 0 || dup > 0 || reorder > 0 || corrupt > 0 || longest > 0; }
};

inline constexpr const char *faults_variable = "ONESEA_NET_FAULTS";

// Reads "loss=0.05,dup=0.01,reorder=0.02,corrupt=0.01,longest=1400,seed=7,give_up=3" (in seconds). SEA_OK, or
// SEA_ERR_INVALID with the text of sea_last_error() set, naming what is misspelt. Empty text: no faults.
int parse_faults(std::string_view text, fault_rates *result);

class datagram_port;

struct net_config {
    int rank = 0;
    int udp_fd = -1; // bound UDP socket of this rank; stays the caller's to close, after the transport is gone
    datagram_port *port = nullptr; // tests: a simulated network instead of udp_fd; outlives the transport
    std::array<std::uint8_t, 32> job_key{};
    secure_mode secure = secure_mode::auth;
    std::uint32_t own_mtu = 1500; // of the interface that udp_fd is bound to
    profile tuning;
    // Where a rank can be reached; false if it is not known (no such rank, or it has ended). Any thread may call it.
    std::function<bool(int rank, peer_address *where)> lookup;
    std::function<int()> ranks;            // how many numbers the job has given out; any thread. Empty: unknown
    bool filter = true;                    // false: tests of what the transport itself refuses
    counts_page *counts = nullptr;         // where it counts; outlives the transport
    nanoseconds give_up = default_give_up; // silence with work outstanding: SEA_ERR_LINK
    std::uint32_t trust = 256;             // packets without a loss before there are trains (train.hpp)
    fault_rates faults;                    // filled by the caller with parse_faults(getenv(faults_variable))
};

// nullptr on failure, with the status in *status and the text of sea_last_error() set.
std::unique_ptr<transport> make_net_transport(net_config config, sink &to, int *status = nullptr);

} // namespace onesea::net
