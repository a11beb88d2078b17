// SPDX-License-Identifier: Apache-2.0
// The serving thread of the UDP wire: receives a datagram, does what it says, answers. An access of more than
// udp_piece_bytes comes in pieces. READ and WRITE_B may be done twice without harm, so a client that has heard nothing
// simply asks again; what changes more than its own bytes (fetch_add, locks, barrier) is remembered per client and not
// repeated. A WRITE is neither answered nor repeated: it is counted if all its pieces have come.
#pragma once

#include "dsm/service.hpp"
#include "dsm/socket_wire.hpp"

#include <array>
#include <atomic>
#include <map>
#include <thread>
#include <unordered_map>

namespace bench {

inline constexpr std::uint64_t udp_piece_bytes = 32768; // two for 64 KB, which no datagram holds
inline constexpr int udp_window = 4;                    // pieces under way: their buffers fit into a socket's

struct udp_request {
    dsm_request kind;
    std::uint32_t pieces;  // of the WRITE that this is one of
    std::uint64_t serial;  // grows with every request of a client; the same for all pieces of a WRITE
    std::uint64_t address; // in the part; or the number of a lock
    std::uint64_t length;  // of the data that follows, or is wanted
    std::int64_t value;    // what is added
};

struct udp_reply { // followed by the data of a READ
    std::uint64_t serial;
    std::int64_t value;
};

file_descriptor udp_socket(std::uint16_t &port);

class udp_server {
  public:
    udp_server(int nodes, char *memory, std::uint64_t bytes);
    ~udp_server();
    std::uint16_t port() const { return port_; }

  private:
    struct client {
        sockaddr_in address{};
        std::uint64_t serial = 0; // of the last request that is not to be repeated
        bool answered = true;
        std::int64_t value = 0;                          // the answer
        std::uint64_t write = 0, seen = 0, complete = 0; // the last WRITE, its pieces, and how many were whole
    };

    void serve();
    void take(const sockaddr_in &from, const udp_request &r, const char *data, std::size_t bytes);
    void count_piece(client &c, const udp_request &r);
    void answer_once(std::uint64_t name, client &c, const udp_request &r);
    void act(std::uint64_t name, client &c, const udp_request &r);
    void finish(const std::vector<dsm_service::client> &who);
    void finish(client &c, std::int64_t value);
    void send(const client &c, const udp_reply &reply, const char *data, std::size_t bytes);

    char *memory_;
    std::uint64_t bytes_;
    dsm_service service_;
    std::uint16_t port_ = 0;
    file_descriptor socket_;
    std::unordered_map<std::uint64_t, client> clients_; // by address and port
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

} // namespace bench
