// SPDX-License-Identifier: Apache-2.0
// The receiving half of a link: executing bundles, acknowledging, learning from acknowledgements, timers.
#include "net/link.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace onesea::net {

bool link::receive(const packet_view &packet, std::uint64_t now)
{
    const std::uint64_t number = packet.header.number;
    const bool asks = packet.header.flags & packet_flags::ask_ack;
    if (packets_seen_.seen(number)) return false; // a replay, or so late that it was sent again
    packets_seen_.mark(number);
    if (packet.header.flags & packet_flags::broken) [[unlikely]] {
        hear_broken(asks, now);
        return true;
    }
    if (failed_) [[unlikely]] {
        if (broken_ && asks) tell_at_ = now;
        return true;
    }
    ++counts_.packets_in;
    last_heard_ = now;
    silence_ = 0;
    if (packet.header.flags & packet_flags::bundle) {
        const bool gap = any_in_ && number != largest_in_ + 1; // or what had been missing, for which the sender waits
        take_bundle(packet);
        // Not earlier: what goes while it is executed does not acknowledge it.
        ack_now_ |= gap || has_to_wait(packet.header);
        unacked_in_ += std::uint32_t(charge_of(packet.content.size() + header_bytes + cipher_.tag_size()));
        ack_at_ = std::min(ack_at_, now + ack_delay);
    } else {
        note_done(number);
    }
    ack_now_ |= asks;
    asked_ = std::uint8_t(asked_ + asks); // after its frames: it asks for their answers, too
    if (packet.header.ack_bytes) take_ack(packet.ack, now);
    settle_ready();
    if (packet.header.flags & packet_flags::close) peer_closed_ = true;
    return true;
}

// The peer asks until it hears the same from this side.
void link::hear_broken(bool asks, std::uint64_t now)
{
    broken_ = peer_knows_ = true;
    tell_at_ = asks ? now : never;
    if (!failed_) settle_all(SEA_ERR_LINK);
}

// The sender asks when it has no more to send or no more window. While it has, a few answers per window keep it going.
void link::end_of_burst()
{
    if (unacked_in_ >= grant_ / 4) ack_now_ = true;
}

void link::postpone_ack(std::uint64_t now)
{
    if (!ack_now_) return;
    ack_now_ = false;
    ack_at_ = std::min(ack_at_, now + hold_limit);
}

// The packet that has just come.
void link::note_done(std::uint64_t packet)
{
    packets_done_.mark(packet);
    if (any_in_ && packet <= largest_in_) {
        late_in_ |= largest_in_ - packet > 64;
        return;
    }
    if (any_in_ ? packet != largest_in_ + 1 : packet != 0) unbroken_from_ = packet;
    largest_in_ = packet;
    largest_in_at_ = last_heard_;
    any_in_ = true;
}

void link::note_bundle_executed(std::uint64_t bundle)
{
    bundles_done_.mark(bundle);
    bundles_done_.advance();
    ++bundles_in_;
}

void link::take_bundle(const packet_view &packet)
{
    const std::uint64_t number = packet.header.bundle;
    const auto held = held_.empty() ? held_.end() : held_.find(number);
    if (bundles_done_.seen(number) || (held != held_.end() && held->second.parts == 0)) [[unlikely]] {
        note_done(packet.header.number);
        ack_now_ = true; // the acknowledgement was lost, or is late
        return;
    }
    if (bundles_done_.too_far(number)) return;
    if (held != held_.end() && !packet.part.count && !is_early(packet.header)) let_go(held);
    if (packet.part.count) return take_part(packet);
    if (!is_early(packet.header)) [[likely]]
        return run_bundle(packet.header, packet.content, packet.landed);
    const auto kept = hold(number, packet.content.size());
    if (kept == held_.end()) return;
    kept->second.parts = 0;
    std::memcpy(kept->second.content.data(), packet.content.data(), packet.content.size());
    note_done(packet.header.number);
}

bool link::is_early(const packet_header &h) const
{
    return (h.flags & packet_flags::ordered) && h.bundle != bundles_done_.floor();
}

// For lower ones, after it was taken in.
bool link::has_to_wait(const packet_header &h) const
{
    return (h.flags & packet_flags::ordered) && h.bundle > bundles_done_.floor();
}

void link::run_bundle(const packet_header &h, std::span<const std::byte> content, const std::byte *landed)
{
    execute(content, landed);
    note_bundle_executed(h.bundle); // not earlier: an acknowledgement built meanwhile says what was executed
    note_done(h.number);
    if (!held_.empty()) run_held();
}

