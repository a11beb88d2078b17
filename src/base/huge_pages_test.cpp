// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.hpp"

#include "base/pages.hpp"
#include "huge_pages_here.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <thread>
#include <utility>
#include <vector>

using namespace onesea;
using namespace huge_pages_here;

namespace {

constexpr std::size_t area = huge_pages::area_bytes, sent_at_once = 15 * page_bytes;

const char *huge_field(bool shared) { return shared ? "ShmemPmdMapped" : "AnonHugePages"; }

std::vector<std::uintptr_t> gathered; // in order
int result = 0;

int note(void *at, std::size_t bytes)
{
    EXPECT_EQ(bytes, area);
    gathered.push_back(reinterpret_cast<std::uintptr_t>(at));
    return result;
}

struct HugePagesTest : testing::Test {
    huge_pages pages{note};
    void SetUp() override
    {
        gathered.clear();
        result = 0;
    }
    // As the lender sees a message: in datagrams, of which the last may be too short for it. How many it may lend not.
    int lend(std::uintptr_t from, std::size_t bytes, bool alone = false)
    {
        const std::uintptr_t end = from + bytes;
        int refused = 0;
        while (from < end) {
            const std::size_t n = std::min(end - from, sent_at_once - from % page_bytes);
            if (n >= huge_pages::most_left_out)
                refused += !pages.may_lend(reinterpret_cast<void *>(from), n, std::exchange(alone, false));
            from += n;
        }
        return refused;
    }
    int lend_times(unsigned times, std::uintptr_t from, std::size_t bytes, bool alone = false)
    {
        int refused = 0;
        while (times--) refused += lend(from, bytes, alone);
        return refused;
    }
    void copy_times(unsigned times, std::uintptr_t from, std::size_t bytes)
    {
        while (times--) pages.copied(reinterpret_cast<void *>(from), bytes);
    }
};

TEST_F(HugePagesTest, an_area_is_gathered_before_it_is_lent_once_more_than_is_worth_it)
{
    EXPECT_EQ(lend_times(huge_pages::worth, 4 * area, area), 0);
    EXPECT_TRUE(gathered.empty());
    EXPECT_EQ(lend(4 * area, area), 0);
    EXPECT_EQ(gathered, std::vector{4 * area});
}

TEST_F(HugePagesTest, memory_that_may_have_become_another_is_gathered_again_and_ever_more_rarely)
{
    lend_times(huge_pages::worth, 4 * area, area);
    std::size_t attempts = 0;
    for (unsigned wait :
         {huge_pages::again, 2 * huge_pages::again, 4 * huge_pages::again, huge_pages::seldom, huge_pages::seldom}) {
        lend(4 * area, area);
        EXPECT_EQ(gathered.size(), ++attempts);
        lend_times(wait - 1, 4 * area, area);
        EXPECT_EQ(gathered.size(), attempts);
    }
}

TEST_F(HugePagesTest, of_what_may_still_be_out_only_areas_that_are_lent_whole_are_gathered)
{
    lend_times(50, 4 * area + 100, 3 * area);
    EXPECT_EQ(gathered, (std::vector{5 * area, 6 * area}));
    gathered.clear();
    lend_times(500, 10 * area, area / 2);
    lend_times(500, 12 * area - area / 2, area);
    lend_times(500, 20 * area + page_bytes, area - page_bytes);
    EXPECT_TRUE(gathered.empty());
}

TEST_F(HugePagesTest, what_is_lent_with_gaps_or_backwards_while_it_may_still_be_out_is_not_gathered)
{
    for (unsigned i = 0; i < 100; ++i)
        for (std::size_t at = 0; at < area; at += 2 * sent_at_once)
            pages.may_lend(reinterpret_cast<void *>(4 * area + at), sent_at_once, false);
    for (unsigned i = 0; i < 100; ++i)
        for (std::size_t at = area; at > 0; at -= 65536)
            pages.may_lend(reinterpret_cast<void *>(8 * area + at - 65536), 65536, false);
    EXPECT_TRUE(gathered.empty());
}

// By the copy the kernel lets go of the datagrams before.
TEST_F(HugePagesTest, where_nothing_is_out_one_datagram_is_copied_and_the_area_gathered_before_the_next)
{
    for (const std::uintptr_t part : {4 * area, 6 * area + 4711, 9 * area - area / 4}) {
        gathered.clear();
        const std::size_t bytes = area / 4;
        unsigned times = 0;
        while (lend(part, bytes, true) == 0 && times < 100 * huge_pages::worth) ++times;
        EXPECT_GE(times, 4 * huge_pages::worth);
        EXPECT_LE(times, 5 * huge_pages::worth) << "ends may be left out";
        EXPECT_EQ(gathered, std::vector{part / area * area});
        EXPECT_EQ(lend_times(times, part, bytes, true), 0);
    }
}

TEST_F(HugePagesTest, a_message_of_one_datagram_is_copied_once_too)
{
    int refused = 0;
    for (std::size_t sent = 0; sent <= (huge_pages::worth + 1) * area; sent += sent_at_once) {
        EXPECT_EQ(gathered.size(), 0u);
        refused += lend(4 * area, sent_at_once, true);
        if (refused) break;
    }
    EXPECT_EQ(refused, 1);
    EXPECT_TRUE(gathered.empty());
    EXPECT_EQ(lend(4 * area, sent_at_once, true), 0);
    EXPECT_EQ(gathered, std::vector{4 * area});
}

TEST_F(HugePagesTest, what_was_copied_is_gathered_at_once_when_it_is_worth_it)
{
    copy_times(2 * huge_pages::worth, 4 * area + 100, area / 2);
    EXPECT_TRUE(gathered.empty());
    copy_times(1, 4 * area + 100, area / 2);
    EXPECT_EQ(gathered, std::vector{4 * area});
    copy_times(2 * huge_pages::again - 1, 4 * area + 100, area / 2);
    EXPECT_EQ(gathered.size(), 1u);
    gathered.clear();
    copy_times(huge_pages::worth + 1, 8 * area, 3 * area);
    EXPECT_EQ(gathered, (std::vector{8 * area, 9 * area, 10 * area}));
}

TEST_F(HugePagesTest, areas_of_which_pages_are_missing_are_no_failures)
{
    result = ENODATA;
    copy_times(huge_pages::worth + 1, 8 * area, 10 * huge_pages::patience * area);
    EXPECT_EQ(gathered.size(), 10u * huge_pages::patience);
    EXPECT_FALSE(pages.given_up());
}

TEST_F(HugePagesTest, areas_lent_in_turn_are_counted_each)
{
    lend_times(huge_pages::worth + 1, 4 * area, 16 * area);
    ASSERT_EQ(gathered.size(), 16u);
    EXPECT_EQ(gathered.front(), 4 * area);
    EXPECT_EQ(gathered.back(), 19 * area);
}

TEST_F(HugePagesTest, a_failure_is_not_repeated_at_once_and_many_are_the_last)
{
    result = EAGAIN;
    lend_times(huge_pages::worth + huge_pages::again, 4 * area, area);
    EXPECT_EQ(gathered.size(), 1u);
    lend_times(huge_pages::worth + 1, 8 * area, (huge_pages::patience - 2) * area);
    EXPECT_FALSE(pages.given_up());
    result = 0;
    lend_times(huge_pages::worth + 1, 100 * area, area);
    result = EAGAIN;
    lend_times(huge_pages::worth + 1, 200 * area, (huge_pages::patience - 1) * area);
    EXPECT_FALSE(pages.given_up()); // one had succeeded in between
    lend_times(huge_pages::worth + 1, 300 * area, area);
    EXPECT_TRUE(pages.given_up());
    gathered.clear();
    lend_times(10 * huge_pages::worth, 400 * area, area);
    EXPECT_TRUE(gathered.empty());
}

int dawdle(void *at, std::size_t bytes)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    return note(at, bytes);
}

