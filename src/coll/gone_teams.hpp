// SPDX-License-Identifier: Apache-2.0
// The names of teams that were freed here. What other members still send is known by them and thrown away: messages of
// a team that failed, or notices that it has, which a member of a large team passes on first. Of the latest ones only:
// what comes later than that is kept as if its team were yet to be made.
#pragma once

#include "coll/context.hpp"

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

namespace onesea::coll {

class gone_teams {
  public:
    static constexpr std::size_t most = 4096; // about 400 KB

    // Whom the first notice goes on to; nullptr: it is none of these teams.
    std::vector<int> *find(const context_id &id)
    {
        const auto found = tell_.find(id);
        return found == tell_.end() ? nullptr : &found->second;
    }

    // Throws bad_alloc; then it is not among them.
    void add(const context_id &id, std::vector<int> tell)
    {
        order_.push_back(id);
        try {
            tell_.emplace(id, std::move(tell));
        } catch (...) {
            order_.pop_back();
            throw;
        }
        if (order_.size() <= most) return;
        tell_.erase(order_.front());
        order_.pop_front();
    }
    void clear()
    {
        order_.clear();
        tell_.clear();
    }

  private:
    std::deque<context_id> order_;
    std::unordered_map<context_id, std::vector<int>, context_hash> tell_;
};

} // namespace onesea::coll
