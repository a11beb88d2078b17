// SPDX-License-Identifier: Apache-2.0
// Tests only: sockets on the loopback, and a loopback of a process's own.
#pragma once

#include "net/endpoint.hpp"
#include "net/net_transport.hpp"
#include "net/udp_socket.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onesea::net::test {

struct open_socket {
    udp_socket socket;
    endpoint where;
    open_socket()
    {
        EXPECT_EQ(open_udp_socket("127.0.0.1", &socket), SEA_OK);
        peer_address a{};
        a.address[10] = a.address[11] = 0xff;
        a.address[12] = 127;
        a.address[15] = 1;
        a.port = socket.port;
        where = endpoint(a);
    }
    ~open_socket() { ::close(socket.fd); }
    open_socket(const open_socket &) = delete;
    open_socket &operator=(const open_socket &) = delete;
};

inline constexpr int passed = 0, missed = 1, not_allowed = 77;

// For this process alone. False: this user may have none.
inline bool enter_own_network(int mtu)
{
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq lo{};
    std::strcpy(lo.ifr_name, "lo");
    lo.ifr_mtu = mtu;
    bool made = ioctl(fd, SIOCSIFMTU, &lo) == 0;
    lo.ifr_flags = IFF_UP | IFF_RUNNING;
    made = made && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
    ::close(fd);
    return made;
}

// What returns one of these numbers.
inline void in_a_process_of_its_own(int (*what)())
{
    const pid_t child = fork();
    if (child == 0) _exit(what());
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == not_allowed) GTEST_SKIP() << "no network of its own for this user";
    EXPECT_EQ(status, passed);
}

} // namespace onesea::net::test
