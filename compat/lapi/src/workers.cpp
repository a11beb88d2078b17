// SPDX-License-Identifier: Apache-2.0
#include "workers.hpp"

#include <utility>

namespace lapi {

void workers::push(std::function<void()> work)
{
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (idle_ < int(queue_.size()) && int(threads_.size()) < most_ && !stopped_)
        threads_.emplace_back([this] { serve(); });
    changed_.notify_one();
}

void workers::serve()
{
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        changed_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
        --idle_;
        if (queue_.empty()) return;
        auto work = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        work();
        work = nullptr; // what it holds goes outside the lock
        lock.lock();
    }
}

void workers::stop()
{
    std::vector<std::thread> threads;
    {
        std::lock_guard lock(mutex_);
        stopped_ = true;
        threads.swap(threads_);
        changed_.notify_all();
    }
    for (std::thread &t : threads) {
        if (t.get_id() == std::this_thread::get_id())
            t.detach();
        else
            t.join();
    }
}

} // namespace lapi
