// SPDX-License-Identifier: Apache-2.0
// The sending half of a link: packing, cutting, windows, datagrams.
#include "net/link.hpp"

#include "base/wide_copy.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace onesea::net {

link::link(const link_config &config, crypto &cipher, sink &to, bundle_pool &pool)
    : config_(config), own_row_(config.row ? nullptr : std::make_unique<pair_row>()),
      row_(config.row ? *config.row : *own_row_), counts_(row_.counts), cipher_(cipher), sink_(to), pool_(pool),
      outbox_(pool), release_(config.tuning->batch), room_(config.tuning->window),
      grant_(std::uint32_t(std::min<std::size_t>(first_grant, config.tuning->window)))
{
    config_.max_datagram &= ~7u;
    adapt_to_path();
}

link::~link() = default;

bool link::send(const outgoing &m)
{
    if (failed_) [[unlikely]] {
        if (m.done) m.done->settled(m.done, SEA_ERR_LINK);
        return false;
    }
    if (m.notice) ++notices_out_;
    const bool first = !has_queued();
    if (!m.lazy) queued_ = first ? 1 : queued_ + 1;
    outbox_.push(m, most_packed());
    return !only_lazy() && (first || in_flight_ == 0 || outbox_.bytes() >= enough());
}

void link::hurry(bool answers)
{
    hurried_ |= !outbox_.empty() || !again_.empty() || ((answers || !bundles_.empty()) && !last_asked_);
    flush();
}

// While datagrams may share their fate a packet has as many as the kernel takes in one send.
void link::adapt_to_path()
{
    most_content_ = std::uint32_t(most_in_datagram());
    if (!config_.trains || !trusts()) return;
    const std::size_t send = std::min(gso_bytes, most_in_one_send());
    if (send < least_train * max_datagram()) return;
    const std::size_t datagrams = std::min<std::size_t>(gso_segments, send / max_datagram());
    most_content_ += std::uint32_t((datagrams - 1) * (max_datagram() - header_bytes));
}

// Of small messages that are put together, so that they go in one packet as they lie, beside an acknowledgement.
std::size_t link::most_packed() const
{
    const std::size_t beside = std::min<std::size_t>(most_content_, max_ack_bytes);
    return std::max(most_in_datagram(), most_content_ - beside);
}

bool link::lends() const
{
    return (max_datagram() >= 2 * least_lent && cipher_.mode() != secure_mode::encrypt) || goes_bare();
}

std::size_t link::charge_of(std::size_t bytes) const
{
    if (bytes <= max_datagram()) return bytes + packet_overhead;
    const std::size_t each = max_datagram() - header_bytes, more = (bytes - max_datagram() + each - 1) / each;
    return bytes + packet_overhead + more * (header_bytes + packet_overhead);
}

std::size_t link::next_charge() const { return charge_of(std::min<std::size_t>(outbox_.bytes(), most_content_)); }

std::size_t link::window() const { return std::min<std::size_t>(std::min(peer_grant_, room_), congestion_.bytes()); }

bool link::window_open(std::size_t charge) const { return in_flight_ == 0 || in_flight_ + charge <= window(); }

// The peer has numbers and room for more bundles, though the lowest one is missing.
bool link::more_may_wait() const { return bundles_.size() < bundle_window && kept_ < most_kept; }

// Nothing may go behind a packet with that content, and an acknowledgement at most, and the peer, which acknowledges
// every quarter of its grant, has no reason yet to answer.
bool link::fills_own_window(std::size_t content) const
{
    constexpr std::size_t around = header_bytes + tag_bytes + max_ack_bytes;
    const std::size_t own = std::min<std::size_t>(congestion_.bytes(), room_);
    return own < peer_grant_ / 2 && in_flight_ + charge_of(content + around) + next_charge() > own;
}

// Nearly a full send: cutting one in packets costs the kernel a fraction of so many sends.
std::size_t link::enough() const
{
    const std::size_t send = std::min(gso_bytes, most_in_one_send());
    return std::min<std::size_t>(release_, std::max(most_in_datagram(), send - std::min(send, max_datagram())));
}

