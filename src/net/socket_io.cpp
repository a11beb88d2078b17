// SPDX-License-Identifier: Apache-2.0
#include "net/socket_io.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace onesea::net {
namespace {

constexpr std::uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

} // namespace

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

static bool watch(int epoll_fd, int fd)
{
    epoll_event event{};
    event.events = EPOLLIN;
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool is_v4(const peer_address &a) { return std::memcmp(a.address, v4_prefix, sizeof v4_prefix) == 0; }

endpoint::endpoint(const peer_address &a) : v6{}
{
    if (is_v4(a)) {
        v4 = {};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(a.port);
        std::memcpy(&v4.sin_addr, a.address + 12, 4);
        size = sizeof v4;
    } else {
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(a.port);
        v6.sin6_scope_id = a.scope;
        std::memcpy(&v6.sin6_addr, a.address, 16);
        size = sizeof v6;
    }
}

bool endpoint::operator==(const endpoint &o) const
{
    if (any.sa_family != o.any.sa_family) return false;
    if (any.sa_family == AF_INET) return v4.sin_port == o.v4.sin_port && v4.sin_addr.s_addr == o.v4.sin_addr.s_addr;
    return v6.sin6_port == o.v6.sin6_port && std::memcmp(&v6.sin6_addr, &o.v6.sin6_addr, 16) == 0;
}

socket_io::socket_io(int fd, bool name_sources)
    : fd_(fd), name_sources_(name_sources),
      buffer_(static_cast<std::byte *>(::operator new[](buffer_bytes, std::align_val_t(64))))
{
    receive_bytes_ = std::size_t(std::max(option_of(fd, SOL_SOCKET, SO_RCVBUF), 0));
    epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd_ < 0 || !watch(epoll_fd_, fd)) log(level::debug, "no epoll: {}", std::strerror(errno));
}

socket_io::~socket_io()
{
    if (express_fd_ >= 0) ::close(express_fd_);
    if (epoll_fd_ >= 0) ::close(epoll_fd_);
}

// A socket like the main one at the same port; -1 if there cannot be one.
int socket_io::open_express()
{
    endpoint own;
    own.size = sizeof own.v6;
    if (epoll_fd_ < 0 || getsockname(fd_, &own.any, &own.size) != 0) return -1;
    const int family = own.any.sa_family, on = 1, bytes = int(receive_bytes_ / 2);
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (option_of(fd, SOL_SOCKET, SO_RCVBUF) >= int(receive_bytes_) &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 && bind(fd, &own.any, own.size) == 0 &&
        watch(epoll_fd_, fd)) {
        if (option_of(fd_, IPPROTO_UDP, UDP_GRO) == 1) setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
        const int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
        const int name = family == AF_INET ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER;
        const int discover = option_of(fd_, level, name);
        setsockopt(fd, level, name, &discover, sizeof discover);
        return fd;
    }
    ::close(fd);
    return -1;
}

void socket_io::prefer(const endpoint &peer)
{
    if (express_fd_ >= 0 && express_ == peer) return;
    if (express_fd_ < 0 && (express_fd_ = open_express()) < 0) return;
    express_ = peer;
    if (connect(express_fd_, &peer.any, peer.size) != 0) express_.size = 0;
}

// How many datagrams at the front may share a send: equal sizes, only the last may be shorter.
unsigned socket_io::group_at(std::span<const datagram> d) const
{
    unsigned n = 1;
    std::size_t total = d[0].bytes;
    while (gso_ && n < d.size() && n < gso_segments && d[n - 1].bytes == d[0].bytes && d[n].bytes <= d[0].bytes &&
           total + d[n].bytes <= gso_bytes)
        total += d[n++].bytes;
    return n;
}

int socket_io::send_group(const endpoint &to, std::span<const datagram> group)
{
    const bool express = express_fd_ >= 0 && express_.size && to == express_;
    const int fd = express ? express_fd_ : fd_;
    if (express && group.size() == 1 && group[0].count == 1) {
        auto piece = group[0].pieces[0];
        return ::send(fd, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 0 : errno;
    }
    iovec pieces[3 * gso_segments];
    std::size_t count = 0;
    for (const datagram &d : group)
        for (unsigned i = 0; i < d.count; ++i)
            pieces[count++] = {const_cast<std::byte *>(d.pieces[i].data()), d.pieces[i].size()};
    msghdr message{};
    message.msg_name = express ? nullptr : const_cast<sockaddr *>(&to.any);
    message.msg_namelen = express ? 0 : to.size;
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(std::uint16_t))] = {};
    if (group.size() > 1) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = IPPROTO_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        auto segment = std::uint16_t(group[0].bytes);
        std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
    }
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 0 : errno;
}

// The path takes less than the interfaces promised: better in fragments than not at all.
void socket_io::allow_fragments(bool v4)
{
    int value = v4 ? IP_PMTUDISC_DONT : IPV6_PMTUDISC_DONT;
    for (int fd : {fd_, express_fd_}) {
        if (fd < 0) continue;
        if (v4)
            setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &value, sizeof value);
        else
            setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &value, sizeof value);
    }
    log(level::warn, "a datagram is too long for the path; IP fragments it from now on. Are all mtus equal?");
}

unsigned socket_io::send(const endpoint &to, std::span<const datagram> datagrams)
{
    unsigned done = 0;
    bool fragments_allowed = false, refused = false;
    while (done < datagrams.size()) {
        unsigned n = group_at(datagrams.subspan(done));
        int error = send_group(to, datagrams.subspan(done, n));
        if (error == EAGAIN || error == ENOBUFS || error == ENOMEM) return done;
        if (error == EINTR) continue;
        if (error == ECONNREFUSED && !refused) { // tells of an earlier one; this one was not sent
            refused = true;
            continue;
        }
        if ((error == EIO || error == EINVAL) && n > 1) {
            gso_ = false;
            log(level::info, "the interface does not cut sends ({}); going on without", std::strerror(error));
            continue;
        }
        if (error == EMSGSIZE && !fragments_allowed) {
            fragments_allowed = true;
            allow_fragments(to.any.sa_family == AF_INET);
            continue;
        }
        if (error) log(level::debug, "sending: {}", std::strerror(error)); // it counts as lost and is sent again
        done += n;
    }
    return done;
}

// The express socket first, but the others are not forgotten while it always has something.
bool socket_io::receive_batch(arrivals *batch)
{
    if (express_fd_ < 0) return receive_from(fd_, batch);
    const bool main_first = ++turn_ % 16 == 0;
    return receive_from(main_first ? fd_ : express_fd_, batch) || receive_from(main_first ? express_fd_ : fd_, batch);
}

bool socket_io::receive_from(int fd, arrivals *batch)
{
    iovec piece{buffer_.get(), buffer_bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_name = name_sources_ ? &batch->from.any : nullptr;
    message.msg_namelen = name_sources_ ? sizeof batch->from.v6 : 0;
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);
    if (n < 0) return errno == ECONNREFUSED; // a dead peer's answer; there may be more behind it
    batch->from.size = message.msg_namelen;
    batch->bytes = {buffer_.get(), std::size_t(n)};
    batch->segment = std::max<std::size_t>(batch->bytes.size(), 1);
    for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
        int size = 0;
        std::memcpy(&size, CMSG_DATA(c), sizeof size);
        if (size > 0) batch->segment = std::size_t(size);
    }
    return true;
}

} // namespace onesea::net
