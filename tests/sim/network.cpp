// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include "net/train.hpp"

#include <cstring>

namespace onesea::sim {

namespace {

constexpr std::uint16_t first_port = 1000;
constexpr std::size_t most_kept = 64;       // datagrams for replays
constexpr std::size_t most_batch = 1 << 16; // bytes that a port hands over at once
constexpr nanoseconds look_time = 1000;     // of one who polls
constexpr double burst_loss = 0.8, burst_end = 0.1;

} // namespace

// Pieces behind each other.
static std::vector<std::byte> bytes_of(std::span<const std::span<const std::byte>> pieces)
{
    std::vector<std::byte> all;
    for (auto piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
    return all;
}

static std::vector<std::byte> bytes_of(std::span<const iovec> pieces)
{
    std::vector<std::byte> all;
    for (const iovec &piece : pieces) {
        auto *from = static_cast<const std::byte *>(piece.iov_base);
        all.insert(all.end(), from, from + piece.iov_len);
    }
    return all;
}

net::peer_address address_of(unsigned host, std::uint32_t mtu)
{
    net::peer_address a;
    a.address[10] = a.address[11] = 0xff;
    a.address[12] = 10;
    a.address[15] = std::uint8_t(host + 1);
    a.port = std::uint16_t(first_port + host);
    a.mtu = mtu;
    return a;
}

struct network::host final : net::datagram_port {
    network &net;
    unsigned self;
    std::deque<flying> inbox;
    std::size_t inbox_bytes = 0;
    nanoseconds clock_ahead = 0, stopped_until = 0, refuses_until = 0, serve_at = never;
    bool removed = false;
    std::vector<std::uint64_t> buffer;

    host(network &n, unsigned s) : net(n), self(s), buffer(most_batch / 8 + 8) {}

    bool gso() const override { return net.wrong_.gso; }
    std::size_t receive_bytes() const override { return net.wrong_.inbox_bytes; }
    nanoseconds now() const override { return net.now_ + clock_ahead; }
    unsigned send(const net::endpoint &to, std::span<const net::datagram> datagrams) override;
    bool receive_batch(const aside &wanted, arrivals *batch) override;
};

unsigned network::host::send(const net::endpoint &to, std::span<const net::datagram> datagrams)
{
    auto taken = unsigned(datagrams.size());
    if (net.now_ < refuses_until) return 0;
    if (net.chance(net.wrong_.refuse)) {
        ++net.counts_.refused;
        taken = unsigned(net.random_() % datagrams.size());
        refuses_until = net.now_ + net.random_() % millisecond;
    }
    unsigned peer = ntohs(to.v4.sin_port) - first_port;
    for (const net::datagram &d : datagrams.first(taken)) {
        if (!d.train) {
            net.transmit(self, peer, bytes_of(std::span(d.pieces).first(d.count)));
            continue;
        }
        if (d.bare) {
            ++net.counts_.bare_trains;
            const auto all = bytes_of(std::span(d.pieces).first(d.count));
            for (std::span<const std::byte> left = all; !left.empty();) {
                const auto one = left.first(std::min(d.train, left.size()));
                net.transmit(self, peer, one);
                left = left.subspan(one.size());
            }
            continue;
        }
        net::cut_train train(d);
        for (unsigned i = 0; i < train.count(); ++i) net.transmit(self, peer, bytes_of(train.at(i)));
    }
    return taken;
}

// As a kernel that joins what belongs together (GRO).
bool network::host::receive_batch(const aside &wanted, arrivals *batch)
{
    if (inbox.empty()) return false;
    auto *to = reinterpret_cast<std::byte *>(buffer.data());
    const unsigned from = inbox.front().from;
    const std::size_t segment = inbox.front().bytes;
    std::size_t bytes = 0;
    for (bool more = true; more && !inbox.empty();) {
        flying &f = inbox.front();
        if (f.from != from || f.bytes > segment || bytes + f.bytes > most_batch) break;
        more = net.wrong_.gso && f.bytes == segment && f.bytes % 8 == 0;
        std::memcpy(to + bytes, f.words.data(), f.bytes);
        bytes += f.bytes;
        inbox_bytes -= f.bytes + net::packet_overhead;
        inbox.pop_front();
    }
    batch->bytes = {to, bytes};
    batch->segment = std::max<std::size_t>(segment, 1);
    batch->from = net::endpoint(address_of(from, 0));
    batch->parted = put_aside(wanted, batch->bytes);
    return true;
}

network::network(random_engine &random, const damage &wrong, unsigned hosts)
    : random_(random), wrong_(wrong), blocked_(hosts * hosts), in_burst_(hosts * hosts)
{
    for (unsigned i = 0; i < hosts; ++i) hosts_.push_back(std::make_unique<host>(*this, i));
}

network::~network() = default;

net::datagram_port &network::port(unsigned h) { return *hosts_[h]; }

bool network::chance(double rate) { return rate > 0 && double(random_() >> 11) * 0x1p-53 < rate; }

void network::block(unsigned from, unsigned to, nanoseconds until) { blocked_[from * hosts_.size() + to] = until; }

void network::stop(unsigned h, nanoseconds until) { hosts_[h]->stopped_until = until; }

void network::jump(unsigned h, nanoseconds by)
{
    hosts_[h]->clock_ahead += by;
    hosts_[h]->serve_at = now_; // its timers run by that clock
}

void network::remove(unsigned h) { hosts_[h]->removed = true; }

nanoseconds network::serve_at(unsigned h) const
{
    const host &one = *hosts_[h];
    if (one.removed || one.serve_at == never) return never;
    return std::max({one.serve_at, one.stopped_until, now_});
}

void network::served(unsigned h, nanoseconds deadline)
{
    host &one = *hosts_[h];
    if (!one.inbox.empty())
        one.serve_at = now_ + look_time; // it may let them queue up, and a clock that stood still would not end that
    else if (deadline == never)
        one.serve_at = never;
    else
        one.serve_at = deadline > one.clock_ahead ? deadline - one.clock_ahead : 0;
}

nanoseconds network::local_time(unsigned h) const { return hosts_[h]->now(); }

nanoseconds network::stopped_until(unsigned h) const { return hosts_[h]->stopped_until; }

bool network::is_lost(std::size_t path)
{
    if (now_ < blocked_[path]) return true;
    if (!in_burst_[path] && chance(wrong_.burst)) in_burst_[path] = true;
    if (in_burst_[path] && chance(burst_end)) in_burst_[path] = false;
    return chance(in_burst_[path] ? burst_loss : wrong_.loss);
}

void network::launch(flying f, nanoseconds extra)
{
    f.at = now_ + wrong_.delay + extra + (wrong_.jitter ? random_() % wrong_.jitter : 0);
    f.order = order_++;
    wire_.push_back(std::move(f));
    std::push_heap(wire_.begin(), wire_.end());
}

void network::transmit(unsigned from, unsigned to, std::span<const std::byte> datagram)
{
    ++counts_.sent;
    const std::size_t size = datagram.size();
    trace_ = (trace_ ^ (now_ << 16 ^ size << 4 ^ from << 2 ^ to)) * 0x9e3779b97f4a7c15ull;
    if (is_lost(from * hosts_.size() + to)) {
        ++counts_.lost;
        return;
    }
    flying f{0, 0, from, to, std::vector<std::uint64_t>(size / 8 + 1), size};
    auto *bytes = reinterpret_cast<std::byte *>(f.words.data());
    std::memcpy(bytes, datagram.data(), size);
    net::packet_header header;
    std::memcpy(&header, bytes, std::min(sizeof header, size)); // of a bare train's other datagrams what lies there
    counts_.in_trains += header.train != 0;
    counts_.parts += (header.flags & net::packet_flags::part) != 0 && !header.train;
    if (chance(wrong_.dup)) launch(f, random_() % millisecond);
    if (chance(wrong_.replay)) kept_.push_back(f);
    if (kept_.size() > most_kept || (!kept_.empty() && chance(wrong_.replay))) {
        ++counts_.replayed;
        launch(std::move(kept_.front()), 0);
        kept_.pop_front();
    }
    if (chance(wrong_.stray)) {
        ++counts_.strayed;
        flying lost = f;
        lost.to = unsigned(random_() % hosts_.size()); // the sender, too
        launch(std::move(lost), 0);
    }
    if (chance(wrong_.corrupt)) {
        ++counts_.changed;
        for (auto flips = 1 + random_() % 3; flips > 0; --flips)
            bytes[random_() % size] ^= std::byte(1 << random_() % 8);
        if (random_() % 4 == 0) f.bytes = random_() % (f.bytes + 1); // cut off
    }
    launch(std::move(f), 0);
}

void network::arrive(flying &&f)
{
    host &to = *hosts_[f.to];
    if (to.removed) return;
    if (to.inbox_bytes + f.bytes + net::packet_overhead > wrong_.inbox_bytes) {
        ++counts_.overflown;
        return;
    }
    to.inbox_bytes += f.bytes + net::packet_overhead;
    if (to.inbox.empty()) to.serve_at = std::min(to.serve_at, f.at + (wrong_.latency ? random_() % wrong_.latency : 0));
    to.inbox.push_back(std::move(f));
}

nanoseconds network::next_arrival() const { return wire_.empty() ? never : wire_.front().at; }

void network::advance(nanoseconds to)
{
    while (!wire_.empty() && wire_.front().at <= to) {
        std::pop_heap(wire_.begin(), wire_.end());
        flying f = std::move(wire_.back());
        wire_.pop_back();
        now_ = std::max(now_, f.at);
        arrive(std::move(f));
    }
    now_ = std::max(now_, to);
}

} // namespace onesea::sim
