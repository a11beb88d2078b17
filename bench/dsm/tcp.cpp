// SPDX-License-Identifier: Apache-2.0
// The DSM on TCP: every node has a connection to every other one's serving thread, on which its accesses go one after
// the other. WRITE returns when the kernel has taken the data; READ, WRITE_B and what synchronises wait for the answer.
// A wait for a lock or for the others at the barrier has a connection of its own, so that it holds up nothing else.
#include "dsm/lost.h"
#include "dsm/tcp_server.hpp"

#include "../../compat/dsm/include/dsm.h"

#include <cstring>
#include <list>
#include <mutex>
#include <netinet/tcp.h>
#include <optional>
#include <sys/socket.h>

namespace bench {
namespace {

struct peer {
    std::uint16_t port = 0;
    std::mutex mutex; // of the connection
    std::optional<file_descriptor> socket;
    bool written = false;              // since the last answer that covers it
    std::mutex idle_mutex;             // of `idle`
    std::list<file_descriptor> idle{}; // connections for waiting that nobody waits on
};

file_descriptor connected(std::uint16_t port)
{
    file_descriptor s(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in at = loopback(port);
    const int on = 1;
    if (s.get() < 0 || connect(s.get(), reinterpret_cast<const sockaddr *>(&at), sizeof at) != 0 ||
        setsockopt(s.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        throw_system("connect");
    return s;
}

tcp_reply ask(int socket, const tcp_request &r, const void *data = nullptr)
{
    tcp_reply reply;
    send_all(socket, &r, sizeof r, data, data ? r.length : 0);
    receive_all(socket, &reply, sizeof reply);
    return reply;
}

class tcp_wire : public socket_wire {
  public:
    int connect() override
    {
        server_.emplace(nodes(), memory(), bytes());
        std::vector<std::uint64_t> ports;
        exchange(server_->port(), ports);
        peers_ = std::vector<peer>(ports.size());
        for (std::size_t i = 0; i < ports.size(); i++) {
            peers_[i].port = static_cast<std::uint16_t>(ports[i]);
            peers_[i].socket.emplace(connected(peers_[i].port));
        }
        return DSM_OK;
    }

    int read(int node, std::uint64_t address, void *data, std::uint64_t length) override
    {
        if (node == this->node()) {
            std::memcpy(data, memory() + address, length);
            return DSM_OK;
        }
        peer &p = peer_of(node);
        std::lock_guard guard(p.mutex);
        const tcp_request r{dsm_request::read, 0, address, length, 0};
        send_all(p.socket->get(), &r, sizeof r, nullptr, 0);
        receive_all(p.socket->get(), data, length);
        return DSM_OK;
    }

    int write(int node, std::uint64_t address, const void *data, std::uint64_t length) override
    {
        if (node == this->node()) {
            std::memcpy(memory() + address, data, length);
            return DSM_OK;
        }
        peer &p = peer_of(node);
        std::lock_guard guard(p.mutex);
        const tcp_request r{dsm_request::write, 0, address, length, 0};
        p.written = true;
        send_all(p.socket->get(), &r, sizeof r, data, length);
        return DSM_OK;
    }

    int write_b(int node, std::uint64_t address, const void *data, std::uint64_t length) override
    {
        if (node == this->node()) return write(node, address, data, length);
        ask_peer(node, {dsm_request::write_b, 0, address, length, 0}, data);
        return DSM_OK;
    }

    int fetch_add(int node, std::uint64_t address, std::int64_t add, std::int64_t &old) override
    {
        old = node == this->node() ? add_here(address, add)
                                   : ask_peer(node, {dsm_request::fetch_add, 0, address, sizeof add, add});
        return DSM_OK;
    }

    int fence() override
    {
        for (peer &p : peers_) {
            std::lock_guard guard(p.mutex);
            if (!p.written) continue;
            ask(p.socket->get(), {dsm_request::fence, 0, 0, 0, 0});
            p.written = false;
        }
        return DSM_OK;
    }

    int acquire(int lock) override
    {
        wait_at(home_of(lock), {dsm_request::acquire, 0, static_cast<std::uint64_t>(lock), 0, 0});
        return DSM_OK;
    }

    int release(int lock) override
    {
        fence();
        ask_peer(home_of(lock), {dsm_request::release, 0, static_cast<std::uint64_t>(lock), 0, 0});
        return DSM_OK;
    }

    int barrier() override
    {
        fence();
        wait_at(0, {dsm_request::arrive, 0, 0, 0, 0});
        return DSM_OK;
    }

    int close() override
    {
        meet();
        peers_.clear();
        server_.reset();
        leave();
        return DSM_OK;
    }

  private:
    peer &peer_of(int node) { return peers_[static_cast<std::size_t>(node)]; }

    tcp_reply ask_peer(int node, const tcp_request &r, const void *data = nullptr)
    {
        peer &p = peer_of(node);
        std::lock_guard guard(p.mutex);
        const tcp_reply reply = ask(p.socket->get(), r, data);
        p.written = false; // the server takes what comes on a connection in order
        return reply;
    }

    void wait_at(int node, const tcp_request &r)
    {
        peer &p = peer_of(node);
        std::list<file_descriptor> mine;
        {
            std::lock_guard guard(p.idle_mutex);
            if (!p.idle.empty()) mine.splice(mine.begin(), p.idle, p.idle.begin());
        }
        if (mine.empty()) mine.push_back(connected(p.port));
        ask(mine.front().get(), r);
        std::lock_guard guard(p.idle_mutex);
        p.idle.splice(p.idle.begin(), mine);
    }

    std::optional<tcp_server> server_;
    std::vector<peer> peers_;
};

} // namespace
} // namespace bench

std::unique_ptr<dsm::wire> dsm::open_wire() { return std::make_unique<bench::tcp_wire>(); }

std::uint64_t bench_dsm_lost_writes(void) { return 0; }
