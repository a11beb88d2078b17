// SPDX-License-Identifier: Apache-2.0
#include "data/control.hpp"

#include <algorithm>
#include <sched.h>
#include <time.h>

namespace onesea::data {
namespace {

constexpr int spins = 200;                // about two microseconds: as long as a holder usually works
constexpr int yields = 50;                // then a holder without a core may have this one
constexpr nanoseconds first_nap = 20'000; // then it does something long, or its process is stopped
constexpr nanoseconds longest_nap = 1'000'000;

// A free lock, or that of a rank that has ended, becomes ours.
bool try_lock(control &c, const who_locks &who)
{
    std::uint32_t holder = c.holder.load(std::memory_order_relaxed);
    const std::uint32_t mine = std::uint32_t(who.rank) + 1;
    if (holder == 0) return c.holder.compare_exchange_strong(holder, mine, std::memory_order_acquire);
    if (holder == mine || who.alive(int(holder - 1))) return false;
    const std::uint32_t dead = holder;
    if (!c.holder.compare_exchange_strong(holder, mine, std::memory_order_acquire)) return false;
    if (std::uint32_t cut = c.editing.load()) {
        c.broken = dead;
        c.cut = cut;
        c.editing.store(0);
    }
    c.taken_over.store(1);
    return true;
}

void nap(nanoseconds time)
{
    timespec t{0, long(time)};
    nanosleep(&t, nullptr);
}

} // namespace

const char *name_of(kind k)
{
    switch (k) {
    case kind::vector:
        return "vector";
    case kind::deque:
        return "deque";
    case kind::queue:
        return "queue";
    case kind::list:
        return "list";
    case kind::table:
        return "table";
    case kind::none:
        break;
    }
    return "structure";
}

lock_result take_lock(control &c, kind k, std::uint32_t tag, const owner_heap &heap, const who_locks &who)
{
    const std::uint64_t offset = heap.offset_of(&c);
    nanoseconds pause = first_nap;
    for (int tries = 0;; ++tries) {
        // looked at again before each try: who destroys it while others wait gives the memory away
        if (!heap.live(offset, 1) || c.magic.load(std::memory_order_acquire) != k || c.tag != tag)
            return lock_result::gone;
        if (try_lock(c, who)) {
            if (c.magic.load(std::memory_order_relaxed) == k) return lock_result::taken;
            give_lock(c);
            return lock_result::gone;
        }
        if (tries < spins) {
            __builtin_ia32_pause();
            continue;
        }
        if (who.deadline == 0) return lock_result::busy;
        if (tries < spins + yields) {
            sched_yield();
            continue;
        }
        const nanoseconds now = now_ns();
        if (now >= who.deadline) return lock_result::busy;
        nap(std::min(pause, who.deadline - now));
        pause = std::min(2 * pause, longest_nap);
    }
}

void give_lock(control &c) { c.holder.store(0, std::memory_order_release); }

} // namespace onesea::data
