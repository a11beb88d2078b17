// SPDX-License-Identifier: Apache-2.0
#include "core/handlers.hpp"

#include <iterator>

namespace onesea::core {

// Puts an ordered message of a stalled origin behind those that wait already.
bool handler_queue::hold_back(handler_task &task)
{
    if (task.what != handler_task::kind::message || !task.ordered || stalled_.empty()) return false;
    auto held = stalled_.find(task.source);
    if (held == stalled_.end()) return false;
    held->second.push_back(std::move(task));
    return true;
}

void handler_queue::push(handler_task &&task)
{
    const bool beside = task.number >= SEA_AM_IDS && table[task.number].beside; // errors and deaths have no such number
    (beside ? beside_ : queue_).push_back(std::move(task));
}

bool handler_queue::pop_beside(handler_task *task)
{
    if (beside_.empty()) return false;
    *task = std::move(beside_.front());
    beside_.pop_front();
    return true;
}

bool handler_queue::pop(handler_task *task)
{
    while (!queue_.empty()) {
        *task = std::move(queue_.front());
        queue_.pop_front();
        if (!hold_back(*task)) return true;
    }
    return false;
}

void handler_queue::resume(int source)
{
    auto held = stalled_.find(source);
    if (held == stalled_.end()) return;
    auto tasks = std::move(held->second);
    stalled_.erase(held);
    queue_.insert(queue_.begin(), std::make_move_iterator(tasks.begin()), std::make_move_iterator(tasks.end()));
}

} // namespace onesea::core
