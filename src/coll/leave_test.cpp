// SPDX-License-Identifier: Apache-2.0
// Whole jobs of state machines in one thread: messages arrive in any order, ranks die at any moment.
#include "coll/leave.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using onesea::coll::leave_state;

namespace {

struct letter {
    int from, to, ranks; // ranks 0: go
};

class job {
  public:
    job(int ranks, int nodes, unsigned seed) : random_(seed), per_node_((ranks + nodes - 1) / nodes)
    {
        for (int r = 0; r < ranks; ++r) join();
    }
    void join()
    {
        states_.emplace_back(int(states_.size()));
        where_.push_back(out);
    }
    int size() const { return int(states_.size()); }
    bool alive(int r) const { return where_[std::size_t(r)] != gone; }
    void enter(int r) { where_[std::size_t(r)] = in; }
    void die(int r) { where_[std::size_t(r)] = gone; }
    int dice(int n) { return int(random_() % unsigned(n)); }
    bool anybody(int at) const { return std::count(where_.begin(), where_.end(), at) > 0; }
    // Everybody who is in looks once; one letter arrives.
    void step()
    {
        const int r = dice(size());
        if (where_[std::size_t(r)] == in) look(r);
        if (where_[std::size_t(r)] == leaving && dice(3) == 0) die(r); // the news of leaving takes a while
        if (letters_.empty()) return;
        auto at = letters_.begin() + dice(int(letters_.size()));
        const letter l = *at;
        letters_.erase(at);
        if (!alive(l.to)) return;
        if (l.ranks == 0)
            states_[std::size_t(l.to)].released();
        else
            states_[std::size_t(l.to)].heard(l.from, l.ranks);
    }
    void settle(int most)
    {
        for (int i = 0; i < most && (anybody(in) || anybody(leaving)); ++i) step();
    }

    enum place { out, in, leaving, gone };
    int early = 0; // left although a living rank had not come

  private:
    std::mt19937 random_;
    int per_node_;
    std::vector<leave_state> states_;
    std::vector<int> where_;
    std::vector<letter> letters_;

    void look(int r)
    {
        auto a = states_[std::size_t(r)].next(
            {size(), [&](int other) { return alive(other); }, [&](int other) { return other / per_node_; }});
        if (a.what == leave_state::step::tell) letters_.push_back({r, a.rank, size()});
        if (a.what != leave_state::step::release) return;
        if (anybody(out)) ++early;
        if (dice(4) == 0)
            a.waiting.resize(a.waiting.size() / 2), die(r); // in the middle of its word
        else
            where_[std::size_t(r)] = leaving;
        for (int to : a.waiting) letters_.push_back({r, to, 0});
    }
};

} // namespace

TEST(LeaveTest, a_rank_alone_leaves_at_once)
{
    leave_state s(0);
    auto a = s.next({1, [](int) { return true; }, [](int) { return 0; }});
    EXPECT_EQ(leave_state::step::release, a.what);
    EXPECT_TRUE(a.waiting.empty());
}

TEST(LeaveTest, everybody_tells_a_keeper_once)
{
    leave_state s(5);
    leave_state::view v{8, [](int rank) { return rank != 4; }, [](int rank) { return rank / 4; }};
    s.heard(6, 1);
    EXPECT_EQ(leave_state::step::wait, s.next(v).what); // 7 is missing
    s.heard(7, 1);
    auto a = s.next(v);
    EXPECT_EQ(leave_state::step::tell, a.what);
    EXPECT_EQ(0, a.rank);
    EXPECT_EQ(leave_state::step::wait, s.next(v).what);
    s.released();
    EXPECT_EQ((std::vector<int>{6, 7}), s.next(v).waiting);
}

TEST(LeaveTest, nobody_leaves_early_and_nobody_stays_whoever_dies)
{
    for (unsigned seed = 0; seed < 3000; ++seed) {
        std::mt19937 random(seed);
        const int ranks = 1 + int(random() % 12), nodes = 1 + int(random() % 4);
        job j(ranks, nodes, seed);
        for (int r = 0; r < ranks; ++r) {
            for (int i = int(random() % 20); i > 0; --i) j.step();
            if (random() % 6 == 0) j.die(int(random() % unsigned(ranks)));
            if (j.alive(r)) j.enter(r);
        }
        ASSERT_EQ(0, j.early) << "seed " << seed;
        j.settle(20000);
        ASSERT_FALSE(j.anybody(job::in)) << "seed " << seed;
        ASSERT_FALSE(j.anybody(job::out)) << "seed " << seed;
    }
}

TEST(LeaveTest, ranks_that_join_later_are_waited_for)
{
    for (unsigned seed = 0; seed < 300; ++seed) {
        job j(4, 2, seed);
        for (int r = 0; r < 3; ++r) j.enter(r);
        for (int i = 0; i < 200; ++i) j.step();
        j.join();
        j.enter(3);
        for (int i = 0; i < 500; ++i) j.step();
        ASSERT_EQ(0, j.early);
        ASSERT_FALSE(j.anybody(job::leaving));
        j.enter(4);
        j.settle(20000);
        ASSERT_FALSE(j.anybody(job::in)) << "seed " << seed;
    }
}
