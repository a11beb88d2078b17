// SPDX-License-Identifier: Apache-2.0
#include "net/udp_socket.hpp"

#include "onesea.h"

#include <gtest/gtest.h>
#include <set>
#include <unistd.h>
#include <vector>

namespace onesea::net {
namespace {

TEST(UdpSocketTest, no_two_sockets_have_the_same_port)
{
    std::set<std::uint16_t> ports;
    std::vector<int> open;
    for (int i = 0; i < 700; ++i) { // of some 28,000: were ports drawn blindly, a pair would be all but certain
        udp_socket s;
        ASSERT_EQ(SEA_OK, open_udp_socket("127.0.0.1", &s, 1 << 16));
        open.push_back(s.fd);
        EXPECT_TRUE(ports.insert(s.port).second) << s.port;
    }
    for (int fd : open) ::close(fd);
}

} // namespace
} // namespace onesea::net
