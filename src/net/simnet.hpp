// SPDX-License-Identifier: Apache-2.0
// A network for tests: two links, virtual time, damage by seed. The same seed gives the same run.
//
// Datagrams really are sealed, copied into an inbox that is as small as a socket buffer, checked and opened, as the UDP
// driver does it. A side that is stopped takes nothing out of its inbox and runs no timers. `verdict` can decide about
// each datagram before chance does, `lateness` make it arrive behind later ones.
#pragma once

#include "net/train.hpp"

#include <cstring>
#include <deque>
#include <functional>
#include <queue>
#include <random>

namespace onesea::net {

struct sim_rates {
    double loss = 0, dup = 0, corrupt = 0;
    nanoseconds delay = 10 * microsecond, jitter = 0; // jitter beyond the spacing of packets reorders them
    std::size_t inbox_bytes = 4 << 20;                // as charged; more is dropped
};

class simnet {
  public:
    using decide = std::function<bool(int from, unsigned nth)>; // false: the nth datagram of that side is lost
    using put_off = std::function<nanoseconds(int from, unsigned nth)>;

    simnet(std::uint64_t seed, const sim_rates &rates, sink &sink0, sink &sink1, secure_mode mode = secure_mode::auth,
           std::size_t datagram_limit = 1472, nanoseconds give_up = default_give_up,
           std::array<const path_tuning *, 2> tunings = {&usual_tuning, &usual_tuning}, bool trains = false,
           std::uint32_t trust = 0)
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

    nanoseconds now() const { return now_; }
    link &at(int side) { return *sides_[side].link; }
    std::uint64_t sent(int side) const { return sides_[side].sent; }
    std::uint64_t refused() const { return refused_; }
    std::uint64_t lent() const { return lent_; } // datagrams of which pages went instead of copies
    void set_verdict(decide d) { verdict_ = std::move(d); }
    void set_lateness(put_off l) { lateness_ = std::move(l); }
    void stop(int side, nanoseconds until) { sides_[side].stopped_until = until; }
    void partition(nanoseconds until) { partition_until_ = until; }
    void set_rates(const sim_rates &rates) { rates_ = rates; }

    void send(int side, const outgoing &message)
    {
        link &l = *sides_[side].link;
        l.send(message);
        if (message.lazy && l.only_lazy()) l.go_later(now_);
        if (!taking_) pump(side);
    }
    void flush(int side)
    {
        sides_[side].link->flush();
        pump(side);
    }

    void hurry(int side, bool answers = false)
    {
        sides_[side].link->hurry(answers);
        pump(side);
    }

    // Runs until `done`, or until nothing is left to happen, or until that time; true if `done`.
    bool run(const std::function<bool()> &done, nanoseconds until)
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

  private:
    struct flying {
        nanoseconds at;
        std::uint64_t order;
        int to;
        std::vector<std::uint64_t> words;
        std::size_t bytes;
        struct run {
            std::size_t at;
            iovec of;
        };
        std::vector<run> lent; // is read when it arrives (page_lender.hpp)
        bool operator<(const flying &o) const { return at != o.at ? at > o.at : order > o.order; }
    };
    struct end {
        std::unique_ptr<net::link> link;
        std::deque<flying> inbox;
        train_collector trains;
        std::size_t inbox_bytes = 0;
        nanoseconds stopped_until = 0;
        unsigned sent = 0;
    };
    sim_rates rates_;
    std::mt19937_64 random_;
    crypto cipher_;
    bundle_pool pool_;
    end sides_[2];
    std::priority_queue<flying> wire_;
    decide verdict_;
    put_off lateness_;
    nanoseconds now_ = 1 * second, partition_until_ = 0;
    std::uint64_t order_ = 0, refused_ = 0, lent_ = 0;
    bool taking_ = false;

    bool chance(double rate) { return rate > 0 && std::uniform_real_distribution<>(0, 1)(random_) < rate; }

    nanoseconds next_event() const
    {
        nanoseconds next = wire_.empty() ? never : wire_.top().at;
        for (auto &s : sides_) {
            nanoseconds wants = s.inbox.empty() ? s.link->deadline() : 0;
            if (wants != never) next = std::min(next, std::max(wants, s.stopped_until));
        }
        return next;
    }

    void put_on_wire(int from, const datagram &d)
    {
        std::vector<iovec> pieces;
        for (unsigned i = 0; i < d.count; ++i)
            pieces.push_back({const_cast<std::byte *>(d.pieces[i].data()), d.pieces[i].size()});
        if (!d.train) return put_on_wire(from, pieces, d.bytes, d.lasting);
        cut_train train(d);
        for (unsigned i = 0; i < train.count(); ++i) {
            std::size_t bytes = 0;
            for (const iovec &piece : train.at(i)) bytes += piece.iov_len;
            put_on_wire(from, train.at(i), bytes, false);
        }
    }

    void put_on_wire(int from, std::span<const iovec> pieces, std::size_t size, bool lasting)
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

    void pump(int side)
    {
        static thread_local datagram d;
        while (sides_[side].link->build(now_, &d)) put_on_wire(side, d);
    }

    void take(int to, flying &f)
    {
        std::span<std::byte> bytes(reinterpret_cast<std::byte *>(f.words.data()), f.bytes);
        for (const auto &run : f.lent) std::memcpy(bytes.data() + run.at, run.of.iov_base, run.of.iov_len);
        packet_header header;
        packet_view view;
        bool good = read_header(bytes, cipher_.tagged(), &header) && header.job_tag == 7 && int(header.target) == to &&
                    int(header.source) == 1 - to;
        if (good && header.train) {
            auto [taken, packet] = sides_[to].trains.add(header, bytes);
            if (taken && packet.empty()) return;
            good = taken;
            bytes = packet;
            if (good) std::memcpy(&header, bytes.data(), sizeof header);
        }
        good = good && cipher_.open(sides_[to].link->keys_in(), header.number, bytes) &&
               read_packet(bytes, cipher_.tagged(), header, &view) == defect::none;
        if (!good) {
            ++refused_;
            return;
        }
        sides_[to].link->receive(view, now_);
    }

    void poll(int i)
    {
        end &s = sides_[i];
        while (!wire_.empty() && wire_.top().at <= now_) {
            flying f = wire_.top();
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
};

} // namespace onesea::net
