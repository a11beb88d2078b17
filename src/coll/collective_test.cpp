// SPDX-License-Identifier: Apache-2.0
// Every algorithm, with every number of members up to 33 and on several placements, over messages in random order.
#include "coll/fake_job.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace onesea::coll {
namespace {

using fake::one_call;

using words = std::vector<std::uint32_t>;

std::uint32_t word_of(int member, std::size_t i)
{
    return std::uint32_t(member) * 2654435761u + std::uint32_t(i) * 40503u;
}

words input_of(int member, std::size_t count)
{
    words w(count);
    for (std::size_t i = 0; i < count; ++i) w[i] = word_of(member, i);
    return w;
}

struct place {
    int ranks, nodes;
    std::size_t count; // words of a part
};

// As SEA_TEAM_WORLD or as a list: both must do.
members all_of(const place &p)
{
    if (p.count != 500) return members::of_world(p.ranks);
    std::vector<int> ranks(std::size_t(p.ranks), 0);
    std::iota(ranks.begin(), ranks.end(), 0);
    return members(std::move(ranks));
}

std::vector<place> places()
{
    std::vector<place> all;
    for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 24, 33})
        for (int nodes : std::set{1, 2, n})
            for (std::size_t count : {std::size_t(1), std::size_t(33), std::size_t(500), std::size_t(30000)})
                if (nodes <= n && (count < 30000 || n <= 9)) all.push_back({n, nodes, count});
    return all;
}

class CollectiveTest : public testing::TestWithParam<place> {
  protected:
    void run(const std::function<void(team &t)> &body)
    {
        const place p = GetParam();
        fake::job j(p.ranks, p.nodes, unsigned(p.ranks * 100 + p.nodes));
        j.run([&](int rank, mailbox &m, courier &c) {
            team t(m, c, world_context, all_of(p), rank);
            body(t);
            EXPECT_EQ(0u, m.early_count(world_context));
        });
    }
};

TEST_P(CollectiveTest, moves_every_part_to_its_place)
{
    const int n = GetParam().ranks;
    const std::size_t count = GetParam().count;
    const std::size_t bytes = count * 4;
    run([&](team &t) {
        for (int round = 0; round < 3; ++round) {
            const int root = (round * 5 + 1) % n;
            const words mine = input_of(t.me, count);
            words all, got(count), gathered(count * std::size_t(n));
            for (int m = 0; m < n; ++m)
                for (std::size_t i = 0; i < count; ++i) all.push_back(word_of(m, i));
            words data = t.me == root ? mine : words(count);
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::broadcast, .root = root},
                                       [&](call &c) { broadcast(c, root, data.data(), bytes); }));
            EXPECT_EQ(input_of(root, count), data);
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::gather, .root = root},
                                       [&](call &c) { gather(c, root, mine.data(), gathered.data(), bytes); }));
            EXPECT_TRUE(t.me != root || all == gathered);
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::scatter, .root = root},
                                       [&](call &c) { scatter(c, root, gathered.data(), got.data(), bytes); }));
            EXPECT_EQ(mine, got);
            words everything(all.size());
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::allgather},
                                       [&](call &c) { allgather(c, mine.data(), everything.data(), bytes); }));
            EXPECT_EQ(all, everything);
        }
    });
}

TEST_P(CollectiveTest, exchanges_all_parts)
{
    const int n = GetParam().ranks;
    const std::size_t count = std::min(GetParam().count, std::size_t(5000)); // of each for each
    run([&](team &t) {
        words in = input_of(t.me, count * std::size_t(n)), out(in.size()), expected;
        for (int m = 0; m < n; ++m)
            for (std::size_t i = 0; i < count; ++i) expected.push_back(word_of(m, std::size_t(t.me) * count + i));
        EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::alltoall},
                                   [&](call &c) { alltoall(c, in.data(), out.data(), count * 4); }));
        EXPECT_EQ(expected, out);
    });
}

TEST_P(CollectiveTest, reduces_and_barriers)
{
    const int n = GetParam().ranks;
    const std::size_t count = GetParam().count;
    const elements e{count, 4, combiner(SEA_UINT32, SEA_SUM)};
    std::atomic<int> entered{0};
    run([&](team &t) {
        const int root = n / 2;
        words expected(count), in = input_of(t.me, count), out(count), kept = in;
        for (int m = 0; m < n; ++m)
            for (std::size_t i = 0; i < count; ++i) expected[i] += word_of(m, i);
        EXPECT_EQ(SEA_OK,
                  one_call(t, {.what = kind::reduce}, [&](call &c) { reduce(c, root, in.data(), out.data(), e); }));
        EXPECT_TRUE(t.me != root || expected == out);
        EXPECT_EQ(kept, in);
        ++entered;
        EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::barrier}, [](call &c) { barrier(c); }));
        EXPECT_EQ(n, entered.load());
        EXPECT_EQ(SEA_OK,
                  one_call(t, {.what = kind::allreduce}, [&](call &c) { allreduce(c, in.data(), in.data(), e); }));
        EXPECT_EQ(expected, in);
    });
}

