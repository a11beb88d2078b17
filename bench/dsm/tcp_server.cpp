// SPDX-License-Identifier: Apache-2.0
#include "dsm/tcp_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace bench {
namespace {

constexpr std::uint64_t the_listener = 0, the_stop = 1;

void watch(int epoll, int fd, std::uint64_t name)
{
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = name;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) throw_system("epoll_ctl");
}

} // namespace

void send_all(int socket, const void *head, std::size_t head_bytes, const void *data, std::size_t bytes)
{
    std::array<iovec, 2> parts = {iovec{const_cast<void *>(head), head_bytes}, iovec{const_cast<void *>(data), bytes}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = bytes > 0 ? 2 : 1;
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) throw_system("send");
        for (auto &part : parts) {
            const std::size_t n = std::min(part.iov_len, static_cast<std::size_t>(sent));
            part = {static_cast<char *>(part.iov_base) + n, part.iov_len - n};
            sent -= static_cast<ssize_t>(n);
        }
    }
}

void receive_all(int socket, void *data, std::size_t bytes)
{
    for (char *at = static_cast<char *>(data); bytes > 0;) {
        const ssize_t n = recv(socket, at, bytes, MSG_WAITALL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw_system("recv");
        if (n == 0) throw std::runtime_error("the other node has closed its connection");
        at += n;
        bytes -= static_cast<std::size_t>(n);
    }
}

tcp_server::tcp_server(int nodes, char *memory, std::uint64_t bytes)
    : memory_(memory), bytes_(bytes), service_(nodes), listener_(bound_socket(SOCK_STREAM, port_)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)), stop_(eventfd(0, EFD_CLOEXEC))
{
    if (epoll_.get() < 0 || stop_.get() < 0 || listen(listener_.get(), SOMAXCONN) != 0) throw_system("server");
    watch(epoll_.get(), listener_.get(), the_listener);
    watch(epoll_.get(), stop_.get(), the_stop);
    thread_ = std::thread([this] { serve(); });
}

tcp_server::~tcp_server()
{
    eventfd_write(stop_.get(), 1);
    thread_.join();
}

void tcp_server::serve()
{
    std::array<epoll_event, 64> events;
    while (true) {
        const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
        for (int i = 0; i < count; i++) {
            const std::uint64_t name = events.at(static_cast<std::size_t>(i)).data.u64;
            if (name == the_stop) return;
            try {
                if (name == the_listener)
                    accept_one();
                else if (!receive(connections_.at(name)))
                    connections_.erase(name);
            } catch (const std::exception &e) {
                std::fprintf(stderr, "dsm on tcp: serving thread: %s\n", e.what());
                connections_.erase(name);
            }
        }
    }
}

void tcp_server::accept_one()
{
    file_descriptor s(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const int on = 1;
    if (s.get() < 0 || setsockopt(s.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) throw_system("accept");
    watch(epoll_.get(), s.get(), next_);
    connections_.try_emplace(next_, next_, std::move(s));
    next_++;
}

bool tcp_server::receive(connection &c)
{
    const bool direct = c.rest >= buffer_bytes; // the rest of a long WRITE
    if (!direct && c.begin > 0) {
        std::memmove(c.buffer.data(), c.buffer.data() + c.begin, c.end - c.begin);
        c.end -= c.begin;
        c.begin = 0;
    }
    char *into = direct ? c.into : c.buffer.data() + c.end;
    const std::size_t room = direct ? c.rest : buffer_bytes - c.end;
    const ssize_t n = recv(c.socket.get(), into, room, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) return false;
    if (direct) {
        c.into += n;
        c.rest -= static_cast<std::uint64_t>(n);
    } else {
        c.end += static_cast<std::size_t>(n);
    }
    take_requests(c);
    return true;
}

void tcp_server::take_requests(connection &c)
{
    take_rest(c);
    while (c.rest == 0 && c.end - c.begin >= sizeof(tcp_request)) {
        tcp_request r;
        std::memcpy(&r, c.buffer.data() + c.begin, sizeof r);
        c.begin += sizeof r;
        if (r.kind == dsm_request::write || r.kind == dsm_request::write_b)
            begin_write(c, r);
        else
            answer(c, r);
    }
}

void tcp_server::begin_write(connection &c, const tcp_request &r)
{
    check_range(r);
    c.into = memory_ + r.address;
    c.rest = r.length;
    c.acknowledge = r.kind == dsm_request::write_b;
    take_rest(c);
}

// Moves what the buffer has of the data of a WRITE; at its end the acknowledgement goes out.
void tcp_server::take_rest(connection &c)
{
    const std::size_t n = std::min<std::uint64_t>(c.rest, c.end - c.begin);
    if (n > 0) {
        std::memcpy(c.into, c.buffer.data() + c.begin, n);
        c.into += n;
        c.rest -= n;
        c.begin += n;
    }
    if (c.rest > 0 || !std::exchange(c.acknowledge, false)) return;
    const tcp_reply done = 0;
    send_all(c.socket.get(), &done, sizeof done, nullptr, 0);
}

void tcp_server::check_range(const tcp_request &r) const
{
    if (r.length > bytes_ || r.address > bytes_ - r.length)
        throw std::runtime_error("a request is not inside this node's part");
}

void tcp_server::answer(connection &c, const tcp_request &r)
{
    tcp_reply reply = 0;
    switch (r.kind) {
    case dsm_request::read:
        check_range(r);
        return send_all(c.socket.get(), memory_ + r.address, r.length, nullptr, 0);
    case dsm_request::fetch_add:
        check_range(r);
        reply = __atomic_fetch_add(reinterpret_cast<std::int64_t *>(memory_ + r.address), r.value, __ATOMIC_SEQ_CST);
        break;
    case dsm_request::acquire:
        return answer_all(service_.acquire(c.name, r.address));
    case dsm_request::arrive:
        return answer_all(service_.arrive(c.name));
    case dsm_request::release:
        answer_all(service_.release(r.address));
        break;
    case dsm_request::fence:
        break; // what came before it on this connection is in memory
    case dsm_request::write:
    case dsm_request::write_b:
    default:
        throw std::runtime_error("a request of no known kind");
    }
    send_all(c.socket.get(), &reply, sizeof reply, nullptr, 0);
}

void tcp_server::answer_all(const std::vector<dsm_service::client> &who)
{
    const tcp_reply reply = 0;
    for (auto client : who) send_all(connections_.at(client).socket.get(), &reply, sizeof reply, nullptr, 0);
}

} // namespace bench
