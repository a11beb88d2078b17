// SPDX-License-Identifier: Apache-2.0
#include "short_lock.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace acp {
namespace {

constexpr int yields = 16;
constexpr timespec pause{0, 50'000};

// The holder may have lost its processor to who waits here. If it has a lower real-time priority yielding is not
// enough.
void give_way(int times)
{
    if (times < yields)
        sched_yield();
    else
        nanosleep(&pause, nullptr);
}

bool barrier_everywhere(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

} // namespace

// False: somebody is it, or this kernel has no barrier and the lock is shared from the start.
bool short_lock::become_owner()
{
    if (owner_.load(std::memory_order_relaxed) || settled_.load(std::memory_order_acquire)) return false;
    if (!barrier_everywhere(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) {
        shared_.store(true);
        settled_.store(true, std::memory_order_release);
        return false;
    }
    const char *nobody = nullptr;
    return owner_.compare_exchange_strong(nobody, &this_thread);
}

void short_lock::lock_slowly()
{
    if (become_owner()) return lock();
    if (!settled_.load(std::memory_order_acquire)) {
        shared_.store(true);
        barrier_everywhere(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        settled_.store(true, std::memory_order_release);
    }
    for (int i = 0; held_.exchange(true, std::memory_order_acquire); ++i) give_way(i);
    for (int i = 0; inside_.load(std::memory_order_acquire); ++i) give_way(i);
}

} // namespace acp
