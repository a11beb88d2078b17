// SPDX-License-Identifier: Apache-2.0
// The ranks whose links were given up, for ever: the end of a link is known to its two ranks only. It grows under the
// engine lock; any thread looks.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>
#include <vector>

namespace onesea::core {

class cut_off_ranks {
  public:
    void add(int rank)
    {
        std::lock_guard lock(mutex_);
        if (!known_.insert(rank).second) return;
        all_.push_back(rank);
        count_.store(std::uint32_t(all_.size()), std::memory_order_release);
    }
    std::uint32_t count() const { return count_.load(std::memory_order_acquire); }
    int at(std::uint32_t i) const
    {
        std::lock_guard lock(mutex_);
        return all_[i];
    }
    bool contains(int rank) const
    {
        if (count() == 0) return false;
        std::lock_guard lock(mutex_);
        return known_.contains(rank);
    }
    void clear()
    {
        std::lock_guard lock(mutex_);
        all_.clear();
        known_.clear();
        count_ = 0;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<int> all_; // in the order in which it was found out
    std::unordered_set<int> known_;
    std::atomic<std::uint32_t> count_ = 0;
};

} // namespace onesea::core
