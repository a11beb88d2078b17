// SPDX-License-Identifier: Apache-2.0
#include "coll/members.hpp"

#include <algorithm>
#include <numeric>

namespace onesea::coll {

members::members(std::vector<int> ranks) : size_(int(ranks.size())), ranks_(std::move(ranks))
{
    if (std::is_sorted(ranks_.begin(), ranks_.end())) return;
    sorted_.resize(ranks_.size());
    std::iota(sorted_.begin(), sorted_.end(), 0);
    std::sort(sorted_.begin(), sorted_.end(), [this](int a, int b) { return rank(a) < rank(b); });
}

int members::member(int wanted) const
{
    if (is_world()) return wanted >= 0 && wanted < size_ ? wanted : -1;
    auto nth = [this](int i) { return sorted_.empty() ? i : sorted_[std::size_t(i)]; };
    int low = 0;
    for (int high = size_; low < high;) {
        const int middle = low + (high - low) / 2;
        if (rank(nth(middle)) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < size_ && rank(nth(low)) == wanted ? nth(low) : -1;
}

} // namespace onesea::coll
