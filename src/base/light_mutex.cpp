// SPDX-License-Identifier: Apache-2.0
#include "base/light_mutex.hpp"

#include "base/clock.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace onesea {
namespace {

constexpr nanoseconds too_long = 2'000'000;     // a sleeper is late
constexpr nanoseconds longest_wait = 1'000'000; // for it, behind a release: it may have no processor,
constexpr nanoseconds awake = 100'000;          // or only this one, whose thread is more urgent

long barrier_everywhere(int command) { return syscall(SYS_membarrier, command, 0, 0); }

long futex(std::atomic<std::uint32_t> &word, int what, std::uint32_t value)
{
    static_assert(sizeof word == 4);
    return syscall(SYS_futex, &word, what | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

// No point at which a thread is cancelled, as usleep() would be.
void nap()
{
    const timespec time{0, 50'000};
    syscall(SYS_nanosleep, &time, nullptr);
}

} // namespace

void light_mutex::prepare() { by_store_ = barrier_everywhere(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0; }

void light_mutex::lock_slowly()
{
    for (int i = 0; i < spins; ++i) {
        __builtin_ia32_pause();
        if (try_lock()) return;
    }
    sleepers_.fetch_add(1);
    if (by_store_) barrier_everywhere(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    const nanoseconds began = now_ns();
    bool starved = false;
    while (held_.exchange(1, std::memory_order_acquire) != 0) {
        futex(held_, FUTEX_WAIT, 1);
        if (starved || now_ns() - began < too_long) continue;
        starved = true;
        starved_.fetch_add(1, std::memory_order_relaxed);
    }
    if (starved) starved_.fetch_sub(1, std::memory_order_relaxed);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void light_mutex::wake_one()
{
    futex(held_, FUTEX_WAKE, 1);
    if (starved_.load(std::memory_order_relaxed)) let_another_in();
}

void light_mutex::let_another_in()
{
    const nanoseconds began = now_ns();
    while (held_.load(std::memory_order_relaxed) == 0) {
        const nanoseconds waited = now_ns() - began;
        if (waited > longest_wait) return;
        if (waited < awake)
            sched_yield();
        else
            nap();
    }
}

} // namespace onesea