// A few packets may be data and the flag behind them, after which the program computes; behind more others come.
// Where a crowd came the last time, it is expected behind the first.
bool link::company_is_likely(std::uint64_t now) const
{
    const std::size_t packets = crowd_came_ ? 1 : few_packets;
    return in_flight_ > 0 && sent_.size() >= packets && now < sent_[sent_.size() - packets].at + company_gap;
}

bool link::held_for_company(std::uint64_t now) const
{
    if (flushed_ || released_ > 0 || company_over_ || outbox_.bytes() >= enough()) return false;
    if (!company_is_likely(now)) return false;
    return held_since_ == 0 || now < held_since_ + hold_limit;
}

bool link::front_may_go(std::uint64_t now) const
{
    if (outbox_.empty() || !more_may_wait() || held_for_company(now)) return false;
    if (only_lazy() && !ack_now_ && !flushed_) return false;
    return window_open(next_charge());
}

bundle *link::next_bundle(std::uint64_t now)
{
    if (!front_may_go(now)) {
        note_wait(now);
        return nullptr;
    }
    if (bundles_.empty()) silence_ = 0;
    if (held_since_ > 0) crowd_came_ = queued_ >= least_crowd;
    const bool late = held_since_ > 0 && now >= held_since_ + hold_limit;
    company_over_ = false;
    // Full packets have no room for an acknowledgement; the first of them gets some, or one would have to go alone.
    const std::size_t for_ack = any_in_ && (ack_now_ || ack_at_ != never) ? ack_fixed_bytes + 8 * words_to_tell() : 0;
    const std::size_t before = outbox_.bytes(), full = before < most_content_ ? 0 : before - before % most_content_;
    if (released_ == 0) {
        if (in_flight_ == 0)
            release_ = crowd_came_ ? 2 * config_.tuning->batch : config_.tuning->batch;
        else if (before >= release_)
            release_ = std::uint32_t(std::min<std::size_t>(2 * release_, gso_bytes));
        released_ = full && !late ? full - for_ack : before;
    }
    bundles_.push_back(outbox_.take(most_content_ - for_ack, lends()));
    bundle *b = bundles_.back().get();
    note_rest(before - outbox_.bytes());
    flushed_ &= has_queued();
    // Whole pages may be less than the packet that they fill.
    released_ -= std::min<std::size_t>(released_, b->leaves_rest() ? most_content_ : b->bytes);
    if (outbox_.bytes() < std::min<std::size_t>(released_, most_content_)) released_ = 0;
    b->number = first_bundle_ + bundles_.size() - 1;
    return b;
}

void link::note_wait(std::uint64_t now)
{
    if (!has_queued()) return;
    if (held_since_ == 0) held_since_ = now;
    seen_after_ = std::uint32_t(std::min<std::uint64_t>(now - held_since_, UINT32_MAX));
    seen_bytes_ = std::uint32_t(std::min<std::size_t>(outbox_.bytes(), UINT32_MAX));
}

// What stays behind has waited since the first look, or since the last one if it was not there then.
void link::note_rest(std::size_t taken)
{
    seen_bytes_ -= std::uint32_t(std::min<std::size_t>(seen_bytes_, taken));
    if (outbox_.empty())
        held_since_ = 0;
    else if (held_since_ > 0 && seen_bytes_ == 0)
        held_since_ += std::exchange(seen_after_, 0);
}

bundle *link::find(std::uint64_t number)
{
    if (number < first_bundle_ || number - first_bundle_ >= bundles_.size()) return nullptr;
    return bundles_[number - first_bundle_].get();
}

// Drops what need not go again any more from the front.
bool link::find_next_again()
{
    while (!again_.empty()) {
        const auto [number, part] = again_.front();
        bundle *b = find(number);
        const bool train = b && !part && needs_train(*b), cut = train && (b->cuts || b->bytes > most_content_);
        const bool missing =
            b && !b->there && (part ? !((b->parts_done | b->parts_flying) & bit_of(part)) : !b->in_flight);
        if (missing && !cut) return true;
        again_.pop_front();
        if (cut) send_in_parts(b);
    }
    return false;
}

