// SPDX-License-Identifier: Apache-2.0
#include "observe/page_copy.hpp"

#include "base/clock.hpp"
#include "base/counts_page.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace onesea::observe {
namespace {

struct made_page {
    int fd = counts_page::create(4, 2), error = 0;
    std::unique_ptr<counts_page> page = counts_page::map(fd, &error);

    page_copy read() const
    {
        std::string problem;
        auto copy = read_page(fd, any_ranks, &problem);
        EXPECT_TRUE(copy) << problem;
        return copy.value_or(page_copy{});
    }
    std::string refused() const
    {
        std::string problem;
        return read_page(fd, any_ranks, &problem) ? "accepted" : problem;
    }
    void damage(std::size_t at, std::uint64_t value, std::size_t bytes) const
    {
        EXPECT_EQ(pwrite(fd, &value, bytes, off_t(at)), ssize_t(bytes));
    }
};

TEST(page_copy, holds_what_was_counted_by_rank)
{
    made_page m;
    m.page->row_of(9).counts.puts += 3;
    m.page->row_of(9).counts.bytes_out += 24;
    m.page->row_of(2).counts.packets_lost += 1;
    m.page->row_of(9).round_trips.add(10'000);
    m.page->process().wait_ns += 77;
    page_copy c = m.read();
    EXPECT_EQ(c.rank, 4);
    EXPECT_EQ(c.pid, getpid());
    EXPECT_EQ(c.process[&process_counts::wait_ns], 77u);
    ASSERT_EQ(c.pairs.size(), 2u);
    EXPECT_EQ(c.pairs[0].rank, 2);
    EXPECT_EQ(c.pairs[0].counts[&pair_counts::packets_lost], 1u);
    EXPECT_EQ(c.pairs[1].rank, 9);
    EXPECT_EQ(c.pairs[1].operations(), 3u);
    EXPECT_EQ(c.pairs[1].bytes(), 24u);
    EXPECT_EQ(c.pairs[1].round_trips.samples(), 1u);
}

TEST(page_copy, tells_what_its_owner_waits_for)
{
    made_page m;
    EXPECT_EQ(m.read().open_wait_ns, 0u);
    EXPECT_EQ(read_waits(m.fd)->ms, 0u);
    m.page->waiting_since().set(now_ns() - 5'000'000'000);
    m.page->waits().write(7, "a receive");
    const auto waits = read_waits(m.fd);
    ASSERT_TRUE(waits);
    EXPECT_TRUE(waits->started);
    EXPECT_EQ(waits->answers, 7u);
    EXPECT_EQ(waits->text, "a receive");
    EXPECT_GE(waits->ms, 5000u);
    EXPECT_GE(m.read().open_wait_ns, 5'000'000'000u);
    m.page->waits().write(8, std::string(5000, 'x'));
    EXPECT_EQ(read_waits(m.fd)->text, std::string(sizeof wait_report::text, 'x'));
    m.page->waiting_since().set(now_ns() + 1'000'000'000'000); // of another clock
    EXPECT_EQ(read_waits(m.fd)->ms, 0u);
    m.damage(offsetof(counts_header, waits.bytes), 1u << 30, 4);
    EXPECT_EQ(read_waits(m.fd)->text.size(), sizeof wait_report::text);
    EXPECT_FALSE(read_waits(-1));
}

TEST(page_copy, adds_what_the_inlined_path_counted)
{
    made_page m;
    m.page->owners()[1] = 3 + 1;
    m.page->windows()[1].puts = 10;
    m.page->windows()[1].gets = 5;
    m.page->windows()[1].atomics = 2;
    m.page->windows()[0].puts = 99; // nobody's
    m.page->row_of(3).counts.puts += 1;
    m.page->row_of(3).counts.bytes_out += 100;
    page_copy c = m.read();
    ASSERT_EQ(c.pairs.size(), 1u);
    EXPECT_EQ(c.pairs[0].rank, 3);
    EXPECT_EQ(c.pairs[0].counts[&pair_counts::puts], 11u);
    EXPECT_EQ(c.pairs[0].counts[&pair_counts::gets], 5u);
    EXPECT_EQ(c.pairs[0].counts[&pair_counts::atomics], 2u);
    EXPECT_EQ(c.pairs[0].counts[&pair_counts::bytes_out], 180u);
    EXPECT_EQ(c.pairs[0].counts[&pair_counts::bytes_in], 40u);
}

TEST(page_copy, leaves_out_rows_in_which_nothing_was_counted)
{
    made_page m;
    m.page->row_of(1);
    EXPECT_TRUE(m.read().pairs.empty());
}

TEST(page_copy, of_a_rank_that_never_started_says_so)
{
    int fd = counts_page::create(1, 1);
    std::string problem;
    auto copy = read_page(fd, any_ranks, &problem);
    ASSERT_TRUE(copy) << problem;
    EXPECT_EQ(copy->pid, 0);
    EXPECT_TRUE(copy->pairs.empty());
    close(fd);
}

TEST(page_copy, refuses_damaged_pages)
{
    std::string problem;
    EXPECT_FALSE(read_page(-1, any_ranks, &problem));
    EXPECT_FALSE(problem.empty());
    for (auto [at, value, bytes] : {std::tuple<std::size_t, std::uint64_t, std::size_t>{0, 0, 4},
                                    {offsetof(counts_header, version), 99, 4},
                                    {offsetof(counts_header, windows), UINT32_MAX, 4},
                                    {offsetof(counts_header, windows), 60'000, 4},
                                    {offsetof(counts_header, owners_at), UINT64_MAX - 3, 8},
                                    {offsetof(counts_header, windows_at), 1u << 30, 8},
                                    {offsetof(counts_header, rows_at), UINT64_MAX, 8},
                                    {offsetof(counts_header, rows), 65, 4},
                                    {offsetof(counts_header, rows), UINT32_MAX, 4}}) {
        made_page m;
        m.page->row_of(1).counts.puts += 1;
        m.damage(at, value, bytes);
        EXPECT_NE(m.refused(), "accepted") << at << " " << value;
    }
}

// The file of such a page has room for all that it claims, and no memory behind it.
TEST(page_copy, refuses_pages_that_claim_more_rows_than_there_can_be)
{
    for (const std::uint32_t rows : {65u, 200'000'000u}) {
        made_page m;
        m.page->row_of(7).counts.puts += 1;
        ASSERT_EQ(ftruncate(m.fd, off_t(1) << 40), 0);
        m.damage(offsetof(counts_header, rows), rows, 4);
        EXPECT_NE(m.refused(), "accepted") << rows;
    }
}

TEST(page_copy, refuses_pages_that_tell_of_no_rank_of_the_job)
{
    made_page m;
    m.page->row_of(7).counts.puts += 1;
    std::string problem;
    EXPECT_TRUE(read_page(m.fd, 8, &problem)) << problem;
    EXPECT_FALSE(read_page(m.fd, 7, &problem));
    m.page->row_of(2).rank = -1;
    EXPECT_NE(m.refused(), "accepted");
    made_page other;
    other.page->owners()[0] = 8 + 1;
    other.page->windows()[0].puts = 1;
    EXPECT_TRUE(read_page(other.fd, 9, &problem)) << problem;
    EXPECT_FALSE(read_page(other.fd, 8, &problem));
}

TEST(page_copy, survives_the_way_through_json)
{
    made_page m;
    for (int rank : {0, 5}) {
        pair_row &row = m.page->row_of(rank);
        std::uint64_t n = std::uint64_t(rank) + 1;
        for (auto &label : pair_labels) (row.counts.*label.word) += n++;
        for (int i = 0; i < 50; ++i) row.round_trips.add(std::uint64_t(1) << (8 + i % 25));
        row.smoothed_ns.set(4321);
    }
    std::uint64_t n = 100;
    for (auto &label : process_labels) (m.page->process().*label.word) += n++;
    page_copy sent = m.read(), got = page_from_json(nlohmann::json::parse(to_json(sent).dump()));
    EXPECT_EQ(got.rank, sent.rank);
    EXPECT_EQ(got.pid, sent.pid);
    EXPECT_EQ(got.process.by_label, sent.process.by_label);
    ASSERT_EQ(got.pairs.size(), sent.pairs.size());
    for (std::size_t i = 0; i < sent.pairs.size(); ++i) {
        EXPECT_EQ(got.pairs[i].rank, sent.pairs[i].rank);
        EXPECT_EQ(got.pairs[i].counts.by_label, sent.pairs[i].counts.by_label);
        EXPECT_EQ(got.pairs[i].smoothed_ns, 4321u);
        EXPECT_EQ(got.pairs[i].round_trips.counts, sent.pairs[i].round_trips.counts);
        EXPECT_EQ(got.pairs[i].round_trips.longest, sent.pairs[i].round_trips.longest);
    }
}

TEST(page_copy, json_that_lacks_something_is_refused)
{
    made_page m;
    m.page->row_of(1).counts.puts += 1;
    nlohmann::json good = to_json(m.read());
    for (const char *key : {"rank", "pid", "process", "pairs"}) {
        nlohmann::json bad = good;
        bad.erase(key);
        EXPECT_THROW(page_from_json(bad), nlohmann::json::exception) << key;
    }
    good["pairs"][0].erase("puts");
    EXPECT_THROW(page_from_json(good), nlohmann::json::exception);
}

} // namespace
} // namespace onesea::observe