// In the place of what has come of it: parts were acknowledged, and stay until all of it can take that place. end():
// there is no room. For the bundle that all others may wait for there always is.
link::held_bundles::iterator link::hold(std::uint64_t bundle, std::size_t bytes)
{
    auto held = held_.find(bundle);
    const std::size_t others = held_bytes_ - (held != held_.end() ? held->second.content.size() : 0);
    if (others + bytes > hold_bytes && bundle != bundles_done_.floor()) return held_.end();
    if (held == held_.end()) held = held_.try_emplace(bundle).first;
    held->second.content.resize(bytes);
    held_bytes_ = std::uint32_t(others + bytes);
    return held;
}

void link::let_go(held_bundles::iterator held)
{
    held_bytes_ -= std::uint32_t(held->second.content.size());
    held_.erase(held);
}

// Each part is acknowledged when it is there, the last one when the bundle was executed or waits for its turn.
void link::take_part(const packet_view &packet)
{
    const part_head &part = packet.part;
    auto held = held_.find(packet.header.bundle);
    if (held == held_.end()) {
        held = hold(packet.header.bundle, part.whole);
        if (held == held_.end()) return;
        held->second.parts = part.count;
    }
    held_bundle &b = held->second;
    if (b.content.size() != part.whole || part.count < b.parts) return;
    if (part.count > b.parts) { // cut anew, since longer ones do not arrive
        b.parts = part.count;
        b.come = 0;
    }
    std::memcpy(b.content.data() + range_of(part).from, packet.content.data(), packet.content.size());
    b.come |= 1ull << part.index;
    if (unsigned(std::popcount(b.come)) < b.parts) return note_done(packet.header.number);
    if (!check_frames(b.content)) return;
    b.parts = 0;
    if (is_early(packet.header)) return note_done(packet.header.number);
    const auto content = std::exchange(b.content, {});
    held_bytes_ -= std::uint32_t(content.size());
    held_.erase(held);
    run_bundle(packet.header, content, nullptr);
}

void link::execute(std::span<const std::byte> content, const std::byte *landed)
{
    while (!content.empty()) {
        std::span<const std::byte> payload;
        frame f = next_frame(&content, &payload);
        if (landed) payload = {std::exchange(landed, nullptr), payload.size()};
        rest_follows_ = !(f.flags & frame_flags::last);
        if (f.flags & notice_flag) ++notices_in_;
        f.flags &= std::uint8_t(~notice_flag);
        sink_.receive(int(config_.peer_rank), f, payload);
    }
}

void link::run_held()
{
    while (!held_.empty() && held_.begin()->first == bundles_done_.floor() && held_.begin()->second.parts == 0) {
        auto ready = held_.extract(held_.begin());
        held_bytes_ -= std::uint32_t(ready.mapped().content.size());
        execute(ready.mapped().content, nullptr);
        note_bundle_executed(ready.key());
        ack_now_ = true;
    }
}

void link::bundle_acked(bundle *b)
{
    if (b->acked) return;
    if (b->there) kept_ -= std::uint32_t(b->bytes);
    b->acked = b->there = true;
    for (const to_tell &t : b->done) settling_.push_back({t, ack_notices_});
    b->done.clear();
    for (bundle::part &part : b->parts) {
        part.of->acked += part.bytes;
        delivery *d = part.of->message.done;
        if (d && part.of->acked == part.of->message.bytes) settling_.push_back({{d, 1}, ack_notices_});
    }
    b->parts.clear();
}

void link::drop_front_bundle()
{
    pool_.give(std::move(bundles_.front()));
    bundles_.pop_front();
    ++first_bundle_;
}

// What was acknowledged settles when all notices have come that the peer had sent before the acknowledgement. Loss and
// windows do not wait for them: two links whose notices were lost would wait for each other.
void link::settle_ready()
{
    while (!settling_.empty() && std::int32_t(notices_in_ - settling_.front().notices) >= 0) {
        const to_tell who = settling_.front().who;
        settling_.pop_front();
        who.tell(SEA_OK);
    }
}

void link::drop_acked()
{
    while (!bundles_.empty() && bundles_.front()->acked) drop_front_bundle();
    while (!sent_.empty() && sent_.front().state == sent_packet::resolved) sent_.pop_front();
    // what was taken for lost is remembered for a while, in case it was only late
    while (!sent_.empty() && sent_.front().state == sent_packet::lost &&
           sent_.front().number + replay_window < next_packet_) {
        sent_.pop_front();
        confirm_losses();
    }
    if (bundles_.empty()) drop_copies();
}