// At most: with an acknowledgement.
std::size_t link::charge_of(const piece &again)
{
    constexpr std::size_t around = header_bytes + tag_bytes + max_ack_bytes;
    return charge_of((again.part ? most_in_part() : find(again.bundle)->bytes) + around);
}

// The next one, behind so much more that is under way. Nothing ordered is executed before the lowest bundle is there.
bool link::again_may_go(std::size_t more)
{
    const piece &p = again_.front();
    const std::size_t before = in_flight_ + more;
    return p.bundle == first_bundle_ || before == 0 || before + charge_of(p) <= window();
}

// What fills the window asks as the last one does: the peer may have no reason yet to answer.
bool link::build_again(std::uint64_t now, datagram *result)
{
    if (!find_next_again() || !again_may_go(0)) return false;
    const piece p = again_.front();
    const std::size_t charge = charge_of(p);
    again_.pop_front();
    const bool ask = !find_next_again() || !again_may_go(charge);
    build_packet(find(p.bundle), p.part, now, ask, result);
    return true;
}

// What was lost of it, all or a part.
void link::send_again(bundle *b, unsigned part)
{
    if (b->there) return;
    if (!part && needs_train(*b)) return send_in_parts(b);
    if (part || b->in_flight == 0) queue_again({b->number, part});
}

// The lowest first, for which the others may wait.
void link::queue_again(const piece &p)
{
    again_.push_back(p);
    for (std::size_t i = again_.size() - 1; i > 0 && again_[i].bundle < again_[i - 1].bundle; --i)
        std::swap(again_[i], again_[i - 1]);
}

void link::send_in_parts(bundle *b)
{
    b->cuts = parts_of(*b);
    for (unsigned part = 1; part <= b->cuts; ++part)
        if (!((b->parts_done | b->parts_flying) & bit_of(part))) queue_again({b->number, part});
}

bool link::build_probe(std::uint64_t now, datagram *result)
{
    unsigned skip = probes_due_ == 1 ? 1 : 0; // the second probe carries the next bundle, if there is one
    --probes_due_;
    bundle *chosen = nullptr;
    for (std::size_t i = 0; i < bundles_.size(); ++i) {
        if (bundles_[i]->there) continue;
        chosen = bundles_[i].get();
        if (skip-- == 0) break;
    }
    if (!chosen && all_there()) chosen = bundles_.front().get();
    if (!chosen) return false;
    if (needs_train(*chosen)) chosen->cuts = parts_of(*chosen);
    const unsigned next_part = std::min(unsigned(std::countr_one(chosen->parts_done)) + 1, chosen->cuts);
    build_packet(chosen, next_part, now, true, result);
    sent_.back().probe = true;
    return true;
}

bool link::build(std::uint64_t now, datagram *result)
{
    if (failed_) return build_broken(now, result);
    if (probes_due_ == 1 && unanswered_probes_ > 2 && !goes_short()) [[unlikely]] {
        probes_due_ = 0; // it tells whether the way is there for packets without content
        build_ack(now, result, packet_flags::ask_ack);
        return true;
    }
    if (probes_due_ && build_probe(now, result)) return true;
    if (!again_.empty() && build_again(now, result)) return true;
    if (bundle *b = next_bundle(now)) {
        if (b->bytes > most_content_) [[unlikely]] { // put together before the path lost some
            send_in_parts(b);
            if (build_again(now, result)) return true;
        } else {
            bool last = !front_may_go(now) || fills_own_window(b->bytes);
            bool often = !b->parts.empty() && b->number % 64 == 63;
            build_packet(b, 0, now, often || (last && (b->asks || hurried_ || !outbox_.empty())), result);
            return true;
        }
    }
    if (!has_queued()) flushed_ = false;
    const bool asks = hurried_ && outbox_.empty();
    if (outbox_.empty()) hurried_ = false;
    if (!asks && (!ack_now_ || !any_in_)) return false;
    last_asked_ |= asks;
    build_ack(now, result, asks ? packet_flags::ask_ack : std::uint8_t(0));
    return true;
}

