// SPDX-License-Identifier: Apache-2.0
// The sending half of a link: packing, cutting, windows, datagrams.
#include "net/link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace onesea::net {
namespace {

std::size_t charge_of(std::size_t bytes) { return bytes + packet_overhead; }

} // namespace

link::link(const link_config &config, crypto &cipher, sink &to)
    : config_(config), cipher_(cipher), sink_(to), max_datagram_(config.max_datagram & ~std::size_t(7))
{
}

link::~link() = default;

bool link::send(const outgoing &m)
{
    if (failed_) {
        if (m.done) m.done->settled(m.done, SEA_ERR_LINK);
        return false;
    }
    if (m.notice) ++notices_out_;
    if (!m.borrow || m.bytes <= copy_limit) return pack(m, m.notice);
    item bulk;
    bulk.bulk = std::make_unique<long_message>(long_message{m, 0, 0});
    bulk.ordered = m.ordered;
    queue_.push_back(std::move(bulk));
    return true;
}

// Adds a small message to the open item at the end of the queue, or begins one.
bool link::pack(const outgoing &m, bool notice)
{
    const std::size_t payload = m.prefix_bytes + m.bytes, need = frame_bytes + padded(payload);
    const bool ordered = m.ordered || notice; // notices are counted, so they must come in order
    bool fits = !queue_.empty() && !queue_.back().bulk && !queue_.back().closed && queue_.back().ordered == ordered &&
                queue_.back().content.size() + need <= std::min(pack_limit, max_frame() + frame_bytes);
    if (!fits) {
        if (!queue_.empty()) queue_.back().closed = true;
        queue_.emplace_back();
        queue_.back().ordered = ordered;
    }
    item &open = queue_.back();
    frame head = m.head;
    head.length = std::uint32_t(payload);
    head.flags = std::uint8_t((head.flags & ~notice_flag) | frame_flags::last | (notice ? notice_flag : 0));
    const std::size_t at = open.content.size();
    open.content.resize(at + need);
    std::byte *to = open.content.data() + at;
    std::memcpy(to, &head, sizeof head);
    if (m.prefix_bytes) std::memcpy(to + sizeof head, m.prefix, m.prefix_bytes);
    if (m.bytes) std::memcpy(to + sizeof head + m.prefix_bytes, m.payload, m.bytes);
    if (m.done) {
        open.done.push_back(m.done);
        open.asks = true;
    }
    return !fits || in_flight_ == 0;
}

bool link::window_open(std::size_t charge) const
{
    return in_flight_ == 0 || in_flight_ + charge <= std::min(peer_grant_, congestion_.bytes());
}

bool link::held_for_company(std::uint64_t now) const
{
    const item &front = queue_.front();
    if (front.bulk || front.closed || queue_.size() > 1 || flushed_ || in_flight_ == 0) return false;
    return front.since == 0 || now < front.since + hold_limit;
}

bool link::front_may_go(std::uint64_t now) const
{
    if (queue_.empty() || bundles_.size() >= bundle_window || held_for_company(now)) return false;
    const item &front = queue_.front();
    std::size_t bytes =
        front.bulk ? std::min(max_frame(), front.bulk->message.bytes - front.bulk->cut) : front.content.size();
    return window_open(charge_of(bytes));
}

link::bundle *link::cut_bulk(item &front)
{
    long_message &m = *front.bulk;
    bundle *b = bundles_.back().get();
    std::size_t left = m.message.bytes - m.cut;
    b->bulk_bytes = std::min({left, max_frame() & ~std::size_t(7), most_payload});
    b->bulk_data = static_cast<const std::byte *>(m.message.payload) + m.cut;
    b->bulk_head = m.message.head;
    b->bulk_head.position += m.cut;
    b->bulk_head.length = std::uint32_t(b->bulk_bytes);
    b->bulk_head.flags &= std::uint8_t(~notice_flag);
    b->bulk = &m;
    m.cut += b->bulk_bytes;
    ++m.outstanding;
    if (m.cut == m.message.bytes) {
        b->bulk_head.flags |= frame_flags::last;
        if (m.message.notice) { // counts once all of it has been executed
            b->bulk_head.flags |= notice_flag;
            b->ordered = true;
        }
        b->asks = true;
        long_messages_.push_back(std::move(front.bulk));
        queue_.pop_front();
    }
    return b;
}

