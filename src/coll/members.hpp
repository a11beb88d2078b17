// SPDX-License-Identifier: Apache-2.0
// Which ranks a team has, in order. SEA_TEAM_WORLD is a number and no list: it costs a process nothing.
#pragma once

#include <vector>

namespace onesea::coll {

class members {
  public:
    // 0 .. ranks-1, those of a node with consecutive numbers, as a job starts.
    static members of_world(int ranks)
    {
        members m;
        m.size_ = ranks;
        return m;
    }
    explicit members(std::vector<int> ranks);

    bool is_world() const { return ranks_.empty(); }
    int size() const { return size_; }
    int rank(int member) const { return is_world() ? member : ranks_[std::size_t(member)]; }
    int member(int rank) const; // -1: it is none

  private:
    int size_ = 0;
    std::vector<int> ranks_;
    std::vector<int> sorted_; // members by rank; empty if their order is that of their ranks

    members() = default;
};

} // namespace onesea::coll