std::uint64_t link::ack_word(unsigned index) const
{
    const std::uint64_t behind = 1 + 64ull * index;
    return largest_in_ >= behind ? packets_done_.seen_down_from(largest_in_ - behind) : 0;
}

// One where `executed` tells of all bundles that came: none is missing between them, and none waits for its turn or its
// parts. Packets without one are in no need of being told of. Else all: what they do not reach would be taken for lost.
unsigned link::words_to_tell() const
{
    if (std::uint32_t(bundles_done_.floor()) != bundles_in_ || !held_.empty() || late_in_) return max_ack_words;
    return unbroken_from_ == 0 || largest_in_ >= unbroken_from_ + 63 ? 1 : max_ack_words;
}

std::size_t link::write_ack_block(std::byte *to, std::uint64_t now, std::size_t room)
{
    const unsigned count = words_to_tell();
    if (!any_in_ || room < ack_fixed_bytes + 8 * count) return 0;
    ack_block ack;
    ack.largest = largest_in_;
    ack.executed = bundles_done_.floor();
    ack.delay_ns = std::uint32_t(std::min<std::uint64_t>(now - largest_in_at_, UINT32_MAX));
    ack.window = std::uint32_t(grant_);
    ack.notices = notices_out_;
    ack.whole = whole_in_;
    std::uint64_t words[max_ack_words];
    for (unsigned i = 0; i < count; ++i) words[i] = ack_word(i);
    write_ack(to, ack, {words, count});
    ack_now_ = late_in_ = false;
    ack_at_ = only_lazy() ? now + ack_delay : never;
    unacked_in_ = 0;
    return ack_fixed_bytes + 8 * count;
}

namespace {

// The parts of a packet behind its header: short runs of content lie beside header and tail, the others stay. `head`:
// bytes that are there already. The last piece is in d->tail, with room for the tag.
void lay_out(datagram *d, std::size_t head, const bundle *b)
{
    std::size_t from = 0, tail = 0;
    d->count = 1;
    auto copied = [&](std::size_t bytes) {
        if (bytes > short_run) return false;
        std::memcpy(d->head + head, b->content.data(), bytes);
        head += bytes;
        return true;
    };
    if (b) {
        for (const bundle::part &part : b->parts) {
            if (part.at > from && !(from == 0 && copied(part.at)))
                d->pieces[d->count++] = {b->content.data() + from, part.at - from};
            d->pieces[d->count++] = {part.data, part.bytes};
            from = part.at;
        }
        const std::size_t left = b->content.size() - from;
        if (left > short_run) {
            d->pieces[d->count++] = {b->content.data() + from, left};
        } else if (left) {
            std::memcpy(d->tail, b->content.data() + from, left);
            tail = left;
        }
    }
    d->pieces[0] = {d->head, head};
    d->pieces[d->count++] = {d->tail, tail};
}

// The same for a part of a bundle.
[[gnu::cold]] void lay_out_part(datagram *d, std::size_t head, const bundle &b, part_range left)
{
    d->pieces[0] = {d->head, head};
    d->count = 1;
    auto run = [&](const std::byte *data, std::size_t bytes) {
        const std::size_t skipped = std::min(bytes, left.from), taken = std::min(bytes - skipped, left.bytes);
        left = {left.from - skipped, left.bytes - taken};
        if (taken) d->pieces[d->count++] = {data + skipped, taken};
    };
    std::size_t from = 0;
    for (const bundle::part &part : b.parts) {
        run(b.content.data() + from, part.at - from);
        run(part.data, part.bytes);
        from = part.at;
    }
    run(b.content.data() + from, b.content.size() - from);
    d->pieces[d->count++] = {d->tail, 0};
}

// What lies in the datagram itself goes to the bundle, which stays until it is acknowledged.
void keep_ends(datagram *d, bundle *b)
{
    auto &head = d->pieces[0], &tail = d->pieces[d->count - 1];
    b->ends.resize(head.size() + tail.size());
    std::memcpy(b->ends.data(), head.data(), head.size());
    if (!tail.empty()) std::memcpy(b->ends.data() + head.size(), tail.data(), tail.size());
    tail = {b->ends.data() + head.size(), tail.size()};
    head = {b->ends.data(), head.size()};
}

void gather(const datagram &d, std::byte *to)
{
    for (unsigned i = 0; i < d.count; ++i) {
        if (d.pieces[i].empty()) continue;
        std::memcpy(to, d.pieces[i].data(), d.pieces[i].size());
        to += d.pieces[i].size();
    }
}

} // namespace

