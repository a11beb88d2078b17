// SPDX-License-Identifier: Apache-2.0
#include "locks.hpp"

#include "error.hpp"

namespace dsm {
namespace {

int check_number(int lock)
{
    if (lock >= 0 && lock < DSM_LOCKS) return DSM_OK;
    return fail(DSM_ERR_LOCK, "lock {}: the locks are 0 to {}", lock, DSM_LOCKS - 1);
}

} // namespace

int locks::take(int lock)
{
    if (int status = check_number(lock)) return status;
    const auto me = std::this_thread::get_id();
    std::unique_lock guard(mutex_);
    auto &holder = holder_[static_cast<std::size_t>(lock)];
    if (holder == me) return fail(DSM_ERR_LOCK, "lock {}: this thread holds it already", lock);
    given_.wait(guard, [&] { return holder == std::thread::id(); });
    holder = me;
    return DSM_OK;
}

int locks::check_held(int lock)
{
    if (int status = check_number(lock)) return status;
    std::lock_guard guard(mutex_);
    if (holder_[static_cast<std::size_t>(lock)] == std::this_thread::get_id()) return DSM_OK;
    return fail(DSM_ERR_LOCK, "lock {}: this thread does not hold it", lock);
}

void locks::give(int lock)
{
    {
        std::lock_guard guard(mutex_);
        holder_[static_cast<std::size_t>(lock)] = {};
    }
    given_.notify_all();
}

std::vector<int> locks::held()
{
    std::lock_guard guard(mutex_);
    std::vector<int> all;
    for (int lock = 0; lock < DSM_LOCKS; lock++)
        if (holder_[static_cast<std::size_t>(lock)] != std::thread::id()) all.push_back(lock);
    return all;
}

} // namespace dsm
