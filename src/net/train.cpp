// SPDX-License-Identifier: Apache-2.0
#include "net/train.hpp"

#include <algorithm>
#include <cstring>

namespace onesea::net {
namespace {

std::span<std::byte> bytes_of(datagram &d)
{
    return {const_cast<std::byte *>(d.pieces[0].data()), d.pieces[0].size()}; // it lies in its room
}

// Open packets lie behind each other unless one of them did not find room.
bool can_join(std::span<datagram> group)
{
    for (std::size_t i = 0; i < group.size(); ++i) {
        if (!group[i].open) return false;
        if (i && bytes_of(group[i]).data() != bytes_of(group[i - 1]).data() + group[i - 1].bytes) return false;
    }
    return group.size() >= least_train;
}

void join(crypto &cipher, const direction_keys &keys, std::span<datagram> group)
{
    std::size_t total = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
        packet_header header;
        std::byte *at = bytes_of(group[i]).data();
        std::memcpy(&header, at, sizeof header);
        header.train = std::uint16_t(group[0].bytes);
        header.flags |=
            std::uint8_t((i == 0 ? packet_flags::first : 0) | (i + 1 < group.size() ? packet_flags::more : 0));
        write_header(at, header);
        if (i + 1 < group.size()) std::memset(at + group[i].bytes - tag_bytes, 0, tag_bytes);
        total += group[i].bytes;
        group[i].open = false;
    }
    cipher.seal(keys, group.back().number, {bytes_of(group[0]).data(), total});
}

bool continues(const packet_header &h, const packet_header &first, std::uint64_t number)
{
    return h.source == first.source && h.target == first.target && h.job_tag == first.job_tag &&
           h.train == first.train && h.number == number && !(h.flags & packet_flags::first);
}

} // namespace

unsigned share_a_send(std::span<const datagram> d, bool gso)
{
    unsigned n = 1;
    std::size_t total = d[0].bytes, pieces = d[0].count;
    while (gso && n < d.size() && n < gso_segments && d[n - 1].bytes == d[0].bytes && d[n].bytes <= d[0].bytes &&
           total + d[n].bytes <= gso_bytes && pieces + d[n].count <= most_pieces_of_send) {
        pieces += d[n].count;
        total += d[n++].bytes;
    }
    return n;
}

void seal_open_packets(crypto &cipher, const direction_keys &keys, std::span<datagram> all, bool gso, bool join_them)
{
    while (!all.empty()) {
        const unsigned n = join_them ? share_a_send(all, gso) : 1;
        auto group = all.first(n);
        if (join_them && can_join(group)) join(cipher, keys, group);
        for (datagram &d : group)
            if (std::exchange(d.open, false)) cipher.seal(keys, d.number, bytes_of(d));
        all = all.subspan(n);
    }
}

std::size_t train_length(std::span<const std::byte> arrived, const packet_header &first)
{
    packet_header h = first;
    for (std::size_t at = 0, n = 0; at < arrived.size(); at += first.train, ++n) {
        auto packet = arrived.subspan(at, std::min<std::size_t>(first.train, arrived.size() - at));
        if (!read_header(packet, true, &h)) return 0;
        if (n ? !continues(h, first, first.number + n) : !(h.flags & packet_flags::first)) return 0;
        if (!(h.flags & packet_flags::more)) return at + packet.size();
    }
    return 0;
}

packet_header last_of_train(std::span<const std::byte> train, const packet_header &any)
{
    packet_header last;
    std::memcpy(&last, train.data() + (train.size() - 1) / any.train * any.train, sizeof last);
    return last;
}

train_collector::place *train_collector::find(std::uint32_t source)
{
    for (place &p : places_)
        if (p.bytes && p.source == source) return &p;
    return nullptr;
}

// Its own one, a free one, or in turn that of another.
train_collector::place &train_collector::place_for(std::uint32_t source)
{
    if (place *p = find(source)) return *p;
    for (place &p : places_)
        if (p.bytes == 0) return p;
    return places_[turn_++ % places];
}

train_collector::result train_collector::add(const packet_header &h, std::span<const std::byte> packet)
{
    const bool first = h.flags & packet_flags::first;
    place *p = first ? &place_for(h.source) : find(h.source);
    if (!p) return {};
    if (first) {
        p->source = h.source;
        p->packet_bytes = h.train;
        p->bytes = 0;
        if (p->memory.empty()) p->memory.resize((gso_bytes + 7) / 8);
    } else if (h.number != p->next || h.train != p->packet_bytes) {
        p->bytes = 0;
        return {};
    }
    const std::size_t before = p->bytes;
    p->bytes = 0;
    if (before + packet.size() > gso_bytes) return {};
    auto *memory = reinterpret_cast<std::byte *>(p->memory.data());
    std::memcpy(memory + before, packet.data(), packet.size());
    if (!(h.flags & packet_flags::more)) return {true, {memory, before + packet.size()}};
    p->bytes = before + packet.size();
    p->next = h.number + 1;
    return {true, {}};
}

void train_collector::rest()
{
    for (place &p : places_)
        if (p.bytes == 0) p = {};
}

} // namespace onesea::net
