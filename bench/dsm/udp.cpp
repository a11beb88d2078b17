// SPDX-License-Identifier: Apache-2.0
// The DSM on UDP: one connected socket to every other node's serving thread, on which the accesses of this node go one
// after the other. WRITE sends and returns: what the other side's buffer does not hold is lost, and counted. READ and
// WRITE_B keep up to udp_window pieces under way and send again what is not answered in time, as does whatever
// synchronises. A wait for a lock or at the barrier has a socket of its own, so that it holds up nothing else.
#include "dsm/lost.h"
#include "dsm/udp_server.hpp"

#include "../../compat/dsm/include/dsm.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <sys/socket.h>
#include <sys/uio.h>

namespace bench {
namespace {

constexpr suseconds_t first_patience =
    20000; // microseconds until a request is sent again, then twice as long each time
constexpr suseconds_t last_patience = 640000;
constexpr int tries = 60; // half a minute: the other node is gone

std::atomic<std::uint64_t> lost_writes{0};

struct piece { // of a READ or WRITE_B that is under way
    std::uint64_t serial, offset, length;
};

// One socket to one server, and the requests of one thread at a time on it.
class channel {
  public:
    explicit channel(std::uint16_t port) : socket_(udp_socket(own_port_))
    {
        const sockaddr_in at = loopback(port);
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr *>(&at), sizeof at) != 0) throw_system("connect");
        wait_for(first_patience);
    }

    std::mutex mutex;
    bool written = false; // since the last fence

    // With one answer; `forever`: the wait is for other programs, and has no limit.
    std::int64_t ask(dsm_request kind, std::uint64_t address, std::int64_t value, bool forever)
    {
        const udp_request r{kind, 1, ++serial_, address, kind == dsm_request::fetch_add ? sizeof value : 0, value};
        udp_reply reply{};
        send(r, nullptr, 0);
        for (int left = tries; receive(reply, nullptr, 0) < 0 || reply.serial != r.serial;) {
            if (!expired_) continue; // an old answer
            if (--left == 0 && !forever) throw std::runtime_error("the other node does not answer");
            send(r, nullptr, 0);
        }
        wait_for(first_patience);
        return reply.value;
    }

    void write(std::uint64_t address, const char *data, std::uint64_t length)
    {
        const auto pieces = static_cast<std::uint32_t>((length + udp_piece_bytes - 1) / udp_piece_bytes);
        udp_request r{dsm_request::write, pieces, ++serial_, address, 0, 0};
        for (std::uint64_t offset = 0; offset < length; offset += r.length) {
            r.address = address + offset;
            r.length = std::min(udp_piece_bytes, length - offset);
            send(r, data + offset, r.length);
        }
        written = true;
        sent_++;
    }

    // READ (data is filled) and WRITE_B.
    void transfer(dsm_request kind, std::uint64_t address, char *data, std::uint64_t length)
    {
        std::deque<piece> under_way;
        std::uint64_t next = 0;
        int left = tries;
        const auto send_piece = [&](const piece &p) {
            const bool writes = kind == dsm_request::write_b;
            send({kind, 1, p.serial, address + p.offset, p.length, 0}, writes ? data + p.offset : nullptr,
                 writes ? p.length : 0);
        };
        while (next < length || !under_way.empty()) {
            while (next < length && under_way.size() < udp_window) {
                under_way.push_back({++serial_, next, std::min(udp_piece_bytes, length - next)});
                send_piece(under_way.back());
                next += under_way.back().length;
            }
            if (take_answer(kind, data, under_way)) continue;
            if (--left == 0) throw std::runtime_error("the other node does not answer");
            for (const piece &p : under_way) send_piece(p);
        }
        wait_for(first_patience);
    }

    // Counts what has been lost since the last time.
    void fence()
    {
        const auto whole = static_cast<std::uint64_t>(ask(dsm_request::fence, 0, 0, false));
        const std::uint64_t lost = sent_ - whole;
        lost_writes += lost - counted_;
        counted_ = lost;
        written = false;
    }

  private:
    // False if none has come in time. The data of a READ is copied once more than on TCP: which piece it is, is known
    // only when it is here.
    bool take_answer(dsm_request kind, char *data, std::deque<piece> &under_way)
    {
        udp_reply reply{};
        const bool reads = kind == dsm_request::read;
        const ssize_t n = receive(reply, scratch_.data(), reads ? scratch_.size() : 0);
        if (n < 0) return !expired_;
        auto at = std::find_if(under_way.begin(), under_way.end(), [&](auto &p) { return p.serial == reply.serial; });
        if (at == under_way.end() || (reads && static_cast<std::uint64_t>(n) != at->length)) return true;
        if (reads) std::memcpy(data + at->offset, scratch_.data(), at->length);
        under_way.erase(at);
        return true;
    }

    void send(const udp_request &r, const char *data, std::size_t bytes)
    {
        std::array<iovec, 2> parts = {iovec{const_cast<udp_request *>(&r), sizeof r},
                                      iovec{const_cast<char *>(data), bytes}};
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = bytes > 0 ? 2 : 1;
        while (sendmsg(socket_.get(), &message, 0) < 0)
            if (errno != EINTR) throw_system("sendmsg");
    }

