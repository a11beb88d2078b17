// SPDX-License-Identifier: Apache-2.0
// Trains: the packets of one send under one tag. At an mtu of 1500 a tag for each packet took 44 % of the sender's
// processor time, one for a train of 44 takes 34 %: the bytes themselves, no longer in the first cache, are most of it.
//
//   | header, frames, 0..0 | header, frames, 0..0 | .. | header, frames, tag |      all but the last are `train` bytes
//     first, more            more                        (neither)
//
// The tag covers everything before it, under the number of the last packet. Every header of a train tells its packets'
// length: the first of them stands at a fixed place, so that the cuts between the packets are proven with the rest.
//
// What arrives whole in one system call is checked where it lies. Else the packets are collected (train_collector):
// nothing of a train has an effect before all of it is there. A train that lacks a packet is dropped, so a sender makes
// trains only while nothing gets lost (link::may_join).
#pragma once

#include "net/link.hpp"

#include <array>

namespace onesea::net {

inline constexpr unsigned least_train = 4; // packets: fewer are not worth it

// How many datagrams at the front go in one send: equal sizes, only the last may be shorter.
unsigned share_a_send(std::span<const datagram> datagrams, bool gso);

// Seals what a link has left open: as trains, or each packet by itself.
void seal_open_packets(crypto &cipher, const direction_keys &keys, std::span<datagram> datagrams, bool gso, bool join);

// The length of the train at the front of what has arrived; 0 if it does not end there, or is none.
std::size_t train_length(std::span<const std::byte> arrived, const packet_header &first);

// The header of the last packet of a whole train.
packet_header last_of_train(std::span<const std::byte> train, const packet_header &any);

// Collects trains whose packets come one by one, of a few senders at a time. Proves nothing.
class train_collector {
  public:
    struct result {
        bool taken = false;         // false: it continues no train that is under way, and is dropped
        std::span<std::byte> whole; // the train that it completes, until the next call
    };
    result add(const packet_header &header, std::span<const std::byte> packet);
    void rest(); // gives back the memory of trains that are over

  private:
    static constexpr std::size_t places = 4;
    struct place {
        std::uint32_t source = 0;
        std::uint64_t next = 0;                  // packet number
        std::size_t packet_bytes = 0, bytes = 0; // 0 bytes: free
        std::vector<std::uint64_t> memory;
    };
    std::array<place, places> places_;
    unsigned turn_ = 0;

    place &place_for(std::uint32_t source);
    place *find(std::uint32_t source);
};

} // namespace onesea::net
