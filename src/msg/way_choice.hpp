// SPDX-License-Identifier: Apache-2.0
// How long messages between private buffers of one node come: over the sender's stage, or by the kernel's copy, shared
// with the sender where it looks. Which is faster depends on how near the two processors are to each other at this
// moment, which a host may change at any time. So what each way took is remembered, by source and length; the one that
// took longer is tried again now and then, ever more rarely while it stays so.
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
        lengths &l = of(bytes);
        const way w = next_of(l);
        if (l.now.exchange(w, relaxed) == w)
            l.in_a_row.fetch_add(1, relaxed);
        else
            l.in_a_row.store(1, relaxed);
        return w;
    }

    // The way can be taken. So long it takes at most, which counts while nothing better is known.
    void is_open(way w, std::size_t bytes, nanoseconds time)
    {
        float unknown = 0;
        of(bytes).cost[std::size_t(w)].compare_exchange_strong(unknown, float(time + 1) / float(bytes), relaxed);
    }

    // So long it took. One that was interrupted counts for at most twice the usual.
    void took(way w, std::size_t bytes, nanoseconds time)
    {
        lengths &l = of(bytes);
        std::atomic<float> &cost = l.cost[std::size_t(w)];
        const float last = cost.load(relaxed), now = float(time + 1) / float(bytes);
        const bool counts = l.now.load(relaxed) == w && l.in_a_row.load(relaxed) >= settled;
        if (last != 0 && !counts) return; // but the first one shows that the way is open
        if (now < last)
            cost.store((last + now) / 2, relaxed); // soon believed: the other way is tried rarely
        else
            cost.store(last == 0 ? now : last + (std::min(now, 2 * last) - last) / 4, relaxed);
    }

  private:
    // Messages. A way is tried with several in a row, of which the first ones do not count: what they find in the
    // caches is what the other way has left there.
    static constexpr std::uint32_t tried_at_once = 4, settled = 3;
    static constexpr std::uint32_t least_rest = 16, most_rest = 1024; // from one try of the other way to the next
    static constexpr auto relaxed = std::memory_order_relaxed;
    struct lengths {
        std::array<std::atomic<float>, 2> cost{}; // ns a byte, of late; 0: not known
        std::atomic<std::uint32_t> chosen{0}, tried{0}, rest{least_rest}, in_a_row{0};
        std::atomic<way> faster{way::stage}, now{way::stage};
    };
    std::array<lengths, 4> all_; // the shortest are not shared, the longest the stage writes past the caches
    lengths &of(std::size_t bytes)
    {
        return all_[std::size_t(bytes >= (1u << 16)) + (bytes >= (1u << 20)) + (bytes >= (8u << 20))];
    }

    static way next_of(lengths &l)
    {
        const std::uint32_t chosen = l.chosen.fetch_add(1, relaxed);
        if (chosen < 2 * tried_at_once) return chosen < tried_at_once ? way::stage : way::kernel;
        const float stage = l.cost[0].load(relaxed), kernel = l.cost[1].load(relaxed);
        if (kernel == 0) return way::stage; // the system forbids it
        const way faster = kernel < stage ? way::kernel : way::stage;
        const way other = faster == way::stage ? way::kernel : way::stage;
        if (l.faster.load(relaxed) != faster) { // the tried one was, or what was faster is no more
            l.faster.store(faster, relaxed);
            l.tried.store(chosen, relaxed);
            l.rest.store(least_rest, relaxed);
        }
        const std::uint32_t rest = l.rest.load(relaxed), since = chosen - l.tried.load(relaxed);
        if (since < rest) return faster;
        if (since + 1 >= rest + tried_at_once) {
            l.tried.store(chosen, relaxed);
            l.rest.store(std::min(2 * rest, most_rest), relaxed);
        }
        return other;
    }
};

} // namespace onesea::msg
