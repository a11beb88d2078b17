// SPDX-License-Identifier: Apache-2.0
// Whole jobs of state machines in one thread: messages arrive in any order, ranks die at any moment.
#include "coll/leave.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

using onesea::coll::leave_state;

namespace {

struct letter {
    int from, to, ranks; // ranks 0: go
};

class job {
  public:
    job(int ranks, int nodes, unsigned seed, int radix = leave_state::default_radix)
        : random_(seed), world_(ranks), per_node_((ranks + nodes - 1) / nodes), radix_(radix)
    {
        for (int r = 0; r < ranks; ++r) join();
    }
    void join()
    {
        states_.emplace_back(int(states_.size()), radix_);
        where_.push_back(out);
        ended_at_.push_back(-1);
        news_.push_back(0);
    }
    int size() const { return int(states_.size()); }
    bool alive(int r) const { return where_[std::size_t(r)] != gone; }
    void cut(int a, int b)
    {
        if (a == b || node_of(a) == node_of(b)) return;
        cut_.insert({std::min(a, b), std::max(a, b)});
    }
    void enter(int r) { where_[std::size_t(r)] = in; }
    void die(int r)
    {
        if (!alive(r)) return;
        where_[std::size_t(r)] = gone;
        ended_at_[std::size_t(r)] = ends_++;
    }
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
        if (cut_.contains({std::min(l.from, l.to), std::max(l.from, l.to)})) { // who sent it gives the link up
            lost_.insert({l.from, l.to});
            if (dice(2)) lost_.insert({l.to, l.from});
            return;
        }
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
    int world_, per_node_, radix_;
    std::vector<leave_state> states_;
    std::vector<int> where_;
    std::vector<int> ended_at_; // number of its end, -1: none
    std::vector<int> news_;     // how many ends a rank has heard of
    int ends_ = 0;
    std::vector<letter> letters_;
    std::set<std::pair<int, int>> cut_, lost_; // lost_: the first knows that it cannot reach the second

    int node_of(int r) const
    {
        const int nodes = (world_ - 1) / per_node_ + 1;
        return r < world_ ? r / per_node_ : r % nodes;
    }
    void look(int r)
    {
        int &news = news_[std::size_t(r)];
        news += dice(ends_ - news + 1);
        auto seems_alive = [&](int other) {
            const int end = ended_at_[std::size_t(other)];
            return end < 0 || end >= news;
        };
        const int nodes = (world_ - 1) / per_node_ + 1;
        auto reachable = [&](int other) { return !lost_.contains({r, other}); };
        auto a = states_[std::size_t(r)].next(
            {size(), world_, nodes, seems_alive, [this](int other) { return node_of(other); }, reachable});
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
    auto a = s.next({1, 1, 1, [](int) { return true; }, [](int) { return 0; }});
    EXPECT_EQ(leave_state::step::release, a.what);
    EXPECT_TRUE(a.waiting.empty());
}

TEST(LeaveTest, everybody_tells_a_keeper_once)
{
    leave_state s(5);
    leave_state::view v{8, 8, 2, [](int rank) { return rank != 4; }, [](int rank) { return rank / 4; }};
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
        const int ranks = 1 + int(random() % 12), nodes = 1 + int(random() % 12), radix = 1 + int(random() % 3);
        job j(ranks, nodes, seed, radix);
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

TEST(LeaveTest, nobody_stays_whichever_links_are_given_up)
{
    for (unsigned seed = 0; seed < 3000; ++seed) {
        std::mt19937 random(seed);
        const int ranks = 2 + int(random() % 12), nodes = 2 + int(random() % 12), radix = 1 + int(random() % 3);
        job j(ranks, nodes, seed, radix);
        auto anyone = [&] { return int(random() % unsigned(ranks)); };
        for (int r = 0; r < ranks; ++r) {
            for (int i = int(random() % 20); i > 0; --i) j.step();
            if (random() % 3 == 0) j.cut(anyone(), anyone());
            if (random() % 12 == 0) j.die(anyone());
            if (j.alive(r)) j.enter(r);
        }
        j.settle(20000);
        ASSERT_FALSE(j.anybody(job::in)) << "seed " << seed;
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

// A job of 256 ranks on 128 nodes, a tree of several levels, with many deaths on the way.
TEST(LeaveTest, large_jobs_leave_too)
{
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        job j(256, 128, seed, 3);
        for (int r = 0; r < 256; ++r) {
            for (int i = 0; i < 20; ++i) j.step();
            if (random() % 5 == 0) j.die(int(random() % 256));
            if (j.alive(r)) j.enter(r);
        }
        ASSERT_EQ(0, j.early) << "seed " << seed;
        j.settle(1'000'000);
        ASSERT_FALSE(j.anybody(job::in)) << "seed " << seed;
    }
}

namespace {

struct large_job {
    int ranks = 1'000'000, per_node = 16;
    long looks = 0; // at who lives
    std::vector<bool> gone = std::vector<bool>(std::size_t(ranks));
    leave_state::view view()
    {
        return {ranks, ranks, ranks / per_node, [this](int rank) { return ++looks, !gone[std::size_t(rank)]; },
                [this](int rank) { return rank / per_node; }};
    }
};

} // namespace

TEST(LeaveTest, the_first_keeper_of_a_million_ranks_hears_few_and_looks_at_few)
{
    large_job j;
    leave_state s(0);
    auto v = j.view();
    for (int local = 1; local < j.per_node; ++local) s.heard(local, 1);
    for (int node = 1; node <= leave_state::default_radix; ++node) {
        EXPECT_EQ(leave_state::step::wait, s.next(v).what);
        s.heard(node * j.per_node, j.ranks);
    }
    auto a = s.next(v);
    EXPECT_EQ(leave_state::step::release, a.what);
    EXPECT_EQ(std::size_t(j.per_node - 1 + leave_state::default_radix), a.waiting.size());
    EXPECT_LE(j.looks, 2000);
}

TEST(LeaveTest, who_is_left_of_a_million_ranks_looks_at_each_once)
{
    large_job j;
    std::fill(j.gone.begin(), j.gone.end(), true);
    j.gone[500'000] = j.gone[999'999] = false;
    leave_state s(500'000);
    auto v = j.view();
    EXPECT_EQ(leave_state::step::wait, s.next(v).what);
    EXPECT_LE(j.looks, 3L * j.ranks);
    j.looks = 0;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(leave_state::step::wait, s.next(v).what);
    EXPECT_LE(j.looks, 5000);
    s.heard(999'999, j.ranks);
    EXPECT_EQ((std::vector<int>{999'999}), s.next(v).waiting);
}