INSTANTIATE_TEST_SUITE_P(places, CollectiveTest, testing::ValuesIn(places()), [](const auto &p) {
    return "n" + std::to_string(p.param.ranks) + "_nodes" + std::to_string(p.param.nodes) + "_words" +
           std::to_string(p.param.count);
});

// The result of an allreduce of doubles that no two orders of addition give alike.
std::vector<double> sum_of_doubles(int n, int nodes, std::size_t count, unsigned seed)
{
    std::vector<std::vector<double>> results;
    results.resize(std::size_t(n));
    fake::job j(n, nodes, seed);
    j.run([&](int rank, mailbox &m, courier &c) {
        team t(m, c, world_context, members::of_world(n), rank);
        std::vector<double> in(count), out(count);
        for (std::size_t i = 0; i < count; ++i) in[i] = 1.0 / (double(word_of(rank, i)) + 1.0);
        EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::allreduce}, [&](call &k) {
                      allreduce(k, in.data(), out.data(), {count, 8, combiner(SEA_DOUBLE, SEA_SUM)});
                  }));
        results[std::size_t(rank)] = out;
    });
    for (auto &r : results) EXPECT_EQ(0, std::memcmp(r.data(), results[0].data(), count * 8));
    return results[0];
}

TEST(AllreduceTest, gives_the_same_bits_at_all_members_and_on_every_placement)
{
    for (int n : {3, 5, 8, 16, 17, 23})
        for (std::size_t count : {std::size_t(7), std::size_t(6000)}) {
            const auto reference = sum_of_doubles(n, 1, count, 1);
            for (int nodes : {1, 2, n}) EXPECT_EQ(reference, sum_of_doubles(n, nodes, count, 7)) << n << " " << nodes;
        }
}

TEST(FailureTest, a_member_that_dies_at_any_message_ends_the_calls_of_all)
{
    for (unsigned seed = 0; seed < 150; ++seed) {
        const int n = 2 + int(seed % 9), victim = int(seed % unsigned(n));
        fake::job j(n, 1 + int(seed % 2), seed);
        j.kill_after(victim, 1 + int(seed * 7 % 60));
        j.run([&](int rank, mailbox &m, courier &w) {
            team t(m, w, world_context, members::of_world(n), rank);
            std::vector<double> in(9000), out(9000);
            int status = SEA_OK;
            for (int i = 0; i < 1000 && status == SEA_OK; ++i)
                status = one_call(t, {.what = kind::allreduce}, [&](call &c) {
                    allreduce(c, in.data(), out.data(), {i % 2 ? 9000u : 5u, 8, combiner(SEA_DOUBLE, SEA_SUM)});
                });
            EXPECT_EQ(SEA_ERR_DEAD, status) << "seed " << seed << " rank " << rank;
            EXPECT_EQ(SEA_ERR_DEAD, one_call(t, {.what = kind::barrier}, [](call &c) { barrier(c); }));
        });
    }
}

TEST(FailureTest, members_that_disagree_are_all_told)
{
    for (int n : {4, 17, 40}) {
        fake::job j(n, 1 + n / 8, 3);
        j.run([&](int rank, mailbox &m, courier &w) {
            team t(m, w, world_context, members::of_world(n), rank);
            long v = 0;
            int status = rank == 2 ? one_call(t, {.what = kind::barrier}, [](call &c) { barrier(c); })
                                   : one_call(t, {.what = kind::broadcast}, [&](call &c) { broadcast(c, 0, &v, 8); });
            if (status == SEA_OK) status = one_call(t, {.what = kind::barrier}, [](call &c) { barrier(c); });
            EXPECT_EQ(SEA_ERR_INVALID, status) << "rank " << rank << " of " << n;
        });
    }
}

// Nobody looks at all pieces of it, nor has a receive for each.
TEST(FailureTest, a_size_that_no_memory_has_is_told_as_any_other_that_is_not_the_roots)
{
    for (int n : {2, 17}) {
        fake::job j(n, 1 + n / 8, 4);
        j.run([&](int rank, mailbox &m, courier &w) {
            team t(m, w, world_context, members::of_world(n), rank);
            long v = 0;
            const std::size_t bytes = rank == 0 ? 8 : std::size_t(1) << 50;
            int status = one_call(t, {.what = kind::broadcast, .root = 0, .size = bytes},
                                  [&](call &c) { broadcast(c, 0, &v, bytes); });
            if (status == SEA_OK) status = one_call(t, {.what = kind::barrier}, [](call &c) { barrier(c); });
            EXPECT_EQ(SEA_ERR_INVALID, status) << "rank " << rank << " of " << n;
        });
    }
}

// All give up at the same moment: each tells its neighbours in the tree, not everybody.
TEST(FailureTest, members_whose_time_is_up_do_not_flood_each_other)
{
    const int n = 60;
    fake::job j(n, n, 5);
    j.run([&](int rank, mailbox &m, courier &w) {
        team t(m, w, world_context, members::of_world(n), rank);
        call c(t, {.what = kind::barrier}, 0);
        if (rank > 0) barrier(c); // the first one never comes, but hears of it
        EXPECT_NE(SEA_OK, rank > 0 ? c.conclude() : SEA_ERR_TIMEOUT);
    });
    EXPECT_LE(j.sent(), 10 * n);
}

} // namespace
} // namespace onesea::coll
