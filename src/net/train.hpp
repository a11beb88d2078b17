// SPDX-License-Identifier: Apache-2.0
// Trains: long packets where datagrams are short. Beside its bytes a packet costs a number, a bundle, a frame, a tag, a
// copy into one piece and a place among the unacknowledged. So at an mtu of 1500 it is as long as a send of the kernel,
// and goes as a train of datagrams. Each of them begins with a header, so that it finds its way by itself:
//
//   packet   | header, frames ...                                          , tag |
//   train    | header, frames | header | frames | header | frames | .. | header | frames, tag |
//              first, more      more, 1           more, 2                 n
//
// All are `train` bytes long, only the last may be shorter. The tag is the packet's; it says nothing of the headers
// behind the first, and need not: all that they do is to tell which bytes belong together.
//
// Where trains come whole in one system call at the other side, as it tells with its acknowledgements, the headers but
// the first one are left away: a *bare* train. So the packet stays in one piece, its pages may be lent to the kernel
// (page_lender.hpp), its payload may land where it belongs (landing.hpp), and nothing has to be closed up.
//
//   packet   | header, frames ...                           , tag |
//   train    | header, frames |    frames    | .. |  frames , tag |
//              first
//
// What arrives whole in one system call is closed up where it lies; else it is collected (train_collector). A train
// that lacks a datagram is dropped, so a sender makes trains only while nothing gets lost (link::trusts), and what was
// in a lost one goes again in packets of one datagram, each with a tag and a part of the bundle.
#pragma once

#include "net/link.hpp"

#include <array>
#include <sys/uio.h>

namespace onesea::net {

// The datagrams of a train, as the kernel takes them: all in one send, or one by one. Points into the packet.
class cut_train {
  public:
    explicit cut_train(const datagram &packet);

    std::span<iovec> whole() { return {pieces_.data(), ends_[count_ - 1]}; }
    unsigned count() const { return count_; }
    std::span<iovec> at(unsigned i)
    {
        const unsigned from = i ? ends_[i - 1] : 0;
        return {pieces_.data() + from, ends_[i] - from};
    }

  private:
    std::array<packet_header, gso_segments> headers_;
    std::array<iovec, most_pieces + 2 * gso_segments> pieces_;
    std::array<unsigned, gso_segments> ends_; // of each datagram's pieces
    unsigned count_ = 0;
};

// The train at the front of what has arrived in one piece, as the packet that it carries, in place; what it took of
// `arrived`. Empty: it does not end there, or is none; nothing was changed.
std::span<std::byte> close_up(std::span<std::byte> arrived, const packet_header &first, std::size_t *taken);

// Collects trains whose datagrams come one by one, of a few senders at a time, of each the latest. Proves nothing.
class train_collector {
  public:
    struct result {
        std::size_t taken = 0;       // bytes; 0: it continues no train that is under way, and is dropped
        std::span<std::byte> packet; // that it completes, until the next call
        bool split = false;          // some of that came together, but not all
    };
    // together: more of what came with the same system call is behind it.
    result add(const packet_header &header, std::span<const std::byte> datagram, bool together = false);
    void begin_bare(const packet_header &first, std::span<const std::byte> bytes, bool together);
    // What may be more of the bare train that began last.
    result add_bare(std::span<const std::byte> bytes, bool together);
    // How many have ended without being complete since it was last asked.
    unsigned take_unfinished() { return std::exchange(unfinished_, 0); }
    void rest(); // gives back the memory of trains that are over

  private:
    static constexpr std::size_t places = 4;
    struct place {
        packet_header first;
        unsigned next = 0; // datagrams that have come; 0: free
        std::size_t bytes = 0;
        bool split = false;
        std::vector<std::uint64_t> memory;
    };
    std::array<place, places> places_;
    unsigned turn_ = 0, unfinished_ = 0;
    place *bare_ = nullptr; // began last

    place &begin(const packet_header &first);
    place &place_for(std::uint32_t source);
    place *find(std::uint32_t source);
};

} // namespace onesea::net
