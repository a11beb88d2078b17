// SPDX-License-Identifier: Apache-2.0
// A second socket at the port of the main one, connected to the one peer with which most packets are exchanged. The
// kernel then finds route and socket without a search; a round trip gets a fifth shorter. It is connected anew when
// another peer becomes the busiest; what waits in it stays readable.
//
// Small packets that come one by one are taken with plain receives and without GRO, which spares another twentieth.
// A run of datagrams that GRO could join switches it on again. What the kernel joined before it was switched off still
// needs the long form: plain receives begin when the socket has been empty once.
#pragma once

#include "net/endpoint.hpp"

namespace onesea::net {

class express_socket {
  public:
    static constexpr unsigned calls_between_tries = 10'000; // one a millisecond while most packets are of one peer

    express_socket() = default;
    ~express_socket();
    express_socket(const express_socket &) = delete;
    express_socket &operator=(const express_socket &) = delete;

    int fd() const { return fd_; } // -1: there is none
    bool leads_to(const endpoint &peer) const { return fd_ >= 0 && connected_ && peer_ == peer; }
    bool plain() const { return state_ == state::plain; }

    // Opens it if need be, as a copy of `main`. True: it has been opened. Where that fails it is tried again after many
    // calls: descriptors and memory that were short may be there then.
    bool connect_to(const endpoint &peer, int main);

    // What a receive gave: one datagram of that size, many in one, or nothing.
    void took_one(std::size_t bytes);
    void took_many() { run_ = 0; }
    void was_empty();

  private:
    enum class state : std::uint8_t { joining, draining, plain };
    int fd_ = -1;
    bool connected_ = false, gro_ = false;
    bool joinable_before_ = false; // the last one
    unsigned calls_to_pass_ = 0;   // before it is tried again
    state state_ = state::joining;
    unsigned run_ = 0; // of datagrams that speak for the other state
    endpoint peer_;

    int open_like(int main);
    void set_gro(bool on);
};

// A socket option's number; -1 if there is no such.
int option_of(int fd, int level, int name);

} // namespace onesea::net