link::bundle *link::next_bundle(std::uint64_t now)
{
    if (!front_may_go(now)) {
        if (!queue_.empty() && queue_.front().since == 0) queue_.front().since = now;
        return nullptr;
    }
    if (bundles_.empty()) silence_ = 0;
    item &front = queue_.front();
    bundles_.push_back(std::make_unique<bundle>());
    bundle *b = bundles_.back().get();
    b->number = first_bundle_ + bundles_.size() - 1;
    b->ordered = front.ordered;
    if (front.bulk) return cut_bulk(front);
    b->content = std::move(front.content);
    b->done = std::move(front.done);
    b->asks = front.asks;
    queue_.pop_front();
    return b;
}

link::bundle *link::find(std::uint64_t number)
{
    if (number < first_bundle_ || number - first_bundle_ >= bundles_.size()) return nullptr;
    return bundles_[number - first_bundle_].get();
}

bool link::build_again(std::uint64_t now, datagram *result)
{
    while (!again_.empty()) {
        bundle *b = find(again_.front());
        if (b && !b->acked && b->in_flight == 0) {
            std::size_t bytes = b->bulk_data ? b->bulk_bytes : b->content.size();
            if (!window_open(charge_of(bytes))) return false;
            again_.pop_front();
            build_packet(b, now, again_.empty(), result);
            return true;
        }
        again_.pop_front();
    }
    return false;
}

bool link::build_probe(std::uint64_t now, datagram *result)
{
    unsigned skip = probes_due_ == 1 ? 1 : 0; // the second probe carries the next bundle, if there is one
    --probes_due_;
    bundle *chosen = nullptr;
    for (auto &b : bundles_) {
        if (b->acked) continue;
        chosen = b.get();
        if (skip-- == 0) break;
    }
    if (!chosen) return false;
    build_packet(chosen, now, true, result);
    return true;
}

bool link::build(std::uint64_t now, datagram *result)
{
    if (failed_) return build_broken(now, result);
    if (probes_due_ && build_probe(now, result)) return true;
    if (build_again(now, result)) return true;
    if (bundle *b = next_bundle(now)) {
        bool last = !front_may_go(now);
        build_packet(b, now, (last && (b->asks || !queue_.empty())) || (b->bulk_data && b->number % 64 == 63), result);
        return true;
    }
    if (queue_.empty()) flushed_ = false;
    if (!ack_now_ || !any_in_) return false;
    build_ack(now, result);
    return true;
}

std::uint64_t link::ack_word(unsigned index) const
{
    std::uint64_t behind = 1 + 64ull * index, word = 0;
    if (largest_in_ >= behind + 63 + unbroken_from_) return ~word;
    for (unsigned i = 0; i < 64; ++i)
        if (largest_in_ >= behind + i && packets_done_.seen(largest_in_ - behind - i)) word |= 1ull << i;
    return word;
}

// As many words as there is room for and news to tell; one is enough while nothing is missing.
std::size_t link::write_ack_block(std::byte *to, std::uint64_t now, std::size_t room)
{
    if (!any_in_ || room < ack_fixed_bytes + 8) return 0;
    ack_block ack;
    ack.largest = largest_in_;
    ack.executed = bundles_done_.floor();
    ack.delay_ns = std::uint32_t(std::min<std::uint64_t>(now - largest_in_at_, UINT32_MAX));
    ack.window = std::uint32_t(grant_);
    ack.notices = notices_out_;
    std::uint64_t words[max_ack_words];
    bool whole = largest_in_ < unbroken_from_ + 63 ? unbroken_from_ == 0 : true;
    auto count = unsigned(std::min<std::size_t>(whole ? 1 : max_ack_words, (room - ack_fixed_bytes) / 8));
    for (unsigned i = 0; i < count; ++i) words[i] = ack_word(i);
    write_ack(to, ack, {words, count});
    ack_now_ = false;
    ack_at_ = never;
    unacked_in_ = 0;
    return ack_fixed_bytes + 8 * count;
}

