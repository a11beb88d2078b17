// SPDX-License-Identifier: Apache-2.0
#include "observe/report.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace onesea::observe {
namespace {

void set(pair_copy &p, count_word pair_counts::*word, std::uint64_t n)
{
    for (std::size_t i = 0; i < pair_labels.size(); ++i)
        if (pair_labels[i].word == word) p.counts.by_label[i] = n;
}

// Every rank put one piece of (from * 100 + to) bytes to every other.
job_report full(int ranks)
{
    job_report job;
    for (int from = 0; from < ranks; ++from) {
        page_copy page;
        page.rank = from;
        page.pid = 1000 + from;
        for (int to = 0; to < ranks; ++to) {
            if (to == from) continue;
            pair_copy p;
            p.rank = to;
            set(p, &pair_counts::puts, 1);
            set(p, &pair_counts::bytes_out, std::uint64_t(from * 100 + to));
            page.pairs.push_back(p);
        }
        job.ranks.push_back({from, unsigned(from) / 2, "here", page});
    }
    return job;
}

std::vector<std::string> lines(const std::string &text)
{
    std::istringstream stream(text);
    std::vector<std::string> all;
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
}

std::vector<std::string> words(const std::string &line)
{
    std::istringstream stream(line);
    return {std::istream_iterator<std::string>(stream), {}};
}

TEST(report, shows_every_pair_of_a_small_job_in_order)
{
    auto all = lines(table(full(3)));
    EXPECT_EQ(all[0], "onesea: 6 pairs of ranks spoke");
    std::vector<std::string> seen;
    for (std::size_t i = 2; i < 8; ++i) seen.push_back(words(all[i])[0] + ">" + words(all[i])[1]);
    EXPECT_EQ(seen, (std::vector<std::string>{"0>1", "0>2", "1>0", "1>2", "2>0", "2>1"}));
    EXPECT_EQ(words(all[7])[8], "201") << all[7];
}

TEST(report, of_a_large_job_shows_the_busiest_pairs_and_sums_up_the_rest)
{
    auto all = lines(table(full(64)));
    EXPECT_EQ(all[0], "onesea: 4032 pairs of ranks spoke");
    EXPECT_EQ(words(all[2])[0] + ">" + words(all[2])[1], "63>62");
    const std::string &rest = all[2 + most_pairs_shown];
    EXPECT_EQ(rest.rfind("  and 4012 more pairs: 4012 operations, ", 0), 0u) << rest;
    EXPECT_NE(rest.find("--stats=FILE"), rest.npos);
    EXPECT_LT(all.size(), most_pairs_shown + most_ranks_shown + 8);
    for (const std::string &line : all) EXPECT_LT(line.size(), 180u);
}

TEST(report, shows_times_where_there_are_some_and_tells_the_way)
{
    job_report job = full(2);
    pair_copy &p = job.ranks[0].page->pairs[0];
    set(p, &pair_counts::packets_out, 40);
    set(p, &pair_counts::packets_lost, 7);
    for (int i = 0; i < 100; ++i) ++p.round_trips.counts[histogram_scale::bucket_of(20'000)];
    ++p.round_trips.counts[histogram_scale::bucket_of(3'000'000)];
    p.round_trips.longest = 3'000'000;
    auto all = lines(table(job));
    auto over_net = words(all[2]), inside = words(all[3]);
    EXPECT_EQ(over_net[2], "net");
    EXPECT_EQ(over_net[12], "7") << all[2];
    EXPECT_EQ(words(all[1])[16], "again") << all[1];
    EXPECT_NEAR(std::stod(over_net[14]), 20.0, 1.3) << all[2];
    EXPECT_NE(all[2].find(" 3000 us"), std::string::npos) << all[2];
    EXPECT_EQ(inside[2], "shm");
    EXPECT_EQ(inside.back(), "-");
}

TEST(report, tells_counts_that_are_unreadable_from_lost_ones)
{
    job_report job = full(2);
    job.ranks[1].page.reset();
    job.ranks[1].agent_lost = false;
    EXPECT_NE(table(job).find("rank 1 on here: its counts are unreadable"), std::string::npos) << table(job);
    EXPECT_EQ(to_json(job)["lost"], nlohmann::json({1}));
}

TEST(report, says_who_has_no_counts_and_why)
{
    job_report job = full(3);
    job.ranks[1].page.reset();
    job.ranks[2].page = page_copy{2, 0, 0, {}, {}};
    const auto word =
        std::ranges::find(process_labels, &process_counts::unrecorded, &decltype(process_labels)::value_type::word);
    job.ranks[0].page->process.by_label[std::size_t(word - process_labels.begin())] = 3;
    std::string text = table(job);
    EXPECT_NE(text.find("rank 0: what it did with 3 ranks is in no line"), text.npos) << text;
    EXPECT_NE(text.find("rank 1 on here: its agent was lost"), text.npos) << text;
    EXPECT_NE(text.find("1 rank never called sea_init()"), text.npos) << text;
    EXPECT_EQ(to_json(job)["lost"], nlohmann::json({1}));
    EXPECT_EQ(to_json(job)["ranks"].size(), 2u);
}

TEST(report, of_a_job_without_onesea_is_short)
{
    job_report job;
    job.ranks.push_back({0, 0, "here", page_copy{0, 0, 0, {}, {}}});
    EXPECT_EQ(table(job), "onesea: 0 pairs of ranks spoke\n  1 rank never called sea_init()\n");
}

TEST(report, large_numbers_get_units)
{
    job_report job = full(2);
    set(job.ranks[0].page->pairs[0], &pair_counts::puts, 123'456'789);
    set(job.ranks[0].page->pairs[0], &pair_counts::bytes_out, std::uint64_t(3) << 31);
    std::string text = table(job);
    EXPECT_NE(text.find(" 123 M "), text.npos) << text;
    EXPECT_NE(text.find(" 6.00 GiB "), text.npos) << text;
}

TEST(report, json_has_every_pair_and_where_each_rank_was)
{
    auto j = to_json(full(30));
    ASSERT_EQ(j["ranks"].size(), 30u);
    std::size_t pairs = 0;
    for (auto &r : j["ranks"]) pairs += r["pairs"].size();
    EXPECT_EQ(pairs, 30u * 29u);
    EXPECT_EQ(j["ranks"][29]["node"], 14);
    EXPECT_EQ(j["ranks"][29]["host"], "here");
}

} // namespace
} // namespace onesea::observe
