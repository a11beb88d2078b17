// SPDX-License-Identifier: Apache-2.0
// Decoding trusts nothing: every length is compared with what is left before it is used, and a datagram is refused as a
// whole. The host is little endian (checked below), so structures are copied as they are.
#include "net/packet.hpp"

#include <bit>
#include <cstring>

namespace onesea::net {

static_assert(std::endian::native == std::endian::little, "the wire is little endian");

std::uint64_t ack_view::word(unsigned i) const
{
    std::uint64_t w;
    std::memcpy(&w, words + 8 * std::size_t(i), 8);
    return w;
}

bool ack_view::has(std::uint64_t number) const
{
    if (number == fixed.largest) return true;
    std::uint64_t back = fixed.largest - 1 - number;
    return back / 64 < count && (word(unsigned(back / 64)) >> (back % 64) & 1);
}

std::uint64_t ack_view::lowest() const
{
    std::uint64_t span = 64ull * count;
    return span > fixed.largest ? 0 : fixed.largest - span;
}

void write_header(std::byte *to, const packet_header &header) { std::memcpy(to, &header, sizeof header); }

void write_ack(std::byte *to, const ack_block &ack, std::span<const std::uint64_t> words)
{
    std::memcpy(to, &ack, sizeof ack);
    if (!words.empty()) std::memcpy(to + sizeof ack, words.data(), words.size_bytes());
}

// All datagrams of a train but the last have the length that they tell. Of a bare one this is the first, or more.
static bool fits_its_train(const packet_header &h, std::size_t bytes)
{
    const bool first = h.flags & packet_flags::first, more = h.flags & packet_flags::more;
    if (h.train == 0) return !first && !more;
    if (h.bare_train()) return h.train % 8 == 0 && h.train <= gso_bytes && bytes <= h.train;
    return more ? bytes == h.train : !first && bytes <= h.train;
}

// One that goes on where the one before it ended: no acknowledgement, and perhaps no whole tag.
static bool goes_on(const packet_header &h) { return h.train && !(h.flags & packet_flags::first); }

bool read_header(std::span<const std::byte> datagram, bool tagged, packet_header *header)
{
    if (datagram.size() < header_bytes || datagram.size() % 8) return false;
    packet_header h;
    std::memcpy(&h, datagram.data(), sizeof h);
    if (h.version != protocol_version) return false;
    if (h.source > max_rank || h.target > max_rank || h.number > last_packet_number) return false;
    if (!fits_its_train(h, datagram.size())) return false;
    const std::size_t behind = datagram.size() - header_bytes, tag = tagged ? tag_bytes : 0;
    if (goes_on(h) ? behind == 0 || h.ack_bytes == 0 || h.ack_bytes >= gso_segments : behind < h.ack_bytes + tag)
        return false;
    *header = h;
    return true;
}

static bool read_ack(std::span<const std::byte> bytes, ack_view *ack)
{
    if (bytes.size() < ack_fixed_bytes || bytes.size() > max_ack_bytes || bytes.size() % 8) return false;
    std::memcpy(&ack->fixed, bytes.data(), ack_fixed_bytes);
    ack->words = bytes.data() + ack_fixed_bytes;
    ack->count = unsigned((bytes.size() - ack_fixed_bytes) / 8);
    return ack->fixed.largest <= last_packet_number;
}

bool check_frames(std::span<const std::byte> content)
{
    while (!content.empty()) {
        frame f;
        if (content.size() < sizeof f) return false;
        std::memcpy(&f, content.data(), sizeof f);
        if (f.length > content.size() - sizeof f || padded(f.length) > content.size() - sizeof f) return false;
        content = content.subspan(sizeof f + padded(f.length));
    }
    return true;
}

// The frames of a bundle in parts are checked when all are there.
static bool read_part(packet_view *view)
{
    if (view->content.size() <= part_head_bytes) return false;
    part_head &p = view->part;
    std::memcpy(&p, view->content.data(), sizeof p);
    view->content = view->content.subspan(sizeof p);
    return p.count > 1 && p.count <= most_cuts && p.index < p.count && p.whole % 8 == 0 && p.whole <= most_bundle &&
           range_of(p).bytes == view->content.size();
}

defect read_packet(std::span<const std::byte> packet, bool tagged, const packet_header &header, packet_view *view)
{
    view->header = header;
    view->part = {};
    const std::size_t around = header_bytes + (tagged ? tag_bytes : 0);
    if (packet.size() < around + header.ack_bytes) return defect::ack; // what goes on in a train is no packet
    auto rest = packet.subspan(header_bytes, packet.size() - around);
    if (header.ack_bytes && !read_ack(rest.first(header.ack_bytes), &view->ack)) return defect::ack;
    view->content = rest.subspan(header.ack_bytes);
    const bool has_bundle = header.flags & packet_flags::bundle;
    if (has_bundle == view->content.empty()) return defect::frames;
    if (!has_bundle && (header.bundle || (header.flags & (packet_flags::ordered | packet_flags::part))))
        return defect::frames;
    if (header.flags & packet_flags::part) return read_part(view) ? defect::none : defect::frames;
    return check_frames(view->content) ? defect::none : defect::frames;
}

} // namespace onesea::net
