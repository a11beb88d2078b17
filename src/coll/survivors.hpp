// SPDX-License-Identifier: Apache-2.0
// Is anybody left of a list of ranks? Deaths are for ever, so it remembers how far from the start all have ended: the
// deaths of a whole job cost one look each, in whatever order they come.
#pragma once

namespace onesea::coll {

class survivors {
  public:
    // Have all `n` members but `me` (a rank) ended? rank_of(member); alive(rank). False for a list of one.
    template <class RankOf, class Alive>
    bool nobody_but(int me, int n, RankOf &&rank_of, Alive &&alive)
    {
        for (; first_ < n; ++first_)
            if (const int rank = rank_of(first_); rank != me && alive(rank)) return false;
        return n > 1;
    }

  private:
    int first_ = 0; // all members before this one have ended, or are the caller
};

} // namespace onesea::coll
