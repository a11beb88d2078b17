// SPDX-License-Identifier: Apache-2.0
// What is on the wire: encoding, decoding, checking. No state. docs/protocol.md says the same in words.
//
//   packet:  header | ack block (optional) | frames (optional), or a part of them | tag (not in mode off)
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
//            |         notices sent so far       |      trains come whole          |
//            +-----------------------------------+---------------------------------+
//            |  0..16 words: bit i of word w is packet number largest - 1 - 64w - i |
//            +---------------------------------------------------------------------+
//   part     |  index          |  count          |     bytes of the whole bundle   |  (optional)
//            +-----------------+-----------------+---------------------------------+
// Little endian; every part is a multiple of 8 bytes. A long packet goes as a train of datagrams: train.hpp.
#pragma once

#include "base/frame.hpp"
#include "net/constants.hpp"

#include <algorithm>
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
inline constexpr std::uint8_t first = 32;  // of a train; without `more` of a bare one
inline constexpr std::uint8_t more = 64;   // datagrams of the train follow, with headers
inline constexpr std::uint8_t part = 128;  // of a bundle; the others come in other packets
} // namespace packet_flags

// In frame::flags, between two transports only; the sink does not see it.
inline constexpr std::uint8_t notice_flag = 0x80;

struct packet_header {
    std::uint8_t version = protocol_version;
    std::uint8_t flags = 0;
    std::uint16_t ack_bytes = 0; // in a train's datagrams but the first: which one it is
    std::uint32_t job_tag = 0;
    std::uint32_t source = 0, target = 0;
    std::uint64_t number = 0;
    std::uint64_t bundle : 48 = 0;
    std::uint64_t train : 16 = 0; // length of its datagrams, of a bare one its own; 0: the packet is one

    bool bare_train() const
    {
        return train && (flags & (packet_flags::first | packet_flags::more)) == packet_flags::first;
    }
};
static_assert(sizeof(packet_header) == header_bytes);

struct ack_block {
    std::uint64_t largest = 0;
    std::uint64_t executed = 0;
    std::uint32_t delay_ns = 0;
    std::uint32_t window = 0;
    std::uint32_t notices = 0;
    std::uint32_t whole = 0; // trains in a row that have come in one piece
};
static_assert(sizeof(ack_block) == ack_fixed_bytes);

// Which part of a bundle a packet has. All are as long as the first one, only the last may be shorter.
struct part_head {
    std::uint16_t index = 0, count = 0; // 0: the packet has all of its bundle
    std::uint32_t whole = 0;            // bytes of the bundle
};
static_assert(sizeof(part_head) == part_head_bytes);

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

// Where a part lies in its bundle.
struct part_range {
    std::size_t from, bytes;
};
constexpr part_range range_of(const part_head &p)
{
    const std::size_t each = padded((p.whole + p.count - 1) / p.count),
                      from = std::min<std::size_t>(each * p.index, p.whole);
    return {from, std::min(each, p.whole - from)};
}

void write_header(std::byte *to, const packet_header &header);
void write_ack(std::byte *to, const ack_block &ack, std::span<const std::uint64_t> words);

// Checks of a header that need no key: length, version, flags, parts that fit. False: not a datagram of ours.
bool read_header(std::span<const std::byte> datagram, bool tagged, packet_header *header);

enum class defect { none, ack, frames };

struct packet_view {
    packet_header header;
    ack_view ack;                       // if header.ack_bytes
    std::span<const std::byte> content; // the frames, or the part of them
    part_head part;
    const std::byte *landed = nullptr; // where the payload of the first frame lies, if not there
};

// Checks everything between header and tag, every frame of it. Called after the tag was found good. `packet`: one
// datagram, or what a train carried.
defect read_packet(std::span<const std::byte> packet, bool tagged, const packet_header &header, packet_view *view);

// Are these frames, whole and nothing else?
bool check_frames(std::span<const std::byte> content);

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
