// SPDX-License-Identifier: Apache-2.0
// Messages between nodes. All frames of a pair are executed in the order sent, so the frames of one message follow each
// other and need no number.
//
//   kind       position  id                           payload
//   message    team      tag                          the data
//   first      team      tag | length << 32           the first of the data, or nothing yet
//   next       (not used)                             the next of the data, up to the length
//   offer      team      tag                          u64 length, u64 operation, u64 address (not used)
//   grant      0         what was ever released of the sender's share, in bytes
#include "base/copy.hpp"
#include "base/error.hpp"
#include "msg/office.hpp"
#include "msg/settings.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace onesea::msg {
namespace {

enum frame_kind : std::uint8_t { whole_message = 1, first_part, next_part, offer_frame, grant_frame };

std::int32_t tag_of(std::uint64_t id) { return std::int32_t(std::uint32_t(id)); }

} // namespace

void office::send_in_frames(const parcel &p)
{
    constexpr auto layer = core::upper::message;
    const std::size_t room = p.bytes <= transport::least_frame ? p.bytes : core::frame_room(core::engine_held, p.rank);
    const std::uint64_t tag = std::uint32_t(p.tag);
    if (room == 0 && p.bytes > 0) return; // the receiver has just ended
    if (p.bytes <= room) {
        core::send_frame(core::engine_held, layer, p.rank, whole_message, p.team, tag, p.data, p.bytes);
        return;
    }
    auto *data = static_cast<const std::byte *>(p.data);
    constexpr std::size_t fills_a_packet = 32 * 1024; // it goes while the next one is copied
    const bool together = room < fills_a_packet;
    core::send_frame(core::engine_held, layer, p.rank, first_part, p.team, tag | std::uint64_t(p.bytes) << 32, data,
                     room, together);
    for (std::size_t at = room; at < p.bytes; at += room)
        core::send_frame(core::engine_held, layer, p.rank, next_part, 0, 0, data + at, std::min(room, p.bytes - at),
                         together && at + room < p.bytes);
}

// All of it are next parts, which begin and end where packets do.
void office::send_from_memory(const parcel &p, std::uint64_t id)
{
    constexpr auto layer = core::upper::message;
    core::send_frame(core::engine_held, layer, p.rank, first_part, p.team,
                     std::uint32_t(p.tag) | std::uint64_t(p.bytes) << 32, nullptr, 0, true);
    core::send_external(core::engine_held, id, layer, next_part);
}

int office::offer_remote(const parcel &p, const offer_words &words)
{
    {
        guard held(lock_);
        if (int s = remote_of(p.rank).broken) return s;
    }
    return core::send_frame(core::engine_held, core::upper::message, p.rank, offer_frame, p.team, std::uint32_t(p.tag),
                            &words, sizeof words);
}

void office::grant(int rank)
{
    std::uint64_t released;
    {
        guard held(lock_);
        released = remote_of(rank).told;
    }
    core::send_frame(core::engine_held, core::upper::message, rank, grant_frame, 0, released, nullptr, 0);
}

void office::on_frame(const core::upper_frame &f)
{
    open(core::engine_held);
    guard held(lock_);
    in_round_ = true;
    take_frame(f);
    in_round_ = false;
}

void office::take_frame(const core::upper_frame &f)
{
    const pattern what{f.position, f.source, tag_of(f.id)};
    if (f.kind <= first_part || f.kind == offer_frame)
        if (what.tag < 0) return;
    remote &from = remote_of(f.source);
    switch (f.kind) {
    case whole_message:
        return arrive(no_slot, what, f.payload.data(), f.payload.size());
    case first_part:
        return first_frame(from, f);
    case next_part:
        return next_frame(from, f.payload);
    case offer_frame: {
        offer_words words;
        if (f.payload.size() != sizeof words) return;
        std::memcpy(&words, f.payload.data(), sizeof words);
        return arrive_offer(f.source, what, words);
    }
    case grant_frame:
        from.granted = std::clamp(f.id, from.granted, from.charged);
        return;
    default:
        return;
    }
}

void office::first_frame(remote &from, const core::upper_frame &f)
{
    const std::size_t length = f.id >> 32;
    if (length > net_eager || f.payload.size() >= length || from.whole) return;
    const pattern what{f.position, f.source, tag_of(f.id)};
    from.whole = length;
    from.got = 0;
    if (request *r = meet(what)) {
        r->source = f.source;
        r->tag = what.tag;
        r->bytes = length;
        r->state.store(request::phase::fetching, std::memory_order_release);
        from.filling = r;
    } else {
        letter *l = letter_box_.make(length);
        l->what = what;
        l->bytes = length;
        l->whole = false;
        from.assembling = l;
        keep(l);
    }
    next_frame(from, f.payload);
}

void office::next_frame(remote &from, std::span<const std::byte> data)
{
    if (data.size() > from.whole - from.got) return;
    if (request *r = from.filling) {
        const std::size_t room = r->wanted() > from.got ? r->wanted() - from.got : 0;
        if (std::size_t n = std::min(room, data.size()))
            copy_bytes(static_cast<std::byte *>(r->buffer) + from.got, data.data(), n);
    } else if (from.assembling && !data.empty()) {
        copy_bytes(from.assembling->data() + from.got, data.data(), data.size());
    }
    from.got += data.size();
    if (from.got < from.whole) return;
    from.whole = from.got = 0;
    if (request *r = std::exchange(from.filling, nullptr)) {
        release(r->source, r->bytes);
        return finish(*r, r->good_status());
    }
    letter *l = std::exchange(from.assembling, nullptr);
    l->whole = true;
    if (request *taker = std::exchange(l->taker, nullptr)) hand_out(l, *taker);
}

// The rest of a message in several frames will not come.
void office::drop_assembly(remote &from, int status)
{
    from.whole = from.got = 0;
    if (request *r = std::exchange(from.filling, nullptr)) return finish(*r, status);
    letter *l = std::exchange(from.assembling, nullptr);
    if (!l) return;
    if (request *taker = std::exchange(l->taker, nullptr)) {
        forget(l);
        return finish(*taker, status);
    }
    used_ -= l->bytes; // kept or taken: now as an offer of a rank that has ended
    l->stays = l->whole = true;
    l->lost = status;
}

} // namespace onesea::msg
