// SPDX-License-Identifier: Apache-2.0
// Is anybody left of a list of ranks? Deaths are for ever, so it remembers how far from the start all have ended: the
// deaths of a whole job cost one look each, in whatever order they come.
#pragma once

namespace onesea::coll {

class survivors {
  public:
    // The first of `n` members but `me` (a rank) that has not ended; -1: all have. rank_of(member); alive(rank).
    template <class RankOf, class Alive>
    int first_but(int me, int n, RankOf &&rank_of, Alive &&alive)
    {
        for (; first_ < n; ++first_)
            if (const int rank = rank_of(first_); rank != me && alive(rank)) return rank;
        return -1;
    }

    // Have all but `me` ended? False for a list of one.
    template <class RankOf, class Alive>
    bool nobody_but(int me, int n, RankOf &&rank_of, Alive &&alive)
    {
        return n > 1 && first_but(me, n, rank_of, alive) < 0;
    }

  private:
    int first_ = 0; // all members before this one have ended, or are the caller
};

} // namespace onesea::coll