// All has been executed: of second copies nobody need tell any more.
void link::drop_copies()
{
    for (std::size_t i = 0; i < sent_.size(); ++i)
        if (sent_[i].state == sent_packet::flying) sent_[i].state = sent_packet::resolved;
    while (!sent_.empty() && sent_.front().state == sent_packet::resolved) sent_.pop_front();
    in_flight_ = 0;
    loss_check_at_ = never;
}

void link::part_acked(bundle *b, unsigned part)
{
    if (part) b->parts_done |= bit_of(part);
    if (part && unsigned(std::popcount(b->parts_done)) < b->cuts) return;
    if (!b->ordered) return bundle_acked(b);
    if (!b->there) kept_ += std::uint32_t(b->bytes); // it may wait for its turn
    b->there = true;
}

void link::packet_acked(sent_packet &p, std::uint64_t now)
{
    if (p.state == sent_packet::lost) [[unlikely]] {
        ++counts_.spurious;
        reordering_.was_late(now - p.at, rtt_);
        if (trust_.was_late(p.suspicion)) congestion_.spurious(p.at);
        if (p.bare) bare_.was_late();
    } else {
        in_flight_ -= p.charge;
        if (bundle *b = find(p.bundle)) b->landed(p.part);
        congestion_.acked(p.charge, in_flight_ + 2 * p.charge >= congestion_.bytes() / 2);
    }
    p.state = sent_packet::resolved;
    trust_.came(datagrams_of(p), config_.trust);
    if (bundle *b = find(p.bundle)) part_acked(b, p.part);
}

// Taken for lost; it may have been overtaken, and come late.
void link::suspect(sent_packet &p, std::uint64_t now)
{
    p.state = sent_packet::lost;
    if (is_long(p) && !is_train(p)) length_.lost(p.charge, p.number); // of a train one datagram was enough
    p.suspicion = trust_.suspect(config_.trust);
    p.bare = p.bare && bare_.lost(enough_for_bare());
    if (congestion_.lost(p.at, now)) reordering_.round_with_loss();
    in_flight_ -= p.charge;
    ++counts_.packets_lost;
    if (bundle *b = find(p.bundle)) {
        b->landed(p.part);
        send_again(b, p.part);
    }
}

// One of those that were taken for lost is lost indeed, or nobody will tell.
void link::confirm_losses()
{
    trust_.confirm();
    congestion_.confirm();
}

// What the peer says it has held the acknowledgement back for is not the network's.
void link::note_round_trip(std::uint64_t ns, std::uint64_t peer_delay)
{
    rtt_.sample(ns, peer_delay);
    row_.smoothed_ns.set(rtt_.smoothed());
    row_.round_trips.add(ns > peer_delay ? ns - peer_delay : ns);
}

void link::take_ack(const ack_view &ack, std::uint64_t now)
{
    if (ack.fixed.largest >= next_packet_) return;
    ack_notices_ = ack.fixed.notices;
    if (ack.fixed.largest >= largest_acked_) { // no newer one has overtaken it
        peer_grant_ = std::max<std::uint32_t>(ack.fixed.window, least_grant);
        bare_.told(ack.fixed.whole, enough_for_bare());
    }
    bool any = false;
    bool carried_nothing = ack.fixed.largest > largest_acked_; // the newest: it was short
    for (std::size_t i = 0; i < sent_.size() && sent_[i].number <= ack.fixed.largest; ++i) {
        sent_packet &p = sent_[i];
        carried_nothing = carried_nothing && p.number != ack.fixed.largest;
        if (p.state == sent_packet::resolved) continue;
        const bool in_words = p.number >= ack.lowest(), told = in_words && ack.has(p.number);
        bundle *b = find(p.bundle);
        const bool done = !b || b->there || p.bundle < ack.fixed.executed;
        if (!told && !done) continue;
        if (!told && p.state == sent_packet::lost) [[unlikely]] {
            // Another packet brought its bundle, or one word does not reach it.
            if (now < p.at + rtt_.forget_after()) continue;
            p.state = sent_packet::resolved;
            confirm_losses();
            continue;
        }
        const bool measures = told && p.number == ack.fixed.largest && p.state == sent_packet::flying;
        if (measures && now > p.at) // a packet that went within a burst may be newer than the burst's time
            note_round_trip(now - p.at, ack.fixed.delay_ns);
        if (in_words && !told) [[unlikely]] { // a probe brought its bundle
            trust_.lost(config_.trust);
            congestion_.confirm();
            if (p.bare) bare_.lost(enough_for_bare());
        }
        if (told) length_.came(is_long(p) ? p.charge : 0, next_packet_);
        packet_acked(p, now);
        any = true;
    }
    while (first_bundle_ < ack.fixed.executed && !bundles_.empty()) {
        bundle_acked(bundles_.front().get());
        drop_front_bundle();
    }
    largest_acked_ = std::max(largest_acked_, ack.fixed.largest);
    if (carried_nothing) length_.came(0, next_packet_);
    find_lost(now);
    if (length_.drops_long_ones() && !goes_short()) go_short();
    drop_acked();
    if (any) {
        unanswered_probes_ = 0;
        probes_due_ = 0;
        probe_from_ = now;
        company_over_ = has_queued();
    }
    adapt_to_path();
}

