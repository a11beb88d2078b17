// SPDX-License-Identifier: Apache-2.0
// How long messages between private buffers of one node come: over the sender's stage, or by the kernel's copy. Which
// is faster depends on how near the two processors are to each other at this moment, which a host may change at any
// time: where they share a cache the stage brings twice as much, else the kernel. So what each way took is remembered,
// by source and length; the one that took longer is tried again now and then.
//
// Any thread may call at any time; what they tell together is remembered in some order.
#pragma once

#include "base/transport.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace onesea::msg {

enum class way : std::uint8_t { stage, kernel };

class way_choice {
  public:
    // How the next message of `bytes` comes.
    way choose(std::size_t bytes)
    {
        if (bytes < least || bytes >= most) return way::stage;
        lengths &l = of(bytes);
        const std::uint32_t chosen = l.chosen.fetch_add(1, relaxed);
        if (chosen < first_tries) return chosen % 2 ? way::kernel : way::stage;
        const float stage = l.cost[0].load(relaxed), kernel = l.cost[1].load(relaxed);
        if (kernel == 0) return way::stage; // the system forbids it
        const bool faster = kernel < stage;
        const bool other = chosen % (bytes < (1u << 20) ? 64 : 16) == 0;
        return faster != other ? way::kernel : way::stage;
    }

    // So long it took. One that was interrupted counts for at most twice the usual.
    void took(way w, std::size_t bytes, nanoseconds time)
    {
        if (bytes < least || bytes >= most) return;
        std::atomic<float> &cost = of(bytes).cost[std::size_t(w)];
        const float last = cost.load(relaxed), now = float(time + 1) / float(bytes);
        cost.store(last == 0 ? now : last + (std::min(now, 2 * last) - last) / 4, relaxed);
    }

    // Bytes: shorter ones come over the stage, and longer ones, which it writes past the caches and the kernel does
    // not.
    static constexpr std::size_t least = 64 * 1024, most = 8 << 20;

  private:
    static constexpr std::uint32_t first_tries = 8; // in turns, to know both
    static constexpr auto relaxed = std::memory_order_relaxed;
    struct lengths {
        std::array<std::atomic<float>, 2> cost{}; // ns a byte, of late; 0: not known
        std::atomic<std::uint32_t> chosen{0};
    };
    std::array<lengths, 2> all_; // up to 1 MiB, longer
    lengths &of(std::size_t bytes) { return all_[bytes >= (1u << 20)]; }
};

} // namespace onesea::msg
