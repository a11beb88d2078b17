// SPDX-License-Identifier: Apache-2.0
// Round-trip time, probe timer and congestion window of a link (RFC 9002, sections 5 to 7, with our constants), how
// patient it is with late packets (RFC 8985), and how far it trusts its path.
#pragma once

#include "net/constants.hpp"

#include <algorithm>
#include <cstdint>

namespace onesea::net {

class round_trip {
  public:
    bool measured() const { return smoothed_ != 0; }
    std::uint64_t smoothed() const { return smoothed_; }

    void sample(std::uint64_t rtt, std::uint64_t peer_delay)
    {
        lowest_ = measured() ? std::min(lowest_, rtt) : rtt;
        if (rtt >= lowest_ + peer_delay) rtt -= peer_delay;
        rtt = std::clamp<std::uint64_t>(rtt, 1, normal()); // more is a process that was stopped, or comes again
        if (!measured()) {
            smoothed_ = rtt;
            variation_ = rtt / 2;
            return;
        }
        std::uint64_t off = rtt > smoothed_ ? rtt - smoothed_ : smoothed_ - rtt;
        variation_ = (3 * variation_ + off) / 4;
        smoothed_ = (7 * smoothed_ + rtt) / 8;
    }

    // How long silence is normal; doubled for every probe that was not answered.
    std::uint64_t probe_after(unsigned unanswered) const
    {
        const std::uint64_t base = std::min(normal(), most_probe);
        return std::min(base << std::min(unanswered, 10u), most_probe);
    }
    // One that was sent so long ago is lost when one that was sent behind it has come.
    std::uint64_t reorder_after() const { return std::max(smoothed_ + smoothed_ / 8, least_reorder); }
    // Since it was sent, for one that was overtaken: after that a copy of it has more chances to come first.
    std::uint64_t worth_waiting() const { return std::max(2 * smoothed_, least_reorder); }
    // No later than this after it was sent a packet is told apart from a lost one, and waited for.
    std::uint64_t forget_after() const { return 2 * reorder_after(); }

  private:
    std::uint64_t smoothed_ = 0, variation_ = 0, lowest_ = 0;

    // So long an answer may take.
    std::uint64_t normal() const
    {
        return measured() ? std::max(smoothed_ + 4 * variation_ + ack_delay, least_probe) : first_probe;
    }
};

// How long a packet that others have overtaken is waited for. By number alone, a path that reorders packets would make
// many resends for nothing: once one was, the sender waits for as long as that packet took, until there was none in so
// many rounds with losses (RFC 8985, 6.2).
class reordering {
  public:
    // Since it was sent; 0: packet_threshold of them are enough.
    std::uint64_t patience() const { return patience_us_ * microsecond; }

    // One that was taken for lost has been acknowledged, so long after it was sent.
    void was_late(std::uint64_t took, const round_trip &rtt)
    {
        const std::uint64_t enough = (took + took / 4) / microsecond;
        if (enough * microsecond <= std::min(rtt.worth_waiting(), most)) // longer ones come behind their copies
            patience_us_ = std::uint32_t(std::max<std::uint64_t>(patience_us_, enough)) & 0x7ff'ffff;
        rounds_ = 0;
    }
    void round_with_loss()
    {
        if (patience_us_ == 0 || ++rounds_ <= patient_rounds) return;
        patience_us_ = rounds_ = 0;
    }

  private:
    static constexpr std::uint64_t most = 100 * second;
    static_assert(patient_rounds < 31 && most / microsecond < 1u << 27);
    std::uint32_t patience_us_ : 27 = 0;
    std::uint32_t rounds_ : 5 = 0; // with losses, since the last one that was late
};

// NewReno: doubles per round trip until the first loss, then grows by a packet per round trip and shrinks once for each
// round with a loss, to 0.7 as CUBIC does (RFC 9438). That is undone when all that was taken for lost turns out to have
// been late. The window does not go below some sends of the kernel's segmentation: one of them may be lost as a whole,
// and what comes behind must show it.
class congestion_window {
  public:
    std::size_t bytes() const { return window_; }

    void acked(std::size_t bytes, bool was_limiting)
    {
        if (!was_limiting) return;
        const std::size_t more = window_ < threshold_ ? bytes : bytes * 1500 / window_ + 1;
        window_ = std::uint32_t(std::min<std::size_t>(window_ + more, most));
    }
    // `sent_at`: of the lost packet. One reaction for all packets that were sent before the last one.
    // True: it was the first.
    bool lost(std::uint64_t sent_at, std::uint64_t now)
    {
        if (sent_at <= reacted_at_) return false;
        if (before_ == 0) {
            before_ = window_;
            threshold_before_ = threshold_;
        }
        reacted_at_ = now;
        window_ = threshold_ = std::max(window_ * 7 / 10, least);
        return true;
    }
    // Something of it is lost indeed: the reaction stays.
    void confirm() { before_ = 0; }
    // All of it has come. `sent_at`: of one of its packets.
    void spurious(std::uint64_t sent_at)
    {
        if (before_ == 0 || sent_at > reacted_at_) return;
        window_ = std::max(window_, before_);
        threshold_ = std::max(threshold_, threshold_before_);
        before_ = 0;
    }

