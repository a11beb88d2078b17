// SPDX-License-Identifier: Apache-2.0
#include "inbox.hpp"

#include <utility>

namespace lapi {

void inbox::push(gate &g, work w)
{
    {
        std::lock_guard lock(mutex_);
        if (stopped_) return;
        queue_.push_back(std::move(w));
        ++size_;
    }
    drain(g);
    if (empty()) return;
    {
        std::lock_guard lock(mutex_);
        if (!stopped_ && !thread_.joinable()) thread_ = std::thread([this, &g] { serve(g); });
    }
    g.wake();
}

void inbox::run_one(gate &g)
{
    work w;
    {
        std::lock_guard lock(mutex_);
        if (!queue_.empty()) {
            w = std::move(queue_.front());
            queue_.pop_front();
        }
    }
    if (w) {
        w();
        --size_;
    }
    g.leave();
}

void inbox::drain(gate &g)
{
    while (!empty() && g.try_enter()) run_one(g);
}

void inbox::serve(gate &g)
{
    while (g.wait_to_enter([&] { return !empty(); }, [&] { return stopped_.load(); })) run_one(g);
}

void inbox::stop(gate &g)
{
    std::deque<work> forgotten;
    {
        std::lock_guard lock(mutex_);
        stopped_ = true;
        forgotten.swap(queue_);
        size_ -= forgotten.size();
    }
    g.wake();
    if (thread_.joinable()) thread_.join();
}

} // namespace lapi
