// SPDX-License-Identifier: Apache-2.0
#include "core/handlers.hpp"

#include <iterator>

namespace onesea::core {

void handler_queue::push(handler_task &&task)
{
    if (task.what == handler_task::kind::message && task.ordered) {
        auto held = stalled_.find(task.source);
        if (held != stalled_.end()) {
            held->second.push_back(std::move(task));
            return;
        }
    }
    queue_.push_back(std::move(task));
}

handler_task handler_queue::pop()
{
    handler_task task = std::move(queue_.front());
    queue_.pop_front();
    return task;
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
