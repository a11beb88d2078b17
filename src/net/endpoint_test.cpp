// SPDX-License-Identifier: Apache-2.0
#include "net/endpoint.hpp"

#include "net/net_transport.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace onesea::net {
namespace {

peer_address peer(const char *v6_text, std::uint16_t port)
{
    peer_address a;
    EXPECT_EQ(inet_pton(AF_INET6, v6_text, a.address), 1) << v6_text;
    a.port = port;
    a.scope = 3;
    return a;
}

TEST(Endpoint, a_mapped_address_is_one_of_ipv4_for_the_kernel)
{
    const peer_address a = peer("::ffff:10.1.2.3", 4000);
    EXPECT_TRUE(is_v4(a));
    const endpoint e(a);
    EXPECT_EQ(e.size, sizeof(sockaddr_in));
    EXPECT_EQ(e.any.sa_family, AF_INET);
    EXPECT_EQ(e.v4.sin_addr.s_addr, inet_addr("10.1.2.3"));
    EXPECT_EQ(e.port(), 4000);
    address_bytes mapped;
    map_v4(e.v4.sin_addr, &mapped);
    EXPECT_TRUE(std::equal(mapped, mapped + sizeof mapped, a.address));
}

TEST(Endpoint, other_addresses_are_of_ipv6_with_their_interface)
{
    const peer_address a = peer("fe80::ffff:10.1.2.3", 4001);
    EXPECT_FALSE(is_v4(a));
    const endpoint e(a);
    EXPECT_EQ(e.size, sizeof(sockaddr_in6));
    EXPECT_EQ(e.any.sa_family, AF_INET6);
    EXPECT_TRUE(std::equal(a.address, a.address + sizeof a.address, e.v6.sin6_addr.s6_addr));
    EXPECT_EQ(e.v6.sin6_scope_id, 3u);
    EXPECT_EQ(e.port(), 4001);
}

TEST(Endpoint, equal_are_those_with_the_same_address_and_port)
{
    const endpoint one(peer("::ffff:10.1.2.3", 4000));
    EXPECT_TRUE(one == endpoint(peer("::ffff:10.1.2.3", 4000)));
    EXPECT_FALSE(one == endpoint(peer("::ffff:10.1.2.3", 4001)));
    EXPECT_FALSE(one == endpoint(peer("::ffff:10.1.2.4", 4000)));
    EXPECT_FALSE(one == endpoint(peer("::1", 4000)));
}

} // namespace
} // namespace onesea::net
