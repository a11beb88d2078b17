// SPDX-License-Identifier: Apache-2.0
// What this task has asked of others by messages and waits to be answered: a number goes out and comes back with the
// answer, so that a late or doubled answer finds nothing. When a task ends or is purged its requests end with an error.
#pragma once

#include "lapi.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

namespace lapi {

class requests {
  public:
    // status: an error of LAPI; words: what the answer brings, null with an error.
    using answered = std::function<void(int code, const std::uint64_t *words)>;

    std::uint64_t add(uint task, answered a)
    {
        std::lock_guard lock(mutex_);
        open_.emplace(++last_, request{task, std::move(a)});
        count_ = open_.size();
        return last_;
    }
    // The request of that number to that task, which ends hereby; empty: there is none.
    answered take(std::uint64_t id, uint task)
    {
        std::lock_guard lock(mutex_);
        auto found = open_.find(id);
        if (found == open_.end() || found->second.task != task) return {};
        answered a = std::move(found->second.a);
        open_.erase(found);
        count_ = open_.size();
        return a;
    }
    void fail_all_of(uint task, int code)
    {
        std::vector<answered> ended;
        {
            std::lock_guard lock(mutex_);
            for (auto at = open_.begin(); at != open_.end();) {
                if (at->second.task == task) {
                    ended.push_back(std::move(at->second.a));
                    at = open_.erase(at);
                } else {
                    ++at;
                }
            }
            count_ = open_.size();
        }
        for (answered &a : ended) a(code, nullptr);
    }

    bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
    // Who still has to answer.
    std::set<uint> tasks()
    {
        std::lock_guard lock(mutex_);
        std::set<uint> all;
        for (const auto &[id, r] : open_) all.insert(r.task);
        return all;
    }

  private:
    struct request {
        uint task;
        answered a;
    };
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, request> open_;
    std::uint64_t last_ = 0;
    std::atomic<std::size_t> count_ = 0; // of open_
};

} // namespace lapi
