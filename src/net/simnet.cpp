// SPDX-License-Identifier: Apache-2.0
#include "net/simnet.hpp"

#include <cstring>

namespace onesea::net {

simnet::simnet(std::uint64_t seed, const sim_rates &rates, sink &sink0, sink &sink1, secure_mode mode,
               std::size_t datagram_limit, nanoseconds give_up, std::array<const path_tuning *, 2> tunings, bool trains,
               std::uint32_t trust)
    : rates_(rates), random_(seed), cipher_(mode)
{
    job_key key{};
    key[0] = 42;
    sink *sinks[2] = {&sink0, &sink1};
    for (unsigned i = 0; i < 2; ++i) {
        link_config c;
        c.own_rank = i;
        c.peer_rank = 1 - i;
        c.job_tag = 7;
        c.out = derive_keys(mode, key, i, 1 - i, 0);
        c.in = derive_keys(mode, key, 1 - i, i, 0);
        c.max_datagram = std::uint32_t(datagram_limit);
        c.trains = trains;
        c.trust = trust;
        c.give_up = give_up;
        c.tuning = tunings[i];
        sides_[i].link = std::make_unique<link>(c, cipher_, *sinks[i], pool_);
    }
}

simnet::~simnet() = default;

void simnet::send(int side, const outgoing &message)
{
    link &l = *sides_[side].link;
    l.send(message);
    if (message.lazy && l.only_lazy()) l.go_later(now_);
    if (!taking_) pump(side);
}

void simnet::flush(int side)
{
    sides_[side].link->flush();
    pump(side);
}

void simnet::hurry(int side, bool answers)
{
    sides_[side].link->hurry(answers);
    pump(side);
}

bool simnet::run(const std::function<bool()> &done, nanoseconds until)
{
    for (unsigned idle_rounds = 0; !done();) {
        nanoseconds next = next_event();
        idle_rounds = next > now_ ? 0 : idle_rounds + 1;
        if (idle_rounds > 1000) return false; // a timer that is due but does nothing: a busy loop
        if (next > until) {
            now_ = until == never ? now_ : until;
            return false;
        }
        now_ = std::max(now_, next);
        for (int side = 0; side < 2; ++side) poll(side);
    }
    return true;
}

nanoseconds simnet::next_event() const
{
    nanoseconds next = wire_.empty() ? never : wire_.top().at;
    for (auto &s : sides_) {
        nanoseconds wants = s.inbox.empty() ? s.link->deadline() : 0;
        if (wants != never) next = std::min(next, std::max(wants, s.stopped_until));
    }
    return next;
}

static std::size_t bytes_of(std::span<const iovec> pieces)
{
    std::size_t bytes = 0;
    for (const iovec &piece : pieces) bytes += piece.iov_len;
    return bytes;
}

void simnet::put_on_wire(int from, const datagram &d)
{
    std::vector<iovec> pieces;
    for (unsigned i = 0; i < d.count; ++i)
        pieces.push_back({const_cast<std::byte *>(d.pieces[i].data()), d.pieces[i].size()});
    const std::size_t longest = d.train ? d.train : d.bytes;
    if (longest > most_bytes_) return void(sides_[from].sent++); // the end of a train might pass, and be of no use
    if (!d.train || d.bare) return put_on_wire(from, pieces, d.bytes, d.lasting);
    cut_train train(d);
    if (joins_) return put_on_wire(from, train.whole(), bytes_of(train.whole()), false);
    for (unsigned i = 0; i < train.count(); ++i) put_on_wire(from, train.at(i), bytes_of(train.at(i)), false);
}

void simnet::put_on_wire(int from, std::span<const iovec> pieces, std::size_t size, bool lasting)
{
    const unsigned nth = sides_[from].sent++;
    if (verdict_ && !verdict_(from, nth)) return;
    if (now_ < partition_until_ || chance(rates_.loss)) return;
    for (int copies = chance(rates_.dup) ? 2 : 1; copies > 0; --copies) {
        flying f{now_ + rates_.delay, order_++, 1 - from, std::vector<std::uint64_t>(size / 8 + 1), size, {}};
        if (rates_.jitter) f.at += random_() % rates_.jitter;
        if (lateness_) f.at += lateness_(from, nth);
        auto *to = reinterpret_cast<std::byte *>(f.words.data());
        std::size_t at = 0;
        for (const iovec &piece : pieces) {
            if (piece.iov_len) std::memcpy(to + at, piece.iov_base, piece.iov_len);
            if (lasting && piece.iov_len >= least_lent) f.lent.push_back({at, piece});
            at += piece.iov_len;
        }
        lent_ += !f.lent.empty();
        if (chance(rates_.corrupt)) {
            to[random_() % size] ^= std::byte(1 << random_() % 8);
            f.lent.clear();
        }
        wire_.push(std::move(f));
    }
}

void simnet::pump(int side)
{
    static thread_local datagram d;
    while (sides_[side].link->build(now_, &d)) put_on_wire(side, d);
}

std::span<std::byte> simnet::packet_of(int to, std::span<std::byte> bytes, packet_header *h, bool *whole)
{
    std::memcpy(h, bytes.data(), sizeof *h);
    *whole = h->train && (h->bare_train() || joins_);
    const bool joined = *whole && !h->bare_train();
    const auto front = joined ? bytes.first(std::min<std::size_t>(h->train, bytes.size())) : bytes;
    std::size_t taken = bytes.size();
    const bool good = read_header(front, cipher_.tagged(), h) && h->job_tag == 7 && int(h->target) == to &&
                      int(h->source) == 1 - to && (!h->bare_train() || h->train == taken);
    if (!good) return ++refused_, std::span<std::byte>();
    bare_ += h->bare_train();
    if (joined) return close_up(bytes, *h, &taken);
    if (!h->train || *whole) return bytes;
    const auto added = sides_[to].trains.add(*h, bytes, false);
    refused_ += added.taken == 0;
    if (!added.packet.empty()) std::memcpy(h, added.packet.data(), sizeof *h);
    return added.packet;
}

void simnet::take(int to, flying &f)
{
    std::span<std::byte> bytes(reinterpret_cast<std::byte *>(f.words.data()), f.bytes);
    for (const auto &run : f.lent) std::memcpy(bytes.data() + run.at, run.of.iov_base, run.of.iov_len);
    packet_header header;
    packet_view view;
    bool whole = false;
    const auto packet = packet_of(to, bytes, &header, &whole);
    if (packet.empty()) return;
    link &l = *sides_[to].link;
    if (!cipher_.open(l.keys_in(), header.number, packet) ||
        read_packet(packet, cipher_.tagged(), header, &view) != defect::none)
        return void(++refused_);
    l.receive(view, now_);
    if (whole) l.note_train(true);
}

void simnet::poll(int i)
{
    end &s = sides_[i];
    while (!wire_.empty() && wire_.top().at <= now_) {
        flying f = std::move(const_cast<flying &>(wire_.top())); // what it is ordered by stays
        wire_.pop();
        end &to = sides_[f.to];
        if (to.inbox_bytes + f.bytes + packet_overhead > rates_.inbox_bytes) continue; // as the kernel does
        to.inbox_bytes += f.bytes + packet_overhead;
        to.inbox.push_back(std::move(f));
    }
    if (now_ < s.stopped_until) return;
    taking_ = true;
    while (!s.inbox.empty()) {
        flying f = std::move(s.inbox.front());
        s.inbox.pop_front();
        s.inbox_bytes -= f.bytes + packet_overhead;
        take(i, f);
    }
    s.link->end_of_burst();
    taking_ = false;
    pump(i);
    if (now_ >= s.link->deadline()) s.link->on_time(now_);
    pump(i);
}

} // namespace onesea::net