TEST_F(HugePagesTest, a_kernel_that_takes_long_is_asked_no_more)
{
    pages = huge_pages(dawdle);
    lend_times(huge_pages::worth + 1, 8 * area, huge_pages::patience * area);
    EXPECT_TRUE(pages.given_up());
    EXPECT_EQ(gathered.size(), std::size_t(huge_pages::patience / huge_pages::slow_counts));
}

TEST(HugePagesOfTheKernel, memory_that_is_lent_again_and_again_lies_in_huge_pages_and_is_unharmed)
{
    for (bool shared : {false, true}) {
        if (const std::string why = why_none(shared); !why.empty())
            GTEST_SKIP() << (shared ? "shared memory: " : "private memory: ") << why;
        const memory m(shared, 4);
        huge_pages pages;
        for (unsigned i = 0; i <= huge_pages::worth; ++i) {
            EXPECT_EQ(kilobytes(huge_field(shared), m.at), 0u);
            for (std::size_t n = 0; n < m.bytes; n += 65536) pages.may_lend(m.at + n, 65536, false);
        }
        EXPECT_EQ(kilobytes(huge_field(shared), m.at), m.bytes / 1024);
        EXPECT_TRUE(m.unharmed());
    }
}

TEST(HugePagesOfTheKernel, areas_of_which_a_page_is_missing_are_not_gathered)
{
    for (bool shared : {false, true}) {
        const memory m(shared, 1);
        EXPECT_EQ(huge_pages::gather_by_kernel(m.at + m.bytes, area), ENODATA) << "nobody may access it";
        ASSERT_EQ(madvise(m.at + 5 * page_bytes, page_bytes, shared ? MADV_REMOVE : MADV_DONTNEED), 0);
        EXPECT_EQ(huge_pages::gather_by_kernel(m.at, area), ENODATA);
        EXPECT_EQ(kilobytes(huge_field(shared), m.at), 0u);
    }
}

TEST(HugePagesOfTheKernel, a_process_that_has_switched_them_off_gets_none)
{
    ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
    for (bool shared : {false, true}) EXPECT_NE(huge_pages::gather_by_kernel(memory(shared, 1).at, area), 0);
    EXPECT_EQ(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
}

} // namespace
