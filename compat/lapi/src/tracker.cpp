// SPDX-License-Identifier: Apache-2.0
#include "tracker.hpp"

#include "local.hpp"
#include "thread_end.hpp"

#include <utility>

namespace lapi {

bool tracker::look_at(operation &o)
{
    if (o.locally && sea_wait_local(o.op, 0) == SEA_OK) std::exchange(o.locally, nullptr)();
    int done = 0;
    int status = sea_test(o.op, &done);
    if (status == SEA_OK && !done) return false;
    if (o.locally) o.locally();
    if (o.at_end) o.at_end(status);
    return true;
}

void tracker::follow(operation o)
{
    if (look_at(o)) return;
    std::lock_guard lock(mutex_);
    operations_.push_back(std::move(o));
    if (!thread_.joinable() && !stopped_) thread_ = std::thread([this] { serve(); });
    add_here(&events_); // its own additions may have come before it was here
}

void tracker::serve()
{
    std::vector<operation> open, ours;
    for (;;) {
        {
            sleeping here;
            sea_counter_take(&events_, 1, SEA_FOREVER);
        }
        {
            std::lock_guard lock(mutex_);
            if (stopped_) return;
            ours.swap(operations_);
        }
        for (operation &o : ours) open.push_back(std::move(o));
        ours.clear();
        std::vector<operation> still;
        for (operation &o : open)
            if (!look_at(o)) still.push_back(std::move(o));
        open.swap(still);
    }
}

void tracker::stop()
{
    {
        std::lock_guard lock(mutex_);
        stopped_ = true;
        add_here(&events_);
    }
    join_or_detach(thread_);
}

} // namespace lapi
