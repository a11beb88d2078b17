// SPDX-License-Identifier: Apache-2.0
// UDP sockets as the launcher opens them for ranks, and what this machine offers: interfaces, segmentation offload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onesea::net {

// IPv6 address bytes, or IPv4 mapped (::ffff:a.b.c.d).
struct ip_address {
    std::uint8_t bytes[16] = {};
    std::uint32_t scope = 0; // IPv6 only: number of the interface
    bool is_v4() const;
    bool is_loopback() const;
};

// "127.0.0.1", "10.1.2.3", "::1", "fe80::1%eth0". False if the text is no numeric address.
bool parse_ip(std::string_view text, ip_address *result);
std::string to_string(const ip_address &address);

inline constexpr std::size_t wanted_socket_buffer = 8 << 20; // bytes; the kernel may give less (net.core.rmem_max)

struct udp_socket {
    int fd = -1;                                   // close-on-exec; non-blocking
    std::uint16_t port = 0;                        // host byte order
    std::size_t receive_bytes = 0, send_bytes = 0; // as the kernel counts them (SO_RCVBUF, SO_SNDBUF read back)
    bool gro = false;
};

// A socket bound to that address and a free port, with big buffers, GRO and no fragmentation. The caller closes fd.
// SEA_OK, or SEA_ERR_SYSTEM with the text of sea_last_error() set.
int open_udp_socket(const ip_address &address, udp_socket *result, std::size_t buffer_bytes = wanted_socket_buffer);
int open_udp_socket(std::string_view address, udp_socket *result, std::size_t buffer_bytes = wanted_socket_buffer);

struct interface_info {
    std::string name;
    ip_address address;
    std::uint32_t mtu = 0;
    bool up = false, loopback = false;
};

// One entry per address of each interface, in the kernel's order; empty if the kernel does not tell.
std::vector<interface_info> list_interfaces();

// Can the kernel cut one send into many datagrams, and join received ones?
bool supports_gso();
bool supports_gro();

} // namespace onesea::net