  private:
    static constexpr std::uint32_t least = 128 * 1024, most = 16 << 20;
    std::uint32_t window_ = first_window, threshold_ = most;
    std::uint32_t before_ = 0, threshold_before_ = 0; // the first reaction that may still be undone
    std::uint64_t reacted_at_ = 0;
};

// The path is trusted when `enough` datagrams have come since the last loss, twice as many after each loss that hit
// while it was trusted. A packet that is taken for lost is a suspect first, since it may be late: what suspects have
// cost is given back when all of them have come, and is gone when one of them is lost indeed.
class path_trust {
  public:
    bool holds(std::uint32_t enough) const { return now_.clean >= enough << now_.doubts; }
    bool any_lost() const { return now_.any_lost; }

    void came(std::uint32_t datagrams, std::uint32_t enough)
    {
        now_.add(datagrams);
        if (now_.doubts && now_.clean >= (enough << now_.doubts) * forgive_after) --now_.doubts;
    }
    void lost(std::uint32_t enough)
    {
        lose(enough);
        confirm();
    }
    // Returns the suspicion that was_late() wants to know.
    std::uint8_t suspect(std::uint32_t enough)
    {
        if (suspects_++ == 0) before_ = now_;
        lose(enough);
        return suspicion_;
    }
    void confirm()
    {
        suspects_ = 0;
        ++suspicion_;
    }
    // True: it was the last suspect, and none is lost.
    bool was_late(std::uint8_t suspicion)
    {
        if (suspicion != suspicion_ || suspects_ == 0 || --suspects_ > 0) return false;
        before_.doubts = std::min(before_.doubts, now_.doubts);
        const std::uint32_t since = now_.clean;
        now_ = before_;
        now_.add(since);
        return true;
    }

  private:
    struct state {
        std::uint32_t clean = 0; // datagrams since the last loss, as far as they can be counted
        std::uint8_t doubts = 0; // losses while it was trusted
        bool any_lost = false;

        void add(std::uint32_t datagrams) { clean += std::min(datagrams, UINT32_MAX - clean); }
    };
    state now_, before_; // the first suspect
    std::uint16_t suspects_ = 0;
    std::uint8_t suspicion_ = 0; // counts what was confirmed: a suspect of before that is none of those of now

    void lose(std::uint32_t enough)
    {
        if (holds(enough) && now_.doubts < most_doubts) ++now_.doubts;
        now_.clean = 0;
        now_.any_lost = true;
    }
};

// Whether long datagrams come at all. A switch or a tunnel that takes less than the interfaces at both ends drops them
// without a word, or with one of ICMP that is not believed: then shorter ones are acknowledged again and again, and of
// the long ones that went in between none is (as RFC 8899 looks for black holes). Each round of that begins with what
// is sent behind the last one, so that an outage counts as one. Lengths are charges; 0 is a packet without content.
class path_length {
  public:
    // `next`: the number of the next packet to be sent.
    void came(std::uint32_t length, std::uint64_t next)
    {
        if (length / unit >= least_lost_) {
            *this = {};
        } else if (long_lost_) {
            rounds_ = std::min(rounds_ + 1u, enough) & 15;
            from_ = next & turn;
            long_lost_ = false;
        }
    }
    void lost(std::uint32_t length, std::uint64_t number)
    {
        least_lost_ = std::min<std::uint32_t>(least_lost_, length / unit) & none_lost;
        if (rounds_ == 0 || ((number - from_) & turn) <= turn / 2) long_lost_ = true;
    }
    bool drops_long_ones() const { return rounds_ >= enough; }

  private:
    static constexpr std::uint32_t unit = 8, none_lost = (1u << 14) - 1, turn = (1u << 13) - 1;
    static constexpr unsigned enough =
        8; // of 10 % lost at random, one in a hundred million long ones begins such a row
    static_assert((most_datagram + max_ack_bytes + packet_overhead) / unit < none_lost);
    std::uint32_t least_lost_ : 14 = none_lost;
    std::uint32_t from_ : 13 = 0; // of the round: a packet number, modulo 2^13
    std::uint32_t rounds_ : 4 = 0;
    std::uint32_t long_lost_ : 1 = false; // in this round
};
static_assert(sizeof(path_length) == 4);

// Trains go bare (train.hpp) when the peer has told of `enough` in a row that have come in one piece, and after the
// loss of a bare one of twice as many more.
class bare_trust {
  public:
    bool holds(std::uint32_t enough) const { return since_ >= wanted(enough); }

    // Where no more can be told each time counts for one.
    void told(std::uint32_t whole, std::uint32_t enough) // in a row now
    {
        whole = std::min<std::uint32_t>(whole, most_told_whole);
        const bool split = whole < whole_;
        const std::uint32_t more = split ? whole : std::max<std::uint32_t>(whole - whole_, whole == most_told_whole);
        since_ = std::uint16_t(std::min<std::uint32_t>((split ? 0 : since_) + more, UINT16_MAX));
        whole_ = std::uint16_t(whole);
        if (losses_ && since_ >= wanted(enough, forgive_after)) --losses_;
    }
    // True: it counts, as the first one of those that were lost at a time does.
    bool lost(std::uint32_t enough)
    {
        const bool counts = holds(enough) && losses_ < most_doubts;
        losses_ += counts;
        since_ = 0;
        return counts;
    }
    void was_late() // one that counted
    {
        if (losses_ > 0) --losses_;
    }

  private:
    std::uint16_t since_ = 0; // the last loss, so many
    std::uint16_t whole_ = 0;
    std::uint8_t losses_ = 0;

    std::uint64_t wanted(std::uint32_t enough, std::uint32_t times = 1) const
    {
        return std::min<std::uint64_t>((std::uint64_t(enough) << losses_) * times, UINT16_MAX);
    }
};

} // namespace onesea::net
