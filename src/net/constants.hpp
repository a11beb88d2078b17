// SPDX-License-Identifier: Apache-2.0
// Numbers of the wire, and those that several files of this layer need, each with its unit and its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onesea::net {

// ---- On the wire ----
inline constexpr std::uint8_t protocol_version = 1;
inline constexpr std::size_t header_bytes = 32;
inline constexpr std::size_t tag_bytes = 16;
inline constexpr std::size_t ack_fixed_bytes = 32;
inline constexpr std::size_t max_ack_words = 16; // 1024 packets: more than stay unanswered between two acks
inline constexpr std::size_t max_ack_bytes = ack_fixed_bytes + 8 * max_ack_words;
inline constexpr std::size_t frame_bytes = 24;
inline constexpr std::size_t part_head_bytes = 8;
inline constexpr std::uint64_t bundle_window = 2048;      // bundles in flight; 2.9 MB at an mtu of 1500
inline constexpr std::uint64_t replay_window = 1024;      // packets; those that come later than that are sent again
inline constexpr std::uint32_t max_rank = (1u << 24) - 1; // as in a global address
inline constexpr std::uint64_t last_packet_number = 1ull << 56; // far beyond a job's life; the link ends there

// ---- Sizes of datagrams ----
inline constexpr std::size_t udp_ip4_headers = 28;
inline constexpr std::size_t udp_ip6_headers = 48;
inline constexpr std::size_t default_mtu = 1500;
inline constexpr std::size_t least_datagram = 1400; // holds a frame of 1280 bytes and an ack; on smaller mtus IP cuts
inline constexpr std::size_t short_datagram = 1200; // passes wherever IP does (RFC 9000, 14)
inline constexpr std::size_t most_payload = 63 * 1024; // of one frame: as long as a datagram on loopback can be
inline constexpr std::size_t most_datagram = header_bytes + frame_bytes + most_payload + tag_bytes;
inline constexpr std::size_t gso_bytes = 65000;          // of one send that the kernel cuts; its limit is 65507
inline constexpr unsigned gso_segments = 64;             // the kernel's limit (UDP_MAX_SEGMENTS) on older versions
inline constexpr std::size_t most_bundle = 1 << 16;      // a bundle in parts is no longer
inline constexpr unsigned most_cuts = 64;                // parts of it
inline constexpr std::size_t most_pieces_of_send = 1024; // the kernel's limit, UIO_MAXIOV

// What the kernel charges a socket buffer for a datagram beside its bytes: sk_buff, skb_shared_info, rounding.
inline constexpr std::size_t packet_overhead = 768;

// Up to here a packet is put together in one piece, next to the one before it: telling the kernel of a piece takes
// longer than copying a kilobyte or two, and so does encrypting it piece by piece (crypto.hpp).
inline constexpr std::size_t gather_limit = 8192;
inline constexpr std::size_t short_run = 2 * frame_bytes; // content that is copied beside header or tag
inline constexpr std::size_t short_packet = 512;          // the same without room for more

// ---- Lending pages to the kernel instead of having them copied (page_lender.hpp) ----
// Takes one to three system calls more: with three a datagram of 16 KB takes as long either way, one of 32 KB a quarter
// less, one of 60 KB half. A datagram has most_fragments at most (MAX_SKB_FRAGS), a page each, or what was copied in a
// row.
inline constexpr std::size_t least_lent = 20 * 1024;
inline constexpr std::size_t most_fragments = 17;
inline constexpr std::size_t most_spliced = 16; // pages that splice() hands over to a socket at once
// How many those take that are copied: they lie behind each other in blocks of 32 KB, of which nobody knows how much is
// left.
constexpr std::size_t fragments_of(std::size_t copied)
{
    constexpr std::size_t seldom_split = 128, block = 32 * 1024;
    return copied == 0 ? 0 : copied <= seldom_split ? 1 : 2 + copied / block;
}

// ---- Sharing packets ----
inline constexpr std::size_t copy_limit = 1024; // borrowed payloads up to this are copied, so that they share packets
inline constexpr unsigned least_train = 4;      // datagrams: a window that is smaller gives up no more than that
inline constexpr std::uint16_t most_told_whole = UINT16_MAX; // trains in a row
inline constexpr unsigned most_doubts = 12;        // each doubles the packets without a loss before there are trains
inline constexpr std::uint32_t forgive_after = 64; // times as many packets end a doubt
inline constexpr std::size_t most_lazy = 1024;     // bytes of lazy messages; more go by themselves
inline constexpr std::size_t most_parts = 16;      // long messages that share a packet
inline constexpr std::size_t most_pieces =
    2 * most_parts + 3; // of a packet: head, tail, what lies before, between, behind

// ---- Times, ns ----
inline constexpr std::uint64_t microsecond = 1000, millisecond = 1'000'000, second = 1'000'000'000;
inline constexpr std::uint64_t ack_delay = 400 * microsecond;   // nobody asked: wait for a packet to ride on
inline constexpr std::uint64_t hold_limit = 20 * microsecond;   // small messages wait for company at most this long
inline constexpr std::uint64_t company_gap = 100 * microsecond; // and only where other packets went since then:
inline constexpr std::size_t few_packets = 4; // so many, or one if a crowd went together the last time
inline constexpr std::uint32_t least_crowd = 8;
inline constexpr std::uint64_t first_probe =
    25 * millisecond;                                     // before the round trip is known; the peer may be starting
inline constexpr std::uint64_t least_probe = millisecond; // a descheduled peer is silent for a slice of that order
inline constexpr std::uint64_t most_probe = 500 * millisecond;    // doubling ends here
inline constexpr std::uint64_t least_reorder = 200 * microsecond; // time threshold of loss, lower bound
inline constexpr unsigned packet_threshold = 3;                   // RFC 9002, 6.1.1
inline constexpr std::uint8_t patient_rounds = 16; // with losses, after a packet that was only late (RFC 8985, 6.2)
inline constexpr std::uint64_t active_time =
    50 * millisecond; // a link that is silent for longer has no share of the buffer
inline constexpr std::uint64_t retry_send = 100 * microsecond; // after EAGAIN or ENOBUFS
inline constexpr std::uint64_t default_give_up = 120 * second; // silence with work outstanding: SEA_ERR_LINK
inline constexpr std::uint64_t most_telling = 10 * second; // between two packets that tell the peer of a broken link

// ---- Letting packets of a stream queue up (queueing.hpp) ----
inline constexpr std::uint64_t queueing_time = 20 * microsecond;
inline constexpr std::size_t queueing_stream = 1536 * 1024; // bytes that came; less is only delayed by it
inline constexpr std::size_t queueing_end = 1024 * 1024;    // the end of a message counts against as many bytes

// ---- Windows, bytes as charged ----
inline constexpr std::size_t first_grant = 256 * 1024; // before the peer has granted anything
inline constexpr std::size_t least_grant = 16 * 1024;
// Of all links of a process. More leaves the caches before it is received: seven streams out of one process were a
// fifth slower with 10 MB (`onesea bench patterns`).
inline constexpr std::size_t most_under_way = 5 << 20;
inline constexpr std::size_t first_window = 256 * 1024; // of congestion
inline constexpr std::size_t hold_bytes = 8 << 20; // bundles that wait for earlier ones or for their parts, per link
// Of these, known to wait for earlier ones; the rest is for what is under way, which a window of 4 MiB may be.
inline constexpr std::size_t most_kept = hold_bytes / 2;

} // namespace onesea::net
