// SPDX-License-Identifier: Apache-2.0
// What arrives at the net transport: whose it is, whether it is proven, and what it is a part of.
#include "net/net_transport_state.hpp"

#include <algorithm>
#include <cstring>

namespace onesea::net {
namespace {

constexpr std::size_t bytes_per_poll = 256 * 1024; // a sixth of the usual window: the sender never waits for an answer
constexpr std::size_t worth_another = 4096;        // bytes: behind a batch of that size there is often another
constexpr std::uint64_t expecting_time = 50 * microsecond; // after a packet; some round trips
constexpr unsigned looks_when_expecting = 4;

} // namespace

// Is it from whom it says? The tag proves it, and without tags the address must do.
template <class Open>
bool net_transport::prove(const packet_header &header, const endpoint &from, Open &&open)
{
    const peer *p = find(int(header.source));
    peer_address where;
    if (!p && !config_.lookup(int(header.source), &where)) return ++drops_.not_ours, false;
    const bool good = cipher_.tagged()
                          ? open(p ? p->link->keys_in()
                                   : derive_keys(config_.secure, config_.job_key, header.source, header.target, 0))
                          : from == (p ? p->where : endpoint(where));
    if (!good) ++drops_.forged;
    return good;
}

bool net_transport::prove(const packet_header &header, std::span<std::byte> bytes, const endpoint &from)
{
    return prove(header, from, [&](const direction_keys &k) { return cipher_.open(k, header.number, bytes); });
}

// A packet that was proven.
void net_transport::receive(const packet_header &header, std::span<std::byte> packet, nanoseconds now,
                            const std::byte *landed)
{
    packet_view view;
    if (read_packet(packet, cipher_.tagged(), header, &view) != defect::none) [[unlikely]]
        return void(++drops_.malformed);
    view.landed = landed;
    landing_.came(header);
    auto rank = int(header.source);
    peer *p = find(rank);
    if (!p && !(p = make(rank))) return void(++drops_.not_ours); // it has ended this moment
    touch(*p);
    ++p->lately;
    const bool failed = p->link->has_failed();
    if (!p->link->receive(view, now)) ++drops_.replayed;
    if (header.flags & packet_flags::bundle)
        queueing_.came(rank, packet.size(), p->link->rest_follows(), header.flags & packet_flags::ask_ack, now);
    if (!failed && p->link->has_failed()) return sink_.unreachable(rank);
    if (!failed && p->link->peer_closed()) p->link->settle_all(SEA_OK);
}

bool net_transport::is_ours(std::span<const std::byte> datagram, packet_header *header) const
{
    return reinterpret_cast<std::uintptr_t>(datagram.data()) % 8 == 0 && // strangers' sizes may have moved it
           read_header(datagram, cipher_.tagged(), header) && header->job_tag == job_tag_ &&
           header->target == std::uint32_t(config_.rank) && header->source != header->target;
}

// A packet of which a part lies aside. False: it is not what was expected, and lies as if nothing had been.
bool net_transport::take_parted(const datagram_port::arrivals &a, nanoseconds now)
{
    packet_header header;
    if (a.bytes.empty()) return landing_.place_is_bad(), true;
    const auto whole = [&] {
        return header.bare_train() ? header.train == a.bytes.size() : a.segment >= a.bytes.size();
    };
    if (!is_ours(a.bytes.first(std::min(a.segment, a.bytes.size())), &header) || !whole() ||
        !landing_.meets(header, a.bytes, cipher_.tag_size())) {
        landing_.refuse(a.bytes);
        return false;
    }
    const auto body = a.bytes.first(a.bytes.size() - cipher_.tag_size());
    const auto pieces = landing_.pieces(body);
    const auto *tag = body.data() + body.size();
    if (prove(header, a.from, [&](const direction_keys &k) { return cipher_.proves(k, pieces, tag); })) {
        receive(header, a.bytes, now, landing_.complete(a.bytes));
        if (header.train) note_train(header, true);
    }
    return true;
}

void net_transport::note_train(const packet_header &header, bool whole)
{
    if (peer *p = find(int(header.source))) p->link->note_train(whole);
}

// A packet that came in several datagrams.
void net_transport::take_whole(std::span<std::byte> packet, const endpoint &from, nanoseconds now, joined how)
{
    packet_header header;
    std::memcpy(&header, packet.data(), sizeof header);
    if (!prove(header, packet, from)) return;
    receive(header, packet, now);
    if (how != joined::one_by_one) note_train(header, how == joined::whole);
}

// Takes in the datagram at the front of what arrived, or the train that begins there; how many bytes that were.
std::size_t net_transport::take(std::span<std::byte> arrived, std::size_t length, const endpoint &from, nanoseconds now)
{
    packet_header header;
    auto bytes = arrived.first(std::min(length, arrived.size()));
    if (!is_ours(bytes, &header)) return take_unnamed(arrived, bytes.size(), from, now);
    if (header.bare_train()) return take_bare_train(header, arrived, bytes.size(), from, now);
    if (header.train) return take_train(header, arrived, bytes.size(), from, now);
    if (prove(header, bytes, from)) receive(header, bytes, now);
    return bytes.size();
}

std::size_t net_transport::take_train(const packet_header &header, std::span<std::byte> arrived, std::size_t length,
                                      const endpoint &from, nanoseconds now)
{
    std::size_t here = length;
    auto packet = length == header.train ? close_up(arrived, header, &here) : std::span<std::byte>();
    auto how = joined::whole;
    if (packet.empty()) {
        if (!cipher_.tagged() && !prove(header, arrived.first(length), from)) return length; // no tag will tell later
        const auto added = trains_.add(header, arrived.first(length), length < arrived.size());
        if (!added.taken) ++drops_.not_ours;
        packet = added.packet;
        how = added.split ? joined::split : joined::one_by_one;
    }
    if (!packet.empty()) take_whole(packet, from, now, how);
    return here;
}

// Without a tag nobody would know whether the datagrams without headers belong to it.
std::size_t net_transport::take_bare_train(const packet_header &header, std::span<std::byte> arrived,
                                           std::size_t length, const endpoint &from, nanoseconds now)
{
    const auto here = arrived.first(std::min<std::size_t>(arrived.size(), header.train));
    if (!cipher_.tagged())
        ++drops_.not_ours;
    else if (here.size() == header.train)
        take_whole(here, from, now, joined::whole);
    else
        trains_.begin_bare(header, here, length < here.size());
    return here.size();
}

// No packet of ours begins there: more of a bare train, or something that is not for us.
std::size_t net_transport::take_unnamed(std::span<std::byte> arrived, std::size_t length, const endpoint &from,
                                        nanoseconds now)
{
    const auto added = trains_.add_bare(arrived, length < arrived.size());
    if (!added.taken) {
        ++drops_.not_ours;
        return length;
    }
    if (!added.packet.empty()) take_whole(added.packet, from, now, added.split ? joined::split : joined::one_by_one);
    return added.taken;
}

// Takes in what has arrived, up to a limit; true if anything had. Where packets come one after the other the next one
// is expected: it is worth to look again at once.
bool net_transport::take_all(nanoseconds now)
{
    if (queueing_.goes_on(now)) return false;
    bool any = false;
    auto deliver = [&](std::span<std::byte> one, const endpoint &from) { take(one, one.size(), from, now); };
    bool parted = false;
    auto use = [&](const datagram_port::arrivals &a) {
        parted = a.parted;
        if (a.parted && take_parted(a, now)) return;
        for (auto arrived = a.bytes; !arrived.empty();) {
            if (faults_.active()) [[unlikely]] {
                const std::size_t one = std::min(a.segment, arrived.size());
                faults_.pass(arrived.first(one), a.from, deliver);
                arrived = arrived.subspan(one);
            } else {
                arrived = arrived.subspan(take(arrived, a.segment, a.from, now));
            }
        }
    };
    unsigned looks = now < expecting_until_ ? looks_when_expecting : 1;
    for (std::size_t bytes = 1; bytes < bytes_per_poll;) {
        sink::expectation next;
        const auto &aside = may_land_ && sink_.expects(&next) ? landing_.wanted(next) : landing_.nothing();
        const nanoseconds began = landing_.measures() ? io_.now() : 0;
        const std::size_t got = io_.receive(use, aside);
        if (began) landing_.took(got, parted, io_.now() - began);
        any |= got > 0;
        if (got == 0 && queueing_.may_begin()) {
            queueing_.begin(io_.now());
            break;
        }
        if (got == 0 && !any && --looks > 0) continue;
        // What was asked for is answered before the kernel is asked for more.
        if (got < worth_another || sink_.may_go_on()) break;
        bytes += got;
    }
    drops_.not_ours += trains_.take_unfinished();
    if (any) expecting_until_ = now + expecting_time;
    if (!any && faults_.active()) any = faults_.release(deliver);
    return any;
}

} // namespace onesea::net