void link::find_lost(std::uint64_t now)
{
    loss_check_at_ = never;
    bool lost = false;
    const std::uint64_t by_time = std::max(rtt_.reorder_after(), reordering_.patience());
    for (std::size_t i = 0; i < sent_.size() && sent_[i].number < largest_acked_; ++i) {
        sent_packet &p = sent_[i];
        if (p.state != sent_packet::flying) continue;
        const bool far = largest_acked_ - p.number >= packet_threshold;
        const std::uint64_t late = p.at + (far ? reordering_.patience() : by_time);
        if (now < late) {
            loss_check_at_ = std::min(loss_check_at_, late);
            continue;
        }
        suspect(p, now);
        lost = true;
    }
    if (lost) adapt_to_path();
}

// A front that a closed window keeps back goes when an acknowledgement comes, not at a time.
bool link::waits_only_for_company() const
{
    if (!has_queued() || held_since_ == 0 || !held_for_company(0)) return false;
    return more_may_wait() && window_open(next_charge());
}

std::uint64_t link::deadline() const
{
    if (failed_) return tell_at_;
    // The kernel refused the last one: no acknowledgement and no probe will bring this link back.
    if (in_flight_ == 0 && (!again_.empty() || (has_queued() && more_may_wait()))) return 0;
    std::uint64_t ack = ack_now_ ? 0 : ack_at_; // nothing can be told while all that came is held back
    std::uint64_t at = std::min(any_in_ ? ack : never, loss_check_at_);
    if (wants_probe()) at = std::min(at, probe_from_ + rtt_.probe_after(unanswered_probes_));
    if (waits_only_for_company()) at = std::min(at, held_since_ + hold_limit);
    return at;
}

void link::on_time(std::uint64_t now)
{
    if (failed_) return;
    if (now >= ack_at_) ack_now_ = true;
    if (now >= loss_check_at_) find_lost(now);
    const std::uint64_t time_out = rtt_.probe_after(unanswered_probes_);
    if (!wants_probe() || now < probe_from_ + time_out) return;
    silence_ += time_out;
    if (silence_ > config_.give_up) {
        broken_ = true;
        tell_at_ = now;
        return settle_all(SEA_ERR_LINK);
    }
    unanswered_probes_ = std::uint8_t(std::min(unanswered_probes_ + 1, UINT8_MAX));
    adapt_to_path();
    ++counts_.probes;
    probes_due_ = 2;
    probe_from_ = now;
}

void link::settle_all(int status)
{
    failed_ = true;
    auto bundles = std::exchange(bundles_, {});
    auto known = std::exchange(settling_, {});
    sent_.clear();
    again_.clear();
    in_flight_ = 0;
    kept_ = 0;
    auto tell = [status](const to_tell &who) {
        if (who.done) who.tell(status);
    };
    for (std::size_t i = 0; i < known.size(); ++i) tell(known[i].who);
    for (std::size_t i = 0; i < bundles.size(); ++i) {
        for (const to_tell &t : bundles[i]->done) tell(t);
        for (bundle::part &part : bundles[i]->parts) // the first of them that is found tells for all
            tell({std::exchange(part.of->message.done, nullptr), 1});
    }
    outbox_.drop(tell);
}

void link::rest()
{
    if (bundles_.empty()) {
        sent_.clear();
        confirm_losses();
    }
    bundles_.release();
    again_.release();
    sent_.release();
    settling_.release();
    outbox_.rest();
}

} // namespace onesea::net
