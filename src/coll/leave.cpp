// SPDX-License-Identifier: Apache-2.0
#include "coll/leave.hpp"

namespace onesea::coll {

void leave_state::heard(int rank)
{
    if (rank < 0) return;
    if (heard_.size() <= std::size_t(rank)) heard_.resize(std::size_t(rank) + 1);
    heard_[std::size_t(rank)] = true;
}

leave_state::action leave_state::next(int ranks, const alive_fn &alive)
{
    if (released_) return {step::done};
    while (keeper_ < me_ && !alive(keeper_)) ++keeper_;
    if (keeper_ < me_) {
        if (told_ == keeper_) return {};
        told_ = keeper_;
        return {step::tell, keeper_};
    }
    auto has_come = [&](int rank) {
        return rank == me_ || (std::size_t(rank) < heard_.size() && heard_[std::size_t(rank)]) || !alive(rank);
    };
    while (missing_ < ranks && has_come(missing_)) ++missing_;
    if (missing_ < ranks) return {};
    return {step::release};
}

} // namespace onesea::coll
