// SPDX-License-Identifier: Apache-2.0
// Where datagrams go out and come in, and the clock beside it: all that the net transport sees of the world. A UDP
// socket (socket_io), or one of a simulated network, so that the same code runs over both.
#pragma once

#include "net/endpoint.hpp"
#include "net/link.hpp"
#include "net/net_transport.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace onesea::net {

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

    // The peer with which most packets are exchanged. True: there is one more of wake_fds() now.
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

    // A part of the next datagram that had better lie elsewhere: what is behind its first bytes, as much as there is
    // room for.
    struct aside {
        std::size_t from = 0;
        std::span<std::byte> place; // empty: nothing
    };

    // Datagrams of one sender: equal sizes (`segment`, not 0), only the last may be shorter. Aligned to 8 bytes; theirs
    // until the next call.
    struct arrivals {
        std::span<std::byte> bytes;
        std::size_t segment = 1;
        endpoint from;
        bool parted = false; // what was to lie aside is there. No bytes: it cannot be written there, and was dropped
    };

    // Gives what came with one system call to use(arrivals), which may change the bytes. How many there were; 0:
    // nothing has arrived. Whatever comes may be written to the place aside.
    template <class Use>
    std::size_t receive(Use &&use, const aside &wanted)
    {
        arrivals batch;
        if (!receive_batch(wanted, &batch)) return 0;
        use(batch);
        return std::max<std::size_t>(batch.bytes.size(), 1);
    }
    template <class Use>
    std::size_t receive(Use &&use)
    {
        return receive(use, aside());
    }

    // For a port that has all in one piece: puts the part there, and leaves no trace of it. False: there is none.
    static bool put_aside(const aside &wanted, std::span<std::byte> bytes)
    {
        if (wanted.place.empty() || bytes.size() <= wanted.from) return false;
        const auto part = bytes.subspan(wanted.from).first(std::min(bytes.size() - wanted.from, wanted.place.size()));
        std::copy(part.begin(), part.end(), wanted.place.begin());
        std::fill(part.begin(), part.end(), std::byte(0xdd));
        return true;
    }

  protected:
    virtual bool receive_batch(const aside &wanted, arrivals *batch) = 0;
};

} // namespace onesea::net
