// SPDX-License-Identifier: Apache-2.0
// The serving thread of the TCP wire. It waits in epoll for all connections. What comes on one goes through a buffer
// from which as many requests are taken as have come; the data of a long WRITE goes from the socket straight to its
// place.
#pragma once

#include "dsm/service.hpp"
#include "dsm/socket_wire.hpp"

#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace bench {

struct tcp_request {
    dsm_request kind;
    std::uint32_t unused;
    std::uint64_t address; // in the part; or the number of a lock
    std::uint64_t length;  // of the data that follows (WRITE) or is wanted (READ)
    std::int64_t value;    // what is added
};
using tcp_reply = std::int64_t; // READ is answered by the bare data

class tcp_server {
  public:
    tcp_server(int nodes, char *memory, std::uint64_t bytes);
    ~tcp_server();
    std::uint16_t port() const { return port_; }

  private:
    static constexpr std::size_t buffer_bytes = 65536;

    struct connection {
        connection(std::uint64_t n, file_descriptor s) : name(n), socket(std::move(s)), buffer(buffer_bytes) {}
        std::uint64_t name;
        file_descriptor socket;
        std::vector<char> buffer;
        std::size_t begin = 0, end = 0; // of what is in the buffer
        char *into = nullptr;           // where the rest of a WRITE goes
        std::uint64_t rest = 0;
        bool acknowledge = false;
    };

    void serve();
    void accept_one();
    bool receive(connection &c); // false: it has ended
    void take_requests(connection &c);
    void begin_write(connection &c, const tcp_request &r);
    void take_rest(connection &c);
    void answer(connection &c, const tcp_request &r);
    void answer_all(const std::vector<dsm_service::client> &who);
    void check_range(const tcp_request &r) const;

    char *memory_;
    std::uint64_t bytes_;
    dsm_service service_;
    std::uint16_t port_ = 0;
    file_descriptor listener_, epoll_, stop_;
    std::map<std::uint64_t, connection> connections_;
    std::uint64_t next_ = 2; // 0 and 1 are the listener and the stop
    std::thread thread_;
};

void send_all(int socket, const void *head, std::size_t head_bytes, const void *data, std::size_t bytes);
void receive_all(int socket, void *data, std::size_t bytes);

} // namespace bench