// What a program changes between tag and copy does not arrive, and would not the next time either if it went in the
// same way: so what goes again is tagged in the copy that is sent, and so is all for a while after a loss.
bool link::in_one_piece(const bundle &b) const { return b.tried || (trust_.any_lost() && !trusts()); }

// No cache holds what it is a piece of, and the peer has more to do with it than this side, which had better take one
// of the copies: the peer has to copy it on if it does not land, and to wait for memory at both ends of its first copy
// if there is no tag for which this side reads it.
bool link::is_better_copied(const bundle &b) const
{
    const outgoing &m = b.parts.front().of->message;
    return (!m.lands || !cipher_.tagged()) && passes_caches(transfer_scale(m.bytes));
}

// Adds the tag to what was laid out.
void link::seal(datagram *d, std::uint64_t number, bool in_one_piece)
{
    const std::size_t tag = cipher_.tag_size();
    d->number = number;
    d->bytes = tag;
    for (unsigned i = 0; i < d->count; ++i) d->bytes += d->pieces[i].size();
    const byte_pieces pieces(d->pieces.data(), d->count);
    const std::span<std::byte> room = d->room.empty() ? std::span<std::byte>(d->small) : d->room;
    const bool fits = d->bytes <= room.size();
    const bool may_stay = !in_one_piece || !tag;
    d->lasting = false;
    if (cipher_.mode() != secure_mode::encrypt && may_stay && (!fits || d->bytes > gather_limit)) {
        auto &last = d->pieces[d->count - 1];
        if (tag) cipher_.mac(config_.out, pieces, d->tail + last.size());
        last = {d->tail, last.size() + tag};
        d->lasting = !in_one_piece;
        return;
    }
    if (!fits && d->whole.size() < d->bytes) [[unlikely]]
        d->whole.resize(d->bytes);
    std::byte *to = fits ? room.data() : d->whole.data();
    if (cipher_.mode() == secure_mode::encrypt && d->bytes > gather_limit) {
        cipher_.encrypt(config_.out, number, pieces, to);
    } else {
        gather(*d, to);
        cipher_.seal(config_.out, number, {to, d->bytes});
    }
    d->pieces[0] = {to, d->bytes};
    d->count = 1;
}

// part: 0, or the number of one, from 1.
void link::build_packet(bundle *b, unsigned part, std::uint64_t now, bool ask, datagram *result)
{
    const part_head slice{std::uint16_t(part ? part - 1 : 0), std::uint16_t(b->cuts), std::uint32_t(b->bytes)};
    const std::size_t content = part ? part_head_bytes + range_of(slice).bytes : b->bytes;
    const std::size_t around = header_bytes + cipher_.tag_size(), body = around + content;
    packet_header header;
    header.flags = std::uint8_t(packet_flags::bundle | (b->ordered ? packet_flags::ordered : 0) |
                                (ask ? packet_flags::ask_ack : 0) | (part ? packet_flags::part : 0));
    header.job_tag = config_.job_tag;
    header.source = config_.own_rank;
    header.target = config_.peer_rank;
    header.number = next_packet_++;
    header.bundle = b->number;
    result->asks = last_asked_ = ask;
    if (ask && outbox_.empty()) hurried_ = false;
    result->train = body > max_datagram() ? max_datagram() : 0;
    result->bare = result->train && goes_bare();
    const std::size_t limit = result->train ? std::max<std::size_t>(most_content_ + around, body) : max_datagram();
    const std::size_t room = limit > body ? limit - body : 0;
    header.ack_bytes = std::uint16_t(write_ack_block(result->head + header_bytes, now, std::min(room, max_ack_bytes)));
    if (result->train) header.flags |= packet_flags::first | (result->bare ? 0 : packet_flags::more);
    header.train = std::uint16_t(result->bare ? body + header.ack_bytes : result->train);
    write_header(result->head, header);
    const std::size_t head = header_bytes + header.ack_bytes;
    if (part) [[unlikely]] {
        std::memcpy(result->head + head, &slice, part_head_bytes);
        lay_out_part(result, head + part_head_bytes, *b, range_of(slice));
    } else {
        lay_out(result, head, b);
    }
    seal(result, header.number, in_one_piece(*b));
    // What the peer has read from here is dearer to write anew than a copy in the kernel, which has warm memory for it.
    result->lasting &= !b->parts.empty() && !is_better_copied(*b);
    if (result->lasting) keep_ends(result, b);
    result->alone = in_flight_ < least_lent;
    b->tried = true;
    std::size_t charge = charge_of(result->bytes);
    if (in_flight_ == 0) probe_from_ = now;
    sent_.push_back({header.number, b->number, now, std::uint32_t(charge), sent_packet::flying, std::uint8_t(part),
                     false, 0, result->bare});
    ++b->in_flight;
    b->parts_flying |= bit_of(part);
    in_flight_ += std::uint32_t(charge);
    ++counts_.packets_out;
}

