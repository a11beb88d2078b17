// SPDX-License-Identifier: Apache-2.0
// Round-trip time, probe timer and congestion window of a link (RFC 9002, sections 5 to 7, with our constants).
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
        rtt = std::max<std::uint64_t>(rtt, 1);
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
        std::uint64_t base = measured() ? smoothed_ + 4 * variation_ + ack_delay : first_probe;
        base = std::clamp(base, measured() ? least_probe : first_probe, most_probe);
        return std::min(base << std::min(unanswered, 10u), most_probe);
    }
    // Later than this after one that was sent behind it has come, a packet is lost.
    std::uint64_t reorder_after() const { return std::max(smoothed_ + smoothed_ / 8, least_reorder); }

  private:
    std::uint64_t smoothed_ = 0, variation_ = 0, lowest_ = 0;
};

// NewReno: doubles per round trip until the first loss, then grows by a packet per round trip and shrinks once for each
// round with a loss, to 0.7 as CUBIC does (RFC 9438). A loss that turns out to be none is undone. The window does not
// go below some sends of the kernel's segmentation: one of them may be lost as a whole, and what comes behind must show
// it.
class congestion_window {
  public:
    std::size_t bytes() const { return window_; }

    void acked(std::size_t bytes, bool was_limiting)
    {
        if (!was_limiting) return;
        window_ += window_ < threshold_ ? bytes : bytes * 1500 / window_ + 1;
        window_ = std::min(window_, most);
    }
    // `sent_at`: of the lost packet. One reaction for all packets that were sent before the last one.
    void lost(std::uint64_t sent_at, std::uint64_t now)
    {
        if (sent_at <= reacted_at_) return;
        before_ = window_;
        threshold_before_ = threshold_;
        reacted_at_ = now;
        window_ = threshold_ = std::max(window_ * 7 / 10, least);
    }
    void spurious(std::uint64_t sent_at)
    {
        if (before_ == 0 || sent_at > reacted_at_) return;
        window_ = std::max(window_, before_);
        threshold_ = std::max(threshold_, threshold_before_);
        before_ = 0;
    }

  private:
    static constexpr std::size_t least = 128 * 1024, most = 16 << 20;
    std::size_t window_ = first_window, threshold_ = most, before_ = 0, threshold_before_ = 0;
    std::uint64_t reacted_at_ = 0;
};

} // namespace onesea::net
