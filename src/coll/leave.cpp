// SPDX-License-Identifier: Apache-2.0
#include "coll/leave.hpp"

#include <algorithm>

namespace onesea::coll {

int leave_state::view::first_of(int node) const
{
    int low = 0;
    for (int high = world; low < high;) {
        const int middle = low + (high - low) / 2;
        if (node_of(middle) < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

template <class Passed>
int leave_state::walk::first(const view &v, Passed &&passed)
{
    if (at_ < 0) {
        at_ = v.first_of(node_);
        end_ = v.first_of(node_ + 1);
    }
    for (; at_ < end_; ++at_)
        if (!passed(at_)) return at_;
    for (at_ = std::max(at_, v.world); at_ < v.ranks; ++at_)
        if (v.node_of(at_) == node_ && !passed(at_)) return at_;
    return -1;
}

void leave_state::heard(int rank, int ranks_known)
{
    if (rank < 0) return;
    int &known = heard_[rank];
    known = std::max(known, std::max(ranks_known, 1));
}

int leave_state::heard_from(int rank) const
{
    auto found = heard_.find(rank);
    return found == heard_.end() ? 0 : found->second;
}

leave_state::action leave_state::tell_once(int keeper, int ranks)
{
    if (told_ == keeper && told_ranks_ >= ranks) return {};
    told_ = keeper;
    told_ranks_ = ranks;
    return {step::tell, keeper, {}};
}

void leave_state::find_place(const view &v)
{
    if (keeper_.node() >= 0) return;
    int node = v.node_of(me_);
    keeper_ = missing_ = walk(node);
    while (node > 0) above_.emplace_back(node = (node - 1) / radix_);
}

// With the numbers of nodes growing downwards in the tree, the lowest living node has nobody above it.
int leave_state::lowest_living(const view &v)
{
    while (first_living_ < v.world && !v.alive(first_living_)) ++first_living_;
    int lowest = first_living_ < v.world ? first_living_ : me_;
    for (int rank = v.world; rank < v.ranks; ++rank)
        if (v.alive(rank) && v.node_of(rank) < v.node_of(lowest)) lowest = rank;
    return lowest;
}

int leave_state::keeper_above(const view &v)
{
    auto ended = [&](int rank) { return !v.alive(rank); };
    for (walk &node : above_)
        if (int keeper = node.first(v, ended); keeper >= 0) return keeper;
    const int lowest = lowest_living(v);
    return v.node_of(lowest) < keeper_.node() ? lowest : -1;
}

void leave_state::add_below(const view &v, int node)
{
    for (int below = node * radix_ + 1; below <= node * radix_ + radix_ && below < v.nodes; ++below)
        below_.emplace_back(below);
}

// A node without living ranks gives way to those below it; the last ones added are looked at first, so that the list
// stays short however many there are.
void leave_state::find_below(const view &v)
{
    if (below_ranks_ != v.ranks) { // who came later may live where nobody did
        below_ranks_ = v.ranks;
        below_.clear();
        const int own = keeper_.node();
        if (root_) // all above those have ended
            for (int node = own + 1; node <= own * radix_ && node < v.nodes; ++node) below_.emplace_back(node);
        add_below(v, own);
    }
    auto ended = [&](int rank) { return !v.alive(rank); };
    for (std::size_t i = 0; i < below_.size();) {
        if (below_[i].first(v, ended) >= 0) {
            ++i;
            continue;
        }
        const int node = below_[i].node();
        below_[i] = below_.back();
        below_.pop_back();
        add_below(v, node);
    }
}

bool leave_state::all_have_come(const view &v)
{
    auto has_come = [&](int rank) { return rank == me_ || heard_from(rank) > 0 || !v.alive(rank); };
    if (missing_.first(v, has_come) >= 0) return false;
    find_below(v);
    auto ended = [&](int rank) { return !v.alive(rank); };
    return std::all_of(below_.begin(), below_.end(), [&](walk &node) {
        const int keeper = node.first(v, ended);
        return heard_from(keeper) >= v.ranks || !v.reachable(keeper);
    });
}

// All of them have arrived, also those whom only an earlier keeper heard. The far ones first: they have the longer way.
leave_state::action leave_state::release(const view &v)
{
    action go{step::release, -1, {}};
    auto ended = [&](int rank) { return !v.alive(rank); };
    if (keeper_.first(v, ended) != me_) return go;
    find_below(v);
    for (walk &node : below_)
        if (int keeper = node.first(v, ended); keeper >= 0) go.waiting.push_back(keeper);
    walk own(keeper_.node());
    own.first(v, [&](int rank) {
        if (rank != me_ && v.alive(rank)) go.waiting.push_back(rank);
        return true;
    });
    return go;
}

leave_state::action leave_state::next(const view &v)
{
    find_place(v);
    if (released_) return release(v);
    const int keeper = keeper_.first(v, [&](int rank) { return !v.alive(rank); });
    if (keeper != me_) return tell_once(keeper, 1);
    const int above = keeper_above(v);
    if (above < 0 && !root_) {
        root_ = true;
        below_ranks_ = 0;
    }
    if (!all_have_come(v)) return {};
    return root_ || !v.reachable(above) ? release(v) : tell_once(above, v.ranks);
}

} // namespace onesea::coll
