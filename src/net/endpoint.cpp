// SPDX-License-Identifier: Apache-2.0
#include "net/endpoint.hpp"

#include "net/net_transport.hpp"

#include <cstring>

namespace onesea::net {
namespace {

constexpr std::uint8_t v4_prefix[v4_at] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

} // namespace

bool is_v4(const address_bytes &address) { return std::memcmp(address, v4_prefix, sizeof v4_prefix) == 0; }
bool is_v4(const peer_address &a) { return is_v4(a.address); }

void map_v4(const in_addr &a, address_bytes *result)
{
    std::memcpy(*result, v4_prefix, sizeof v4_prefix);
    std::memcpy(*result + v4_at, &a, sizeof a);
}

endpoint::endpoint(const address_bytes &address, std::uint16_t port, std::uint32_t scope) : v6{}
{
    if (is_v4(address)) {
        v4 = {};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&v4.sin_addr, address + v4_at, sizeof v4.sin_addr);
        size = sizeof v4;
    } else {
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        v6.sin6_scope_id = scope;
        std::memcpy(&v6.sin6_addr, address, sizeof v6.sin6_addr);
        size = sizeof v6;
    }
}

endpoint::endpoint(const peer_address &a) : endpoint(a.address, a.port, a.scope) {}

std::uint16_t endpoint::port() const { return ntohs(any.sa_family == AF_INET ? v4.sin_port : v6.sin6_port); }

bool endpoint::operator==(const endpoint &o) const
{
    if (any.sa_family != o.any.sa_family) return false;
    if (any.sa_family == AF_INET) return v4.sin_port == o.v4.sin_port && v4.sin_addr.s_addr == o.v4.sin_addr.s_addr;
    return v6.sin6_port == o.v6.sin6_port && std::memcmp(&v6.sin6_addr, &o.v6.sin6_addr, 16) == 0;
}

} // namespace onesea::net
