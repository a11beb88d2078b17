// SPDX-License-Identifier: Apache-2.0
// IS on threads: its ranking against a stable sort, its verification against what is wrong.
#include "../is/kernel.hpp"
#include "../random.hpp"
#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <numeric>

namespace npb::is {
namespace {

std::vector<key> keys_of(const problem &given, int iteration)
{
    std::vector<key> keys(given.keys());
    make_keys(given, 0, keys);
    keys[static_cast<std::size_t>(iteration)] = static_cast<key>(iteration);
    keys[static_cast<std::size_t>(iteration + iterations)] = given.range() - static_cast<key>(iteration);
    return keys;
}

// The indices of the keys in the order of their values.
std::vector<std::size_t> order_of(const std::vector<key> &keys)
{
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    return order;
}

TEST(npb_random, skipping_is_the_same_as_drawing)
{
    for (std::uint64_t count : {0, 1, 2, 3, 1000, 65537}) {
        random_stream drawn(seed), skipped(seed);
        for (std::uint64_t i = 0; i < count; ++i) drawn.next();
        skipped.skip(count);
        EXPECT_EQ(drawn.next(), skipped.next()) << count;
    }
}

TEST(npb_is_problem, parts_of_the_sequence_are_those_of_the_whole)
{
    const problem &given = *find_problem('S');
    std::vector<key> whole(given.keys()), part(1000);
    make_keys(given, 0, whole);
    make_keys(given, 12345, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 12345));
    EXPECT_LT(*std::max_element(whole.begin(), whole.end()), given.range());
}

TEST(npb_is_problem, published_ranks_are_those_of_a_stable_sort)
{
    for (char name : {'S', 'W'}) {
        const problem &given = *find_problem(name);
        for (int iteration : {1, iterations}) {
            // Iterations before leave their changes.
            std::vector<key> keys = keys_of(given, 1);
            for (int i = 2; i <= iteration; ++i) {
                keys[static_cast<std::size_t>(i)] = static_cast<key>(i);
                keys[static_cast<std::size_t>(i + iterations)] = given.range() - static_cast<key>(i);
            }
            const auto order = order_of(keys);
            for (int t = 0; t < tests; ++t) {
                const key value = keys[given.at[static_cast<std::size_t>(t)]];
                const auto first = std::find_if(order.begin(), order.end(), [&](auto i) { return keys[i] == value; });
                EXPECT_EQ(given.rank_in(t, iteration), first - order.begin()) << name << iteration << t;
            }
        }
    }
}

TEST(npb_is_kernel, ranks_as_a_stable_sort_does)
{
    const problem &given = *find_problem('S');
    const auto keys = keys_of(given, 1);
    const auto order = order_of(keys);
    for (int ranks : {1, 2, 3, 4, 8}) {
        std::atomic<std::size_t> compared = 0;
        thread_job(ranks).run([&](comm &peers) {
            kernel is(given, peers);
            is.rank_keys(1);
            for (std::size_t at = 0; at < order.size(); ++at) {
                const key value = keys[order[at]];
                if (at > 0 && keys[order[at - 1]] == value) continue;
                if (value < is.first_value() || value >= is.last_value()) continue;
                EXPECT_EQ(is.rank_of(value), at) << ranks << " ranks, value " << value;
                ++compared;
            }
        });
        std::vector<key> values(keys);
        std::sort(values.begin(), values.end());
        EXPECT_EQ(compared, std::unique(values.begin(), values.end()) - values.begin()) << ranks;
    }
}

TEST(npb_is_kernel, class_s_is_verified_on_any_number_of_ranks)
{
    for (int ranks : {1, 2, 3, 4, 7, 8, 16})
        thread_job(ranks).run([&](comm &peers) {
            kernel is(*find_problem('S'), peers);
            int calls = 0;
            const outcome result = is.run([&](int iteration) { EXPECT_EQ(iteration, ++calls); });
            EXPECT_EQ(result.tests_passed, tests * iterations) << ranks;
            EXPECT_TRUE(result.sorted) << ranks;
            EXPECT_EQ(calls, iterations);
        });
}

TEST(npb_is_kernel, a_wrong_rank_of_a_test_key_is_noticed)
{
    problem given = *find_problem('S');
    given.rank[3] += 1;
    thread_job(2).run([&](comm &peers) {
        kernel is(given, peers);
        EXPECT_EQ(is.run({}).tests_passed, (tests - 1) * iterations);
    });
}

TEST(npb_is_kernel, one_key_changed_on_its_way_is_noticed)
{
    thread_job job(4);
    job.run([&](comm &peers) {
        kernel is(*find_problem('S'), peers);
        is.rank_keys(1);
        EXPECT_TRUE(is.verify_all());
        if (peers.rank() == 2) static_cast<thread_comm &>(peers).falsify(1);
        is.rank_keys(2);
        EXPECT_FALSE(is.verify_all());
        is.rank_keys(3);
        EXPECT_TRUE(is.verify_all());
    });
}

} // namespace
} // namespace npb::is
