// SPDX-License-Identifier: Apache-2.0
#include "gate.hpp"

#include <chrono>

namespace lapi {

thread_local bool runs_no_handlers = false;

bool gate::may_run() const
{
    if (running_) return false;
    if (depth_ > 0) return lent_ > 0 || mine();
    return !polling_ || in_progress_ > 0;
}

void gate::begin_run()
{
    running_ = true;
    runner_ = std::this_thread::get_id();
    inner_depth_ = 0;
}

bool gate::try_enter()
{
    if (runs_no_handlers) return false;
    std::lock_guard lock(mutex_);
    if (!may_run()) return false;
    begin_run();
    return true;
}

void gate::leave()
{
    std::lock_guard lock(mutex_);
    running_ = false;
    changed_.notify_all();
}

void gate::wake()
{
    std::lock_guard lock(mutex_);
    changed_.notify_all();
}

bool gate::runs_here()
{
    std::lock_guard lock(mutex_);
    return i_run();
}

void gate::begin_progress()
{
    std::lock_guard lock(mutex_);
    bool matters = polling_ && ++in_progress_ == 1;
    if (!polling_) ++in_progress_;
    if (mine()) matters |= ++lent_ == 1;
    if (matters) changed_.notify_all();
}

void gate::end_progress()
{
    std::unique_lock lock(mutex_);
    --in_progress_;
    if (mine() && lent_ > 0) --lent_;
    auto undisturbed = [&] {
        if (!running_ || i_run()) return true;
        bool ours = mine() && lent_ == 0;
        return !ours && !(polling_ && in_progress_ == 0);
    };
    changed_.wait(lock, undisturbed);
}

void gate::lock()
{
    std::unique_lock lock(mutex_);
    if (i_run()) {
        ++inner_depth_;
        return;
    }
    if (!mine()) {
        changed_.wait(lock, [&] { return depth_ == 0 && !running_; });
        owner_ = std::this_thread::get_id();
        owner_thread_ = pthread_self();
        lent_ = 0;
    }
    ++depth_;
}

bool gate::try_lock()
{
    std::lock_guard lock(mutex_);
    if (i_run()) return ++inner_depth_ > 0;
    if (!mine()) {
        if (depth_ > 0 || running_) return false;
        owner_ = std::this_thread::get_id();
        owner_thread_ = pthread_self();
        lent_ = 0;
    }
    ++depth_;
    return true;
}

bool gate::unlock()
{
    std::lock_guard lock(mutex_);
    if (i_run() && inner_depth_ > 0) {
        --inner_depth_;
        return true;
    }
    if (!mine()) return false;
    if (--depth_ == 0) changed_.notify_all();
    return true;
}

bool gate::locked_here()
{
    std::lock_guard lock(mutex_);
    return mine();
}

pthread_t gate::owner()
{
    std::lock_guard lock(mutex_);
    if (i_run()) return pthread_self();
    return depth_ > 0 ? owner_thread_ : pthread_t{};
}

bool gate::wait_on(std::condition_variable_any &condition, const timespec *until, bool *timed_out)
{
    std::unique_lock lock(mutex_);
    *timed_out = false;
    if (!mine() || i_run()) return false;
    const int depth = depth_;
    depth_ = 0;
    changed_.notify_all();
    if (until) {
        auto since_epoch = std::chrono::seconds(until->tv_sec) + std::chrono::nanoseconds(until->tv_nsec);
        std::chrono::system_clock::time_point point{
            std::chrono::duration_cast<std::chrono::system_clock::duration>(since_epoch)};
        *timed_out = condition.wait_until(lock, point) == std::cv_status::timeout;
    } else {
        condition.wait(lock);
    }
    changed_.wait(lock, [&] { return depth_ == 0 && !running_; });
    owner_ = std::this_thread::get_id();
    owner_thread_ = pthread_self();
    lent_ = 0;
    depth_ = depth;
    return true;
}

void gate::set_polling(bool on)
{
    std::lock_guard lock(mutex_);
    polling_ = on;
    changed_.notify_all();
}

bool gate::polling()
{
    std::lock_guard lock(mutex_);
    return polling_;
}

} // namespace lapi
