// SPDX-License-Identifier: Apache-2.0
// Addresses of sockets: 16 bytes, IPv6 or IPv4 mapped (::ffff:a.b.c.d), as ranks and launcher tell them, and the form
// that the kernel takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <sys/socket.h>

namespace onesea::net {

struct peer_address;

using address_bytes = std::uint8_t[16];
inline constexpr std::size_t v4_at = 12; // the four bytes of a mapped address

bool is_v4(const address_bytes &address);
bool is_v4(const peer_address &a);
void map_v4(const in_addr &a, address_bytes *result);

struct endpoint {
    union {
        sockaddr_in v4;
        sockaddr_in6 v6;
        sockaddr any;
    };
    socklen_t size = 0;

    endpoint() : v6{} {}
    endpoint(const address_bytes &address, std::uint16_t port, std::uint32_t scope);
    explicit endpoint(const peer_address &a);
    std::uint16_t port() const; // host byte order
    bool operator==(const endpoint &other) const;
};

} // namespace onesea::net
