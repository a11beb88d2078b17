// SPDX-License-Identifier: Apache-2.0
#include "inbox.hpp"

#include "thread_end.hpp"

#include <exception>
#include <utility>

namespace lapi {

// False: stopped, and `w` is still the caller's.
bool inbox::add(work &w)
{
    std::lock_guard lock(mutex_);
    if (stopped_) return false;
    queue_.push_back(std::move(w));
    ++size_;
    return true;
}

void inbox::push(gate &g, work w)
{
    if (!add(w)) return w(false);
    drain(g);
    if (empty()) return;
    start_thread(g);
    g.wake();
}

// Without one `w` waits for who drains, or for the next push to try it again.
void inbox::start_thread(gate &g)
{
    std::lock_guard lock(mutex_);
    if (stopped_ || thread_.joinable()) return;
    try {
        thread_ = std::thread([this, &g] { serve(g); });
    } catch (const std::exception &) {
    }
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
        w(true);
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
    join_or_detach(thread_);
    for (work &w : forgotten) w(false);
}

} // namespace lapi
