// SPDX-License-Identifier: Apache-2.0
// Where datagrams go out and come in, and the clock beside it: all that the net transport sees of the world. A UDP
// socket (socket_io), or one of a simulated network, so that the same code runs over both.
#pragma once

#include "net/link.hpp"
#include "net/net_transport.hpp"

#include <algorithm>
#include <netinet/in.h>
#include <span>
#include <vector>

namespace onesea::net {

bool is_v4(const peer_address &a);

// A peer's socket address as the kernel wants it.
struct endpoint {
    union {
        sockaddr_in v4;
        sockaddr_in6 v6;
        sockaddr any;
    };
    socklen_t size = 0;

    endpoint() : v6{} {}
    explicit endpoint(const peer_address &a);
    bool operator==(const endpoint &other) const;
};

// Which datagrams may come in at all.
struct entry_rules {
    enum class sources_are { any, some, all }; // `sources`: are not looked at; there may be others; nobody else
    std::uint32_t job_tag = 0, target = 0;
    sources_are who = sources_are::any;
    std::vector<endpoint> sources;
};

class datagram_port {
  public:
    virtual ~datagram_port() = default;

    virtual bool gso() const = 0;                                     // is it good to hand over many datagrams at once?
    virtual std::size_t receive_bytes() const = 0;                    // room for what has arrived, as charged
    virtual nanoseconds now() const = 0;                              // never goes back
    virtual transport::wake_set wake_fds() const { return {-1, -1}; } // one is readable when something has arrived

    // The peer with which most packets are exchanged. True: wake_fds() are others now.
    virtual bool prefer(const endpoint &) { return false; }

    // Nobody has called receive() for a while, and something may have arrived meanwhile.
    virtual void slept() {}

    // Spares receive() what the rules refuse, as far as that can be had for nothing: nobody may rely on it.
    virtual void admit(const entry_rules &) {}
    // How many datagrams never came to receive(): refused, or without room.
    virtual std::uint64_t dropped_before() { return 0; }

    // Sends packets in order, equal sizes in one system call, long ones as trains; how many the kernel took or refused
    // for good. Fewer than all: it has no room now.
    virtual unsigned send(const endpoint &to, std::span<const datagram> datagrams) = 0;

    // Gives what came with one system call to use(bytes, length of a datagram, from), which may change the bytes: whole
    // datagrams of one sender, of which only the last may be shorter. How many bytes there were; 0: nothing has
    // arrived.
    template <class Use>
    std::size_t receive(Use &&use)
    {
        arrivals batch;
        if (!receive_batch(&batch)) return 0;
        use(batch.bytes, batch.segment, batch.from);
        return std::max<std::size_t>(batch.bytes.size(), 1);
    }

  protected:
    // Datagrams of one sender: equal sizes (`segment`, not 0), only the last may be shorter. Aligned to 8 bytes; theirs
    // until the next call.
    struct arrivals {
        std::span<std::byte> bytes;
        std::size_t segment = 1;
        endpoint from;
    };
    virtual bool receive_batch(arrivals *batch) = 0;
};

} // namespace onesea::net
