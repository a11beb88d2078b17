// SPDX-License-Identifier: Apache-2.0
// The one system call that sends pieces of memory as datagrams, and how it is told to cut them.
#pragma once

#include "base/told_order.hpp"
#include "net/port.hpp"

#include <cstdint>
#include <cstring>
#include <netinet/udp.h>
#include <span>
#include <sys/socket.h>
#include <sys/uio.h>

namespace onesea::net {

// to: nullptr if the socket is connected. segment: the length of the datagrams that the kernel cuts it in; 0: it is
// one. Negative: errno tells.
inline ssize_t send_pieces(int fd, const endpoint *to, std::span<iovec> pieces, std::size_t segment, int flags = 0)
{
    msghdr message{};
    message.msg_name = to ? const_cast<sockaddr *>(&to->any) : nullptr;
    message.msg_namelen = to ? to->size : 0;
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(std::uint16_t))] = {};
    if (segment) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = IPPROTO_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto size = std::uint16_t(segment);
        std::memcpy(CMSG_DATA(c), &size, sizeof size);
    }
    tells_another_process();
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL | flags);
}

} // namespace onesea::net