void link::build_ack(std::uint64_t now, datagram *result, std::uint8_t flags)
{
    packet_header header;
    header.job_tag = config_.job_tag;
    header.source = config_.own_rank;
    header.target = config_.peer_rank;
    header.number = next_packet_++;
    header.flags = flags;
    header.ack_bytes = std::uint16_t(write_ack_block(result->head + header_bytes, now, max_ack_bytes));
    write_header(result->head, header);
    result->train = 0;
    result->bare = false;
    result->asks = flags & packet_flags::ask_ack;
    lay_out(result, header_bytes + header.ack_bytes, nullptr);
    seal(result, header.number, true);
    ++counts_.packets_out;
}

// What goes in parts is cut anew. What becomes of the parts that are under way says nothing any more: the peer forgets
// them when it sees one of the new ones.
void link::go_short()
{
    config_.max_datagram = short_datagram;
    adapt_to_path();
    for (std::size_t i = 0; i < sent_.size(); ++i) {
        sent_packet &p = sent_[i];
        bundle *b = p.part && p.state != sent_packet::resolved ? find(p.bundle) : nullptr;
        if (!b || !is_cut_anew(*b)) continue;
        if (p.state == sent_packet::flying) {
            in_flight_ -= p.charge;
            b->landed(p.part);
        }
        p.state = sent_packet::resolved;
    }
    confirm_losses();
    for (std::size_t i = 0; i < bundles_.size(); ++i) {
        bundle &b = *bundles_[i];
        if (!is_cut_anew(b)) continue;
        b.parts_done = b.parts_flying = 0;
        send_in_parts(&b);
    }
}

void link::build_close(std::uint64_t now, datagram *result)
{
    failed_ = true;
    build_ack(now, result, broken_ ? packet_flags::broken : packet_flags::close);
}

bool link::build_broken(std::uint64_t now, datagram *result)
{
    if (now < tell_at_) return false;
    tell_at_ = peer_knows_ ? never : now + std::min(most_probe << tellings_, most_telling);
    if (most_probe << tellings_ < most_telling) ++tellings_;
    build_ack(now, result, std::uint8_t(packet_flags::broken | (peer_knows_ ? 0 : packet_flags::ask_ack)));
    return true;
}

void link::unbuild(const datagram &d)
{
    ack_now_ |= any_in_; // it may have carried one
    hurried_ |= d.asks;
    last_asked_ = last_asked_ && !d.asks;
    if (sent_.empty() || sent_.back().number != d.number) return;
    sent_packet p = sent_.back();
    sent_.pop_back();
    in_flight_ -= p.charge;
    if (p.probe) ++probes_due_;
    if (bundle *b = find(p.bundle)) {
        b->landed(p.part);
        queue_again({p.bundle, p.part});
    }
}

} // namespace onesea::net
