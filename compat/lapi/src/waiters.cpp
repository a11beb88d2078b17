// SPDX-License-Identifier: Apache-2.0
#include "waiters.hpp"

#include <algorithm>
#include <utility>

namespace lapi {

bool waiters::begin_wait(lapi_cntr_t *counter)
{
    std::lock_guard lock(mutex_);
    return waited_for_.insert(counter).second;
}

void waiters::end_wait(lapi_cntr_t *counter)
{
    std::lock_guard lock(mutex_);
    waited_for_.erase(counter);
}

void waiters::set_destinations(lapi_cntr_t *counter, std::vector<uint> tasks, int *status, int number_of_tasks,
                               const is_gone &gone)
{
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < tasks.size(); ++i)
        status[i] = tasks[i] >= uint(number_of_tasks) ? LAPI_MSG_INVALID
                    : gone(tasks[i])                  ? LAPI_MSG_PURGED
                                                      : LAPI_MSG_INITIAL;
    if (tasks.empty())
        lists_.erase(counter); // as any other counter
    else
        lists_[counter] = {std::move(tasks), status};
    number_of_lists_ = int(lists_.size());
}

void waiters::forget(lapi_cntr_t *counter)
{
    if (number_of_lists_ == 0) return;
    std::lock_guard lock(mutex_);
    lists_.erase(counter);
    number_of_lists_ = int(lists_.size());
}

bool waiters::has_destinations(const lapi_cntr_t *counter)
{
    if (number_of_lists_ == 0 || !counter) return false;
    std::lock_guard lock(mutex_);
    return lists_.count(counter) > 0;
}

void waiters::destinations::note_arrival(uint task)
{
    for (std::size_t i = 0; i < tasks.size(); ++i) // a task that is listed twice needs two messages
        if (tasks[i] == task && status[i] == LAPI_MSG_INITIAL) {
            status[i] = LAPI_MSG_RECVD;
            return;
        }
}

void waiters::arrived(lapi_cntr_t *counter, uint task)
{
    const auto add = [counter] { __atomic_fetch_add(&counter->onesea_value, 1, __ATOMIC_SEQ_CST); };
    if (number_of_lists_ == 0) return void(add());
    std::lock_guard lock(mutex_);
    if (auto found = lists_.find(counter); found != lists_.end()) found->second.note_arrival(task);
    add();
}

void waiters::purged(uint task)
{
    std::lock_guard lock(mutex_);
    for (auto &[counter, list] : lists_)
        for (std::size_t i = 0; i < list.tasks.size(); ++i) {
            int &status = list.status[i];
            if (list.tasks[i] != task) continue;
            if (status == LAPI_MSG_INITIAL) status = LAPI_MSG_PURGED;
            if (status == LAPI_MSG_RECVD) status = LAPI_MSG_PURGED_RCVD;
        }
}

bool waiters::destinations::all_told() const
{
    return std::none_of(status, status + tasks.size(), [](int s) { return s == LAPI_MSG_INITIAL; });
}

bool waiters::destinations::any_purged() const
{
    return std::any_of(status, status + tasks.size(),
                       [](int s) { return s == LAPI_MSG_PURGED || s == LAPI_MSG_PURGED_RCVD; });
}

bool waiters::all_told(const lapi_cntr_t *counter, bool *purged)
{
    std::lock_guard lock(mutex_);
    auto found = lists_.find(counter);
    if (found == lists_.end() || !found->second.all_told()) return false;
    *purged = found->second.any_purged();
    return true;
}

void waiters::look_whether_told(const lapi_cntr_t *counter)
{
    std::lock_guard lock(mutex_);
    auto found = lists_.find(counter);
    if (found == lists_.end() || !found->second.all_told()) return;
    lists_.erase(found);
    number_of_lists_ = int(lists_.size());
}

} // namespace lapi
