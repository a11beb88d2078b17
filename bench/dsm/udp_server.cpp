// SPDX-License-Identifier: Apache-2.0
#include "dsm/udp_server.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <vector>

namespace bench {
namespace {

constexpr int wanted_buffer = 4 << 20;        // bytes; the kernel gives what net.core.rmem_max allows
constexpr suseconds_t look_for_stop = 100000; // microseconds

} // namespace

file_descriptor udp_socket(std::uint16_t &port)
{
    file_descriptor fd = bound_socket(SOCK_DGRAM, port);
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &wanted_buffer, sizeof wanted_buffer);
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &wanted_buffer, sizeof wanted_buffer);
    return fd;
}

udp_server::udp_server(int nodes, char *memory, std::uint64_t bytes)
    : memory_(memory), bytes_(bytes), service_(nodes), socket_(udp_socket(port_))
{
    const timeval patience{0, look_for_stop};
    if (setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) throw_system("server");
    thread_ = std::thread([this] { serve(); });
}

udp_server::~udp_server()
{
    stop_ = true;
    thread_.join();
}

void udp_server::serve()
{
    std::vector<char> data(65536);
    while (!stop_) {
        udp_request r;
        sockaddr_in from{};
        std::array<iovec, 2> parts = {iovec{&r, sizeof r}, iovec{data.data(), data.size()}};
        msghdr message{};
        message.msg_name = &from;
        message.msg_namelen = sizeof from;
        message.msg_iov = parts.data();
        message.msg_iovlen = parts.size();
        const ssize_t n = recvmsg(socket_.get(), &message, 0);
        if (n < static_cast<ssize_t>(sizeof r)) continue; // nothing, or nothing of ours
        try {
            take(from, r, data.data(), static_cast<std::size_t>(n) - sizeof r);
        } catch (const std::exception &e) {
            std::fprintf(stderr, "dsm on udp: serving thread: %s\n", e.what());
        }
    }
}

void udp_server::take(const sockaddr_in &from, const udp_request &r, const char *data, std::size_t bytes)
{
    const std::uint64_t name = std::uint64_t{from.sin_addr.s_addr} << 16 | from.sin_port;
    client &c = clients_[name];
    c.address = from;
    const bool writes = r.kind == dsm_request::write || r.kind == dsm_request::write_b;
    const bool accesses = writes || r.kind == dsm_request::read || r.kind == dsm_request::fetch_add;
    if (accesses && (r.length > bytes_ || r.address > bytes_ - r.length))
        throw std::runtime_error("a request is not inside this node's part");
    if (writes && bytes != r.length) throw std::runtime_error("a datagram is not as long as it says");
    if (writes) std::memcpy(memory_ + r.address, data, bytes);
    if (r.kind == dsm_request::write)
        count_piece(c, r);
    else if (r.kind == dsm_request::write_b)
        send(c, {r.serial, 0}, nullptr, 0);
    else if (r.kind == dsm_request::read)
        send(c, {r.serial, 0}, memory_ + r.address, r.length);
    else
        answer_once(name, c, r);
}

void udp_server::count_piece(client &c, const udp_request &r)
{
    if (r.serial != c.write) {
        c.write = r.serial;
        c.seen = 0;
    }
    if (++c.seen == r.pieces) c.complete++;
}

void udp_server::answer_once(std::uint64_t name, client &c, const udp_request &r)
{
    if (r.serial == c.serial) {
        if (c.answered) send(c, {c.serial, c.value}, nullptr, 0);
        return;
    }
    if (r.serial < c.serial) return; // late: answered long ago
    c.serial = r.serial;
    c.answered = false;
    act(name, c, r);
}

void udp_server::act(std::uint64_t name, client &c, const udp_request &r)
{
    switch (r.kind) {
    case dsm_request::fetch_add:
        return finish(
            c, __atomic_fetch_add(reinterpret_cast<std::int64_t *>(memory_ + r.address), r.value, __ATOMIC_SEQ_CST));
    case dsm_request::acquire:
        return finish(service_.acquire(name, r.address));
    case dsm_request::arrive:
        return finish(service_.arrive(name));
    case dsm_request::release:
        finish(service_.release(r.address));
        return finish(c, 0);
    case dsm_request::fence:
        return finish(c, static_cast<std::int64_t>(c.complete));
    case dsm_request::read:
    case dsm_request::write:
    case dsm_request::write_b:
    default:
        throw std::runtime_error("a request of no known kind");
    }
}

void udp_server::finish(const std::vector<dsm_service::client> &who)
{
    for (auto name : who) finish(clients_.at(name), 0);
}

void udp_server::finish(client &c, std::int64_t value)
{
    c.answered = true;
    c.value = value;
    send(c, {c.serial, value}, nullptr, 0);
}

void udp_server::send(const client &c, const udp_reply &reply, const char *data, std::size_t bytes)
{
    std::array<iovec, 2> parts = {iovec{const_cast<udp_reply *>(&reply), sizeof reply},
                                  iovec{const_cast<char *>(data), bytes}};
    msghdr message{};
    message.msg_name = const_cast<sockaddr_in *>(&c.address);
    message.msg_namelen = sizeof c.address;
    message.msg_iov = parts.data();
    message.msg_iovlen = bytes > 0 ? 2 : 1;
    // One that cannot be sent is one that is lost: the client asks again.
    if (sendmsg(socket_.get(), &message, 0) < 0 && errno != ECONNREFUSED && errno != ENOBUFS) throw_system("sendmsg");
}

} // namespace bench