void link::seal(datagram *d, std::uint64_t number, std::size_t head, std::span<const std::byte> content)
{
    const std::size_t pad = padded(content.size()) - content.size(), tag = cipher_.tag_size();
    d->number = number;
    d->bytes = head + content.size() + pad + tag;
    std::memset(d->tail, 0, pad);
    const std::array<std::span<const std::byte>, 3> read{std::span<const std::byte>(d->head, head), content,
                                                         std::span<const std::byte>(d->tail, pad)};
    if (cipher_.mode() == secure_mode::encrypt) {
        if (d->bytes > sizeof d->small && d->whole.size() < d->bytes) d->whole.resize(d->bytes);
        std::byte *to = d->bytes > sizeof d->small ? d->whole.data() : d->small;
        cipher_.encrypt(config_.out, number, read, to);
        d->pieces[0] = {to, d->bytes};
        d->count = 1;
        return;
    }
    if (d->bytes <= sizeof d->small) {
        std::memcpy(d->small, d->head, head);
        if (!content.empty()) std::memcpy(d->small + head, content.data(), content.size());
        std::memset(d->small + head + content.size(), 0, pad);
        cipher_.seal(config_.out, number, {d->small, d->bytes});
        d->pieces[0] = {d->small, d->bytes};
        d->count = 1;
        return;
    }
    if (cipher_.tagged()) cipher_.mac(config_.out, number, read, d->tail + pad);
    d->pieces = {read[0], read[1], std::span<const std::byte>(d->tail, pad + tag)};
    d->count = 3;
}

void link::build_packet(bundle *b, std::uint64_t now, bool ask, datagram *result)
{
    const bool bulk = b->bulk_data != nullptr;
    std::span<const std::byte> content =
        bulk ? std::span(b->bulk_data, b->bulk_bytes) : std::span(std::as_const(b->content));
    const std::size_t body = header_bytes + (bulk ? frame_bytes : 0) + padded(content.size()) + cipher_.tag_size();
    packet_header header;
    header.flags = std::uint8_t(packet_flags::bundle | (b->ordered ? packet_flags::ordered : 0) |
                                (ask ? packet_flags::ask_ack : 0));
    header.job_tag = config_.job_tag;
    header.source = config_.own_rank;
    header.target = config_.peer_rank;
    header.number = next_packet_++;
    header.bundle = b->number;
    std::size_t head = header_bytes;
    std::size_t room = max_datagram_ > body ? max_datagram_ - body : 0;
    header.ack_bytes = std::uint16_t(write_ack_block(result->head + head, now, std::min(room, max_ack_bytes)));
    head += header.ack_bytes;
    write_header(result->head, header);
    if (bulk) {
        std::memcpy(result->head + head, &b->bulk_head, frame_bytes);
        head += frame_bytes;
    }
    seal(result, header.number, head, content);
    std::size_t charge = charge_of(result->bytes);
    if (in_flight_ == 0) probe_from_ = now;
    sent_.push_back({header.number, b->number, now, charge, sent_packet::flying});
    ++b->in_flight;
    in_flight_ += charge;
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
    seal(result, header.number, header_bytes + header.ack_bytes, {});
    ++counts_.packets_out;
}

void link::build_close(std::uint64_t now, datagram *result)
{
    failed_ = true;
    build_ack(now, result, broken_ ? packet_flags::broken : packet_flags::close);
}

bool link::build_broken(std::uint64_t now, datagram *result)
{
    if (now < tell_at_) return false;
    tell_at_ = peer_knows_ ? never : now + std::min(most_probe << std::min(tellings_++, 8u), most_telling);
    build_ack(now, result, std::uint8_t(packet_flags::broken | (peer_knows_ ? 0 : packet_flags::ask_ack)));
    return true;
}

void link::unbuild(const datagram &d)
{
    ack_now_ |= any_in_; // it may have carried one
    if (sent_.empty() || sent_.back().number != d.number) return;
    sent_packet p = sent_.back();
    sent_.pop_back();
    in_flight_ -= p.charge;
    if (bundle *b = find(p.bundle)) {
        --b->in_flight;
        again_.push_front(p.bundle);
    }
}

} // namespace onesea::net
