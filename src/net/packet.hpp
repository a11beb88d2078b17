// SPDX-License-Identifier: Apache-2.0
// What is on the wire: encoding, decoding, checking. No state. docs/protocol.md says the same in words.
//
//   packet:  header | ack block (optional) | frames (optional) | tag (not in mode off)
//
//   header   0        1        2                 4                                 8
//            +--------+--------+-----------------+---------------------------------+
//            | version| flags  |    ack bytes    |             job tag             |
//            +--------+--------+-----------------+---------------------------------+
//            |            source rank            |           target rank           |
//            +-----------------------------------+---------------------------------+
//            |                            packet number                            |
//            +---------------------------------------------------------------------+
//            |          bundle number (0 without a bundle)       |      train      |
//            +---------------------------------------------------------------------+
//   ack      |                largest packet number that has come                  |
//            +---------------------------------------------------------------------+
//            |            all bundles below this number were executed              |
//            +-----------------------------------+---------------------------------+
//            |  ns since the largest has come    |  window: bytes allowed in flight|
//            +-----------------------------------+---------------------------------+
//            |         notices sent so far       |               0                 |
//            +-----------------------------------+---------------------------------+
//            |  0..16 words: bit i of word w is packet number largest - 1 - 64w - i |
//            +---------------------------------------------------------------------+
// Little endian; every part is a multiple of 8 bytes.
#pragma once

#include "base/frame.hpp"
#include "net/constants.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace onesea::net {

namespace packet_flags {
inline constexpr std::uint8_t bundle = 1;  // has frames
inline constexpr std::uint8_t ordered = 2; // execute after all bundles with lower numbers
inline constexpr std::uint8_t ask_ack = 4; // acknowledge at once
inline constexpr std::uint8_t close = 8;   // the sender sends and takes nothing more
inline constexpr std::uint8_t broken = 16; // the sender has given the link up: all that was in it has failed
inline constexpr std::uint8_t first = 32;  // of a train (train.hpp)
inline constexpr std::uint8_t more = 64;   // of the train follow; the tag is that of its last packet
inline constexpr std::uint8_t known = 127;
} // namespace packet_flags

// In frame::flags, between two transports only; the sink does not see it.
inline constexpr std::uint8_t notice_flag = 0x80;

struct packet_header {
    std::uint8_t version = protocol_version;
    std::uint8_t flags = 0;
    std::uint16_t ack_bytes = 0;
    std::uint32_t job_tag = 0;
    std::uint32_t source = 0, target = 0;
    std::uint64_t number = 0;
    std::uint64_t bundle : 48 = 0;
    std::uint64_t train : 16 = 0; // length of its packets; 0: the packet has a tag of its own
};
static_assert(sizeof(packet_header) == header_bytes);

struct ack_block {
    std::uint64_t largest = 0;
    std::uint64_t executed = 0;
    std::uint32_t delay_ns = 0;
    std::uint32_t window = 0;
    std::uint32_t notices = 0;
    std::uint32_t zero = 0;
};
static_assert(sizeof(ack_block) == ack_fixed_bytes);

struct ack_view {
    ack_block fixed;
    const std::byte *words = nullptr;
    unsigned count = 0;
    std::uint64_t word(unsigned i) const;
    // Has this packet come? Only for numbers <= fixed.largest.
    bool has(std::uint64_t number) const;
    // The lowest number that the words tell about.
    std::uint64_t lowest() const;
};

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t(7); }

void write_header(std::byte *to, const packet_header &header);
void write_ack(std::byte *to, const ack_block &ack, std::span<const std::uint64_t> words);

// Checks of a header that need no key: length, version, flags, parts that fit. False: not a packet of ours.
bool read_header(std::span<const std::byte> datagram, bool tagged, packet_header *header);

enum class defect { none, ack, frames };

struct packet_view {
    packet_header header;
    ack_view ack;                       // if header.ack_bytes
    std::span<const std::byte> content; // the frames
    unsigned notices = 0;               // frames that have notice_flag
};

// Checks everything between header and tag, every frame of it. Called after the tag was found good.
defect read_packet(std::span<const std::byte> datagram, bool tagged, const packet_header &header, packet_view *view);

// Reads the frame at the front of checked content and moves past it.
inline frame next_frame(std::span<const std::byte> *content, std::span<const std::byte> *payload)
{
    frame f;
    std::memcpy(&f, content->data(), sizeof f);
    *payload = content->subspan(sizeof f, f.length);
    *content = content->subspan(sizeof f + padded(f.length));
    return f;
}

} // namespace onesea::net
