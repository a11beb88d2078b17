// SPDX-License-Identifier: Apache-2.0
#include "net/train.hpp"

#include <algorithm>
#include <cstring>

namespace onesea::net {
namespace {

// Is this the datagram of that number in the train that began so?
bool continues(const packet_header &h, const packet_header &first, unsigned number)
{
    return h.source == first.source && h.target == first.target && h.job_tag == first.job_tag &&
           h.train == first.train && h.number == first.number && h.bundle == first.bundle &&
           !(h.flags & packet_flags::first) && h.ack_bytes == number;
}

// How many datagrams the train at the front has; 0 if it does not end there, or is none.
unsigned datagrams_of(std::span<const std::byte> arrived, const packet_header &first)
{
    if (!(first.flags & packet_flags::first)) return 0;
    for (unsigned n = 1; std::size_t(n) * first.train < arrived.size(); ++n) {
        auto rest = arrived.subspan(std::size_t(n) * first.train);
        packet_header h;
        if (!read_header(rest.first(std::min<std::size_t>(first.train, rest.size())), false, &h)) return 0;
        if (!continues(h, first, n)) return 0;
        if (!(h.flags & packet_flags::more)) return n + 1;
    }
    return 0;
}

} // namespace

cut_train::cut_train(const datagram &packet)
{
    packet_header header;
    std::memcpy(&header, packet.pieces[0].data(), sizeof header);
    header.flags = packet_flags::more;
    std::size_t left = packet.bytes, room = packet.train;
    unsigned at = 0;
    for (unsigned i = 0; i < packet.count; ++i) {
        for (auto piece = packet.pieces[i]; !piece.empty();) {
            if (room == 0) { // the next datagram
                ends_[count_++] = at;
                header.ack_bytes = std::uint16_t(count_);
                if (left <= packet.train - header_bytes) header.flags = 0;
                headers_[count_] = header;
                pieces_[at++] = {&headers_[count_], header_bytes};
                room = packet.train - header_bytes;
            }
            const std::size_t n = std::min(room, piece.size());
            pieces_[at++] = {const_cast<std::byte *>(piece.data()), n};
            piece = piece.subspan(n);
            room -= n;
            left -= n;
        }
    }
    ends_[count_++] = at;
}

std::span<std::byte> close_up(std::span<std::byte> arrived, const packet_header &first, std::size_t *taken)
{
    const unsigned count = datagrams_of(arrived, first);
    if (count == 0) return {};
    *taken = std::min(arrived.size(), std::size_t(count) * first.train);
    std::byte *end = arrived.data() + first.train;
    for (unsigned i = 1; i < count; ++i) {
        const std::size_t from = std::size_t(i) * first.train + header_bytes;
        const std::size_t bytes = std::min<std::size_t>(first.train - header_bytes, *taken - from);
        std::memmove(end, arrived.data() + from, bytes);
        end += bytes;
    }
    return {arrived.data(), end};
}

train_collector::place *train_collector::find(std::uint32_t source)
{
    for (place &p : places_)
        if (p.next && p.first.source == source) return &p;
    return nullptr;
}

// Its own one, a free one, or in turn that of another.
train_collector::place &train_collector::place_for(std::uint32_t source)
{
    if (place *p = find(source)) return *p;
    for (place &p : places_)
        if (p.next == 0) return p;
    return places_[turn_++ % places];
}

train_collector::place &train_collector::begin(const packet_header &first)
{
    place &p = place_for(first.source);
    unfinished_ += p.next > 0;
    p.first = first;
    p.next = 0;
    p.bytes = 0;
    p.split = false;
    if (p.memory.empty()) p.memory.resize(gso_bytes / 8);
    if (bare_ == &p) bare_ = nullptr;
    return p;
}

train_collector::result train_collector::add(const packet_header &h, std::span<const std::byte> datagram, bool together)
{
    const bool first = h.flags & packet_flags::first;
    place *p = first ? &begin(h) : find(h.source);
    if (!p) return {};
    if (!first && (p->first.bare_train() || !continues(h, p->first, p->next))) {
        p->next = 0;
        return {};
    }
    p->split |= together;
    const auto content = datagram.subspan(first ? 0 : header_bytes);
    const unsigned before = std::exchange(p->next, 0);
    if (p->bytes + content.size() > gso_bytes) return {};
    auto *memory = reinterpret_cast<std::byte *>(p->memory.data());
    std::memcpy(memory + p->bytes, content.data(), content.size());
    p->bytes += content.size();
    if (!(h.flags & packet_flags::more)) return {datagram.size(), {memory, p->bytes}, p->split};
    p->next = before + 1;
    return {datagram.size(), {}};
}

void train_collector::begin_bare(const packet_header &first, std::span<const std::byte> bytes, bool together)
{
    bare_ = &begin(first);
    bare_->next = 1;
    add_bare(bytes, together);
}

train_collector::result train_collector::add_bare(std::span<const std::byte> bytes, bool together)
{
    if (!bare_ || bare_->next == 0) return {};
    place &p = *bare_;
    const std::size_t taken = std::min(bytes.size(), p.first.train - p.bytes);
    auto *memory = reinterpret_cast<std::byte *>(p.memory.data());
    std::memcpy(memory + p.bytes, bytes.data(), taken);
    p.bytes += taken;
    p.split |= together;
    if (p.bytes < p.first.train) return {taken, {}};
    p.next = 0;
    bare_ = nullptr;
    return {taken, {memory, p.bytes}, p.split};
}

void train_collector::rest()
{
    for (place &p : places_)
        if (p.next == 0) p = {};
    if (bare_ && bare_->next == 0) bare_ = nullptr;
}

} // namespace onesea::net
