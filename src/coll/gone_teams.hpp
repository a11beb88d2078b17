// SPDX-License-Identifier: Apache-2.0
// The names of teams that were freed here. What other members still send is known by them and thrown away: messages of
// a team that failed, or notices that it has. Of the latest ones only: what comes later than that is kept as if its
// team were yet to be made.
#pragma once

#include "coll/context.hpp"

#include <cstddef>
#include <deque>
#include <unordered_set>

namespace onesea::coll {

class gone_teams {
  public:
    static constexpr std::size_t most = 4096; // about 300 KB

    bool contains(const context_id &id) const { return names_.contains(id); }

    // Throws bad_alloc; then it is not among them.
    void add(const context_id &id)
    {
        order_.push_back(id);
        try {
            names_.insert(id);
        } catch (...) {
            order_.pop_back();
            throw;
        }
        if (order_.size() <= most) return;
        names_.erase(order_.front());
        order_.pop_front();
    }
    void clear()
    {
        order_.clear();
        names_.clear();
    }

  private:
    std::deque<context_id> order_;
    std::unordered_set<context_id, context_hash> names_;
};

} // namespace onesea::coll
