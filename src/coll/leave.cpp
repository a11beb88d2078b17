// SPDX-License-Identifier: Apache-2.0
#include "coll/leave.hpp"

#include <algorithm>
#include <unordered_set>

namespace onesea::coll {

void leave_state::heard(int rank, int ranks_known)
{
    if (rank < 0) return;
    if (heard_.size() <= std::size_t(rank)) heard_.resize(std::size_t(rank) + 1);
    heard_[std::size_t(rank)] = std::max(heard_[std::size_t(rank)], std::max(ranks_known, 1));
}

leave_state::action leave_state::tell_once(int keeper, int ranks)
{
    if (told_ == keeper && told_ranks_ >= ranks) return {};
    told_ = keeper;
    told_ranks_ = ranks;
    return {step::tell, keeper, {}};
}

bool leave_state::node_is_complete(const view &v)
{
    const int node = v.node_of(me_);
    auto has_come = [&](int rank) {
        return rank == me_ || v.node_of(rank) != node || heard_from(rank) > 0 || !v.alive(rank);
    };
    while (missing_ < v.ranks && has_come(missing_)) ++missing_;
    return missing_ >= v.ranks;
}

bool leave_state::other_nodes(const view &v, std::vector<int> *keepers) const
{
    std::unordered_set<int> seen{v.node_of(me_)};
    for (int rank = 0; rank < v.ranks; ++rank) {
        if (seen.contains(v.node_of(rank)) || !v.alive(rank)) continue;
        if (heard_from(rank) < v.ranks) return false;
        seen.insert(v.node_of(rank));
        keepers->push_back(rank);
    }
    return true;
}

void leave_state::add_own_node(const view &v, std::vector<int> *waiting) const
{
    for (int rank = 0; rank < v.ranks; ++rank)
        if (rank != me_ && heard_from(rank) > 0 && v.node_of(rank) == v.node_of(me_) && v.alive(rank))
            waiting->push_back(rank);
}

leave_state::action leave_state::next(const view &v)
{
    action go{step::release, -1, {}};
    if (released_) {
        add_own_node(v, &go.waiting);
        return go;
    }
    const int node = v.node_of(me_);
    while (node_keeper_ < me_ && (v.node_of(node_keeper_) != node || !v.alive(node_keeper_))) ++node_keeper_;
    if (node_keeper_ != me_) return tell_once(node_keeper_, 1);
    if (!node_is_complete(v)) return {};
    while (first_keeper_ < me_ && !v.alive(first_keeper_)) ++first_keeper_;
    if (first_keeper_ != me_) return tell_once(first_keeper_, v.ranks);
    if (!other_nodes(v, &go.waiting)) return {};
    add_own_node(v, &go.waiting);
    return go;
}

} // namespace onesea::coll
