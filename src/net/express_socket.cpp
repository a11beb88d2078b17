// SPDX-License-Identifier: Apache-2.0
#include "net/express_socket.hpp"
#include "base/descriptor.hpp"

#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace onesea::net {
namespace {

constexpr unsigned singles_until_plain = 256, joinable_until_gro = 4;
constexpr std::size_t least_joinable = 1200, most_joinable = 16 * 1024; // bytes of a datagram worth joining

bool set(int fd, int level, int name, int value) { return setsockopt(fd, level, name, &value, sizeof value) == 0; }

// False: there is not as much to be had. The forced form ignores the system's limit.
bool set_buffer_like(int main, int fd, int name, int forced)
{
    const int given = option_of(main, SOL_SOCKET, name); // twice what was asked for
    if (!set(fd, SOL_SOCKET, forced, given / 2)) set(fd, SOL_SOCKET, name, given / 2);
    return option_of(fd, SOL_SOCKET, name) >= given;
}

} // namespace

int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

express_socket::~express_socket()
{
    if (fd_ >= 0) ::close(fd_);
}

int express_socket::open_like(int main)
{
    endpoint own;
    own.size = sizeof own.v6;
    if (getsockname(main, &own.any, &own.size) != 0) return -1;
    const bool v4 = own.any.sa_family == AF_INET;
    int fd = above_standard(socket(own.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return -1;
    const bool roomy = set_buffer_like(main, fd, SO_RCVBUF, SO_RCVBUFFORCE);
    set_buffer_like(main, fd, SO_SNDBUF, SO_SNDBUFFORCE);
    const int level = v4 ? IPPROTO_IP : IPPROTO_IPV6, discover = v4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER;
    set(fd, level, discover, option_of(main, level, discover));
    gro_ = option_of(main, IPPROTO_UDP, UDP_GRO) == 1 && set(fd, IPPROTO_UDP, UDP_GRO, 1);
    if (roomy && set(fd, SOL_SOCKET, SO_REUSEPORT, 1) && bind(fd, &own.any, own.size) == 0) return fd;
    ::close(fd);
    return -1;
}

bool express_socket::connect_to(const endpoint &peer, int main)
{
    bool opened = false;
    if (fd_ < 0) {
        if (calls_to_pass_ > 0) return --calls_to_pass_, false;
        fd_ = open_like(main);
        opened = fd_ >= 0;
        if (!opened) calls_to_pass_ = calls_between_tries;
    }
    if (fd_ < 0) return false;
    peer_ = peer;
    connected_ = connect(fd_, &peer.any, peer.size) == 0;
    return opened;
}

void express_socket::set_gro(bool on)
{
    if (gro_) set(fd_, IPPROTO_UDP, UDP_GRO, on);
    state_ = on ? state::joining : state::draining;
    run_ = 0;
}

void express_socket::took_one(std::size_t bytes)
{
    const bool joinable = bytes >= least_joinable && bytes <= most_joinable;
    const bool behind_one = std::exchange(joinable_before_, joinable) && bytes < least_joinable;
    if (behind_one && state_ != state::joining) return; // the end of what was sent in one
    if (joinable == (state_ == state::joining)) {
        run_ = 0;
        return;
    }
    const unsigned limit = state_ == state::joining ? singles_until_plain : joinable_until_gro;
    if (++run_ >= limit) set_gro(state_ != state::joining);
}

void express_socket::was_empty()
{
    if (state_ == state::draining) state_ = state::plain;
}

} // namespace onesea::net
