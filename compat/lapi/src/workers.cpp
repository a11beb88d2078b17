// SPDX-License-Identifier: Apache-2.0
#include "workers.hpp"

#include "thread_end.hpp"

#include <chrono>
#include <utility>

namespace lapi {

bool workers::push(std::function<void()> work)
{
    std::lock_guard lock(mutex_);
    if (stopped_ && living_ == 0) return false;
    queue_.push_back(std::move(work));
    try {
        if (idle_ < int(queue_.size()) && living_ < most_ && !stopped_) {
            threads_.emplace_back([this] { serve(); });
            ++living_;
        }
    } catch (...) {
        if (living_ == 0) {
            queue_.pop_back();
            throw;
        }
    }
    changed_.notify_one();
    return true;
}

namespace {
thread_local const workers *served = nullptr; // by this thread
}

bool workers::runs_here() const { return served == this; }

bool workers::finish(double seconds)
{
    std::unique_lock lock(mutex_);
    const std::chrono::duration<double> limit(seconds);
    return quiet_.wait_for(lock, limit, [&] { return queue_.empty() && busy_ == 0; });
}

void workers::serve()
{
    served = this;
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        changed_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
        --idle_;
        if (queue_.empty()) {
            --living_;
            return;
        }
        auto work = std::move(queue_.front());
        queue_.pop_front();
        ++busy_;
        lock.unlock();
        work();
        work = nullptr; // what it holds goes outside the lock
        lock.lock();
        if (--busy_ == 0 && queue_.empty()) quiet_.notify_all();
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
    for (std::thread &t : threads) join_or_detach(t);
}

} // namespace lapi
