// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.hpp"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace onesea {
namespace {

using namespace histogram_scale;

TEST(histogram, buckets_follow_each_other_without_a_gap)
{
    for (unsigned i = 0; i + 1 < buckets; ++i) {
        ASSERT_EQ(bucket_of(low_of(i)), i);
        ASSERT_EQ(bucket_of(low_of(i + 1) - 1), i);
    }
    EXPECT_EQ(bucket_of(0), 0u);
    EXPECT_EQ(bucket_of(UINT64_MAX), buckets - 1);
    EXPECT_EQ(low_of(0), 256u);
    EXPECT_GT(low_of(buckets), 34'000'000'000u);
}

TEST(histogram, without_samples_is_zero_everywhere)
{
    histogram h;
    EXPECT_EQ(h.copy().samples(), 0u);
    EXPECT_EQ(h.copy().quantile(0.5), 0u);
    EXPECT_EQ(h.copy().quantile(1), 0u);
}

TEST(histogram, of_one_sample_gives_it_for_every_share)
{
    histogram h;
    h.add(1'000'000);
    for (double q : {0.0, 0.5, 0.99, 1.0}) EXPECT_NEAR(double(h.copy().quantile(q)), 1e6, 0.0625e6) << q;
    EXPECT_EQ(h.copy().longest, 1'000'000u);
}

TEST(histogram, percentiles_are_within_seven_percent_of_the_sorted_samples)
{
    std::mt19937_64 random(5);
    std::lognormal_distribution<double> times(std::log(20'000.0), 1.5);
    histogram h;
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 100'000; ++i) {
        auto ns = std::uint64_t(300 + times(random));
        h.add(ns);
        all.push_back(ns);
    }
    std::sort(all.begin(), all.end());
    auto copy = h.copy();
    EXPECT_EQ(copy.samples(), all.size());
    for (double q : {0.01, 0.1, 0.5, 0.9, 0.99, 0.999}) {
        auto exact = double(all[std::size_t(std::ceil(q * double(all.size()))) - 1]);
        EXPECT_NEAR(double(copy.quantile(q)), exact, 0.07 * exact) << q;
    }
    EXPECT_EQ(copy.longest, all.back());
    EXPECT_LE(copy.quantile(1), all.back());
}

TEST(histogram, percentiles_never_exceed_the_longest_sample)
{
    histogram h;
    h.add(1);
    EXPECT_EQ(h.copy().quantile(0.5), 1u);
    h.add(1030);
    EXPECT_EQ(h.copy().quantile(0.99), 1030u) << "the middle of its bucket is later";
}

} // namespace
} // namespace onesea
