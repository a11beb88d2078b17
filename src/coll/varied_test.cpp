// SPDX-License-Identifier: Apache-2.0
// Parts of different sizes, sums over the members up to one's own, and sums of which each member gets a part.
#include "coll/fake_job.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>
#include <string>

namespace onesea::coll {
namespace {

using fake::one_call;

using text = std::vector<unsigned char>;
constexpr unsigned char untouched = 0xee;

// What member `from` has for member `to`: sometimes nothing, sometimes more than fits a header.
text letter(unsigned seed, int from, int to)
{
    std::mt19937 random(seed * 7919 + unsigned(from) * 131 + unsigned(to));
    constexpr std::size_t most[] = {0, 1, 40, 984, 985, 3000, 40000};
    text t(random() % (most[random() % std::size(most)] + 1));
    for (unsigned char &c : t) c = (unsigned char)(random());
    return t;
}

// A buffer of parts in an order of its own, with gaps between them.
struct laid_out {
    std::vector<std::size_t> sizes, offsets;
    text buffer;

    laid_out(const std::vector<text> &letters, unsigned seed, bool filled)
        : sizes(letters.size()), offsets(letters.size())
    {
        std::mt19937 random(seed);
        std::vector<std::size_t> order(letters.size());
        std::iota(order.begin(), order.end(), std::size_t(0));
        std::shuffle(order.begin(), order.end(), random);
        std::size_t end = 0;
        for (std::size_t m : order) {
            offsets[m] = end + random() % 3;
            sizes[m] = letters[m].size();
            end = offsets[m] + sizes[m];
        }
        buffer.assign(end + 2, untouched);
        for (std::size_t m = 0; filled && m < letters.size(); ++m)
            std::copy(letters[m].begin(), letters[m].end(), buffer.begin() + std::ptrdiff_t(offsets[m]));
    }
    parts where() const { return {sizes.data(), offsets.data()}; }
};

struct arrangement {
    int ranks, nodes;
};

std::vector<arrangement> arrangements()
{
    std::vector<arrangement> all;
    for (int n : {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 24})
        for (int nodes : std::set{1, 2, n})
            if (nodes <= n) all.push_back({n, nodes});
    return all;
}

class VariedTest : public testing::TestWithParam<arrangement> {
  protected:
    void run(unsigned seed, const std::function<void(team &t)> &body)
    {
        const arrangement p = GetParam();
        fake::job j(p.ranks, p.nodes, seed * 1000 + unsigned(p.ranks * 30 + p.nodes));
        j.run([&](int rank, mailbox &m, courier &c) {
            team t(m, c, world_context, members::of_world(p.ranks), rank);
            body(t);
            EXPECT_EQ(0u, m.early_count(world_context));
        });
    }
    int ranks() const { return GetParam().ranks; }
};

TEST_P(VariedTest, every_part_finds_its_place_and_nothing_is_written_between)
{
    for (unsigned seed = 1; seed <= 4; ++seed)
        run(seed, [&](team &t) {
            const int n = ranks(), root = int(seed * 3) % n;
            std::vector<text> to_all, for_me, of_each;
            for (int m = 0; m < n; ++m) {
                to_all.push_back(letter(seed, t.me, m));
                for_me.push_back(letter(seed, m, t.me));
                of_each.push_back(letter(seed, m, m));
            }
            const text mine = of_each[std::size_t(t.me)];
            const laid_out expected(for_me, seed, true), of_all(of_each, seed + 1, true);
            const laid_out out(to_all, seed + 2, true);

            laid_out in(for_me, seed, false);
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::alltoallv}, [&](call &c) {
                          alltoallv(c, out.buffer.data(), out.where(), in.buffer.data(), in.where());
                      }));
            EXPECT_EQ(expected.buffer, in.buffer);

            laid_out gathered(of_each, seed + 1, false);
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::gatherv}, [&](call &c) {
                          gatherv(c, root, mine.data(), mine.size(), gathered.buffer.data(), gathered.where());
                      }));
            EXPECT_TRUE(t.me != root || gathered.buffer == of_all.buffer);

            text back(mine.size(), untouched);
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::scatterv}, [&](call &c) {
                          scatterv(c, root, of_all.buffer.data(), of_all.where(), back.data(), back.size());
                      }));
            EXPECT_EQ(mine, back);

            laid_out everywhere(of_each, seed + 1, false);
            const std::size_t total = std::accumulate(everywhere.sizes.begin(), everywhere.sizes.end(), std::size_t(0));
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::allgatherv}, [&](call &c) {
                          allgatherv(c, mine.data(), everywhere.buffer.data(), everywhere.where(), total);
                      }));
            EXPECT_EQ(of_all.buffer, everywhere.buffer);
        });
}

std::uint32_t number(int member, std::size_t i) { return std::uint32_t(member + 3) * 2654435761u + std::uint32_t(i); }