    // The bytes behind the answer, or -1: none came; expired_ if it was waited for long enough.
    ssize_t receive(udp_reply &reply, char *data, std::size_t room)
    {
        std::array<iovec, 2> parts = {iovec{&reply, sizeof reply}, iovec{data, room}};
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = room > 0 ? 2 : 1;
        const ssize_t n = recvmsg(socket_.get(), &message, 0);
        expired_ = n < 0 && errno == EAGAIN;
        if (n < 0 && errno != EAGAIN && errno != EINTR) throw_system("recvmsg");
        if (expired_) wait_for(std::min(patience_ * 2, last_patience));
        return n < static_cast<ssize_t>(sizeof reply) ? -1 : n - static_cast<ssize_t>(sizeof reply);
    }

    void wait_for(suseconds_t patience)
    {
        if (patience == patience_) return;
        patience_ = patience;
        const timeval t{0, patience};
        if (setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) != 0) throw_system("setsockopt");
    }

    std::uint16_t own_port_ = 0;
    file_descriptor socket_;
    suseconds_t patience_ = 0;
    bool expired_ = false;
    std::uint64_t serial_ = 0, sent_ = 0, counted_ = 0;
    std::vector<char> scratch_ = std::vector<char>(udp_piece_bytes);
};

struct peer {
    std::uint16_t port = 0;
    std::optional<channel> data;
    std::mutex idle_mutex;     // of `idle`
    std::list<channel> idle{}; // for waiting, and nobody waits on them
};

class udp_wire : public socket_wire {
  public:
    int connect() override
    {
        server_.emplace(nodes(), memory(), bytes());
        std::vector<std::uint64_t> ports;
        exchange(server_->port(), ports);
        peers_ = std::vector<peer>(ports.size());
        for (std::size_t i = 0; i < ports.size(); i++) {
            peers_[i].port = static_cast<std::uint16_t>(ports[i]);
            peers_[i].data.emplace(peers_[i].port);
        }
        return DSM_OK;
    }

    int read(int node, std::uint64_t address, void *data, std::uint64_t length) override
    {
        if (node == this->node())
            std::memcpy(data, memory() + address, length);
        else
            transfer(node, dsm_request::read, address, static_cast<char *>(data), length);
        return DSM_OK;
    }

    int write(int node, std::uint64_t address, const void *data, std::uint64_t length) override
    {
        if (node == this->node()) {
            std::memcpy(memory() + address, data, length);
            return DSM_OK;
        }
        channel &c = channel_of(node);
        std::lock_guard guard(c.mutex);
        c.write(address, static_cast<const char *>(data), length);
        return DSM_OK;
    }

    int write_b(int node, std::uint64_t address, const void *data, std::uint64_t length) override
    {
        if (node == this->node()) return write(node, address, data, length);
        transfer(node, dsm_request::write_b, address, const_cast<char *>(static_cast<const char *>(data)), length);
        return DSM_OK;
    }

    int fetch_add(int node, std::uint64_t address, std::int64_t add, std::int64_t &old) override
    {
        old = node == this->node() ? add_here(address, add) : ask(node, dsm_request::fetch_add, address, add);
        return DSM_OK;
    }

    int fence() override
    {
        for (peer &p : peers_) {
            std::lock_guard guard(p.data->mutex);
            if (p.data->written) p.data->fence();
        }
        return DSM_OK;
    }

    int acquire(int lock) override
    {
        wait_at(home_of(lock), dsm_request::acquire, static_cast<std::uint64_t>(lock));
        return DSM_OK;
    }

    int release(int lock) override
    {
        fence();
        ask(home_of(lock), dsm_request::release, static_cast<std::uint64_t>(lock), 0);
        return DSM_OK;
    }

    int barrier() override
    {
        fence();
        wait_at(0, dsm_request::arrive, 0);
        return DSM_OK;
    }

    int close() override
    {
        meet(); // all have their answers
        peers_.clear();
        server_.reset();
        leave();
        return DSM_OK;
    }

  private:
    channel &channel_of(int node) { return *peers_[static_cast<std::size_t>(node)].data; }

    void transfer(int node, dsm_request kind, std::uint64_t address, char *data, std::uint64_t length)
    {
        channel &c = channel_of(node);
        std::lock_guard guard(c.mutex);
        c.transfer(kind, address, data, length);
    }

    std::int64_t ask(int node, dsm_request kind, std::uint64_t address, std::int64_t value)
    {
        channel &c = channel_of(node);
        std::lock_guard guard(c.mutex);
        return c.ask(kind, address, value, false);
    }

    void wait_at(int node, dsm_request kind, std::uint64_t address)
    {
        peer &p = peers_[static_cast<std::size_t>(node)];
        std::list<channel> mine;
        {
            std::lock_guard guard(p.idle_mutex);
            if (!p.idle.empty()) mine.splice(mine.begin(), p.idle, p.idle.begin());
        }
        if (mine.empty()) mine.emplace_back(p.port);
        mine.front().ask(kind, address, 0, true);
        std::lock_guard guard(p.idle_mutex);
        p.idle.splice(p.idle.begin(), mine);
    }

    std::optional<udp_server> server_;
    std::vector<peer> peers_;
};

} // namespace
} // namespace bench

std::unique_ptr<dsm::wire> dsm::open_wire() { return std::make_unique<bench::udp_wire>(); }

std::uint64_t bench_dsm_lost_writes(void) { return bench::lost_writes; }