TEST_P(VariedTest, sums_up_to_every_member_and_a_part_for_each)
{
    const int n = ranks();
    for (std::size_t count : {0, 1, 300, 5000})
        run(unsigned(count), [&](team &t) {
            const std::size_t all = count * std::size_t(n), first = std::size_t(t.me) * count;
            std::vector<std::uint32_t> in(all), up_to(count), below(count, 77), before(count, 77), part(count),
                sum(count);
            for (std::size_t i = 0; i < all; ++i) in[i] = number(t.me, i);
            for (std::size_t i = 0; i < count; ++i) {
                for (int m = 0; m <= t.me; ++m) up_to[i] += number(m, i);
                for (int m = 0; m < n; ++m) sum[i] += number(m, first + i);
                if (t.me > 0) before[i] = up_to[i] - number(t.me, i);
            }
            const elements e{count, 4, combiner(SEA_UINT32, SEA_SUM)}, whole{all, 4, e.combine};
            std::vector<std::uint32_t> got(in.begin(), in.begin() + std::ptrdiff_t(count));
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::scan}, [&](call &c) { scan(c, got.data(), got.data(), e); }));
            EXPECT_EQ(up_to, got);
            EXPECT_EQ(SEA_OK,
                      one_call(t, {.what = kind::exscan}, [&](call &c) { exscan(c, in.data(), below.data(), e); }));
            EXPECT_EQ(before, below);
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::reduce_scatter},
                                       [&](call &c) { reduce_scatter_block(c, in.data(), part.data(), whole); }));
            EXPECT_EQ(sum, part);
        });
}

// Concatenation would tell: of the operations that there are, only the rounding of floats depends on the order.
TEST_P(VariedTest, sums_of_floats_do_not_depend_on_nodes_or_on_what_comes_first)
{
    const int n = ranks();
    std::vector<std::vector<double>> results[2];
    for (unsigned round = 0; round < 2; ++round) {
        auto &result = results[round];
        result.resize(std::size_t(n));
        fake::job j(n, round == 0 ? 1 : GetParam().nodes, round + 1);
        j.run([&](int rank, mailbox &m, courier &c) {
            team t(m, c, world_context, members::of_world(n), rank);
            std::vector<double> in(std::size_t(n) * 7), out(14);
            for (std::size_t i = 0; i < in.size(); ++i) in[i] = 1.0 / (double(number(rank, i)) + 1.0);
            const elements e{7, 8, combiner(SEA_DOUBLE, SEA_SUM)}, whole{in.size(), 8, e.combine};
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::scan}, [&](call &k) { scan(k, in.data(), out.data(), e); }));
            EXPECT_EQ(SEA_OK, one_call(t, {.what = kind::reduce_scatter},
                                       [&](call &k) { reduce_scatter_block(k, in.data(), out.data() + 7, whole); }));
            result[std::size_t(rank)] = out;
        });
    }
    EXPECT_EQ(results[0], results[1]);
}

INSTANTIATE_TEST_SUITE_P(places, VariedTest, testing::ValuesIn(arrangements()), [](const auto &p) {
    return "n" + std::to_string(p.param.ranks) + "_nodes" + std::to_string(p.param.nodes);
});

TEST(VariedFailureTest, members_with_the_same_sum_of_other_parts_are_told_of_that)
{
    fake::job j(2, 1, 1);
    std::array<std::string, 2> told;
    j.run([&](int rank, mailbox &m, courier &w) {
        team t(m, w, world_context, members::of_world(2), rank);
        const std::vector<std::size_t> bytes = rank ? std::vector<std::size_t>{8, 16} : std::vector<std::size_t>{16, 8};
        const std::vector<std::size_t> offsets{0, bytes[0]};
        text in(16), out(24);
        signature sign{.what = kind::allgatherv, .root = rank, .size = 24};
        EXPECT_EQ(SEA_ERR_INVALID, one_call(t, sign, [&](call &c) {
                      allgatherv(c, in.data(), out.data(), parts(bytes.data(), offsets.data()), 24);
                  }));
        told[std::size_t(rank)] = sea_last_error();
    });
    constexpr const char *words = "does an allgatherv of 24 bytes in all, this rank one with parts of other sizes";
    EXPECT_TRUE(told[0].find(words) != told[0].npos || told[1].find(words) != told[1].npos)
        << told[0] << "; " << told[1];
}

TEST(VariedFailureTest, who_sends_another_size_than_is_expected_ends_the_team_for_all)
{
    for (kind what : {kind::gatherv, kind::scatterv, kind::allgatherv, kind::alltoallv})
        for (std::size_t other : {std::size_t(0), std::size_t(7), std::size_t(5000)}) {
            const int n = 5;
            fake::job j(n, 2, unsigned(other) + 1);
            j.run([&](int rank, mailbox &m, courier &w) {
                team t(m, w, world_context, members::of_world(n), rank);
                const std::size_t wrong = rank == 3 ? other : 8, root = rank == 0;
                std::vector<std::size_t> right(5, 8), sent(5, wrong), offsets{0, 5000, 10000, 15000, 20000};
                text in(25000), out(25000);
                const parts from(sent.data(), offsets.data()), to(right.data(), offsets.data());
                int status = one_call(t, {.what = what}, [&](call &c) {
                    if (what == kind::gatherv) gatherv(c, 0, in.data(), wrong, out.data(), to);
                    if (what == kind::scatterv) scatterv(c, 0, in.data(), to, out.data(), root ? 8 : wrong);
                    if (what == kind::allgatherv) allgatherv(c, in.data(), out.data(), from, 40);
                    if (what == kind::alltoallv) alltoallv(c, in.data(), from, out.data(), to);
                    c.next_phase();
                    barrier(c);
                });
                if (status == SEA_OK) status = one_call(t, {.what = kind::barrier}, [](call &c) { barrier(c); });
                EXPECT_EQ(SEA_ERR_INVALID, status) << "rank " << rank << ", kind " << int(what) << ", " << other;
            });
        }
}

} // namespace
} // namespace onesea::coll
