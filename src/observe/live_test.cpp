// SPDX-License-Identifier: Apache-2.0
#include "observe/live.hpp"

#include "base/counts_page.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onesea::observe {
namespace {

// Of this process alone: tests that run beside it have pages, too.
const std::uint64_t our_job = 0x1122334400000000 + std::uint64_t(getpid());

struct live_page {
    int fd, error = 0;
    std::unique_ptr<counts_page> page;
    explicit live_page(int rank) : fd(counts_page::create(rank, 1, our_job)), page(counts_page::map(fd, &error)) {}
};

std::vector<page_copy> ours()
{
    auto all = running_pages();
    std::erase_if(all, [](const page_copy &p) { return p.job != our_job; });
    return all;
}

TEST(live, finds_the_page_that_this_process_holds)
{
    EXPECT_TRUE(ours().empty());
    live_page m(3);
    m.page->row_of(1).counts.gets += 5;
    auto found = ours();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].rank, 3);
    EXPECT_EQ(found[0].pid, getpid());
    EXPECT_EQ(found[0].pairs.at(0).operations(), 5u);
}

TEST(live, a_page_that_another_process_holds_too_is_found_once)
{
    live_page m(3);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char c;
        close(ends[1]);
        _exit(read(ends[0], &c, 1) == 0 ? 0 : 1);
    }
    EXPECT_EQ(ours().size(), 1u);
    close(ends[1]);
    waitpid(child, nullptr, 0);
    close(ends[0]);
}

TEST(live, pages_of_the_ended_are_left_out)
{
    const int fd = counts_page::create(1, 1, our_job);
    const pid_t child = fork();
    if (child == 0) {
        int error = 0;
        auto page = counts_page::map(fd, &error);
        _exit(page ? 0 : 1);
    }
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(ours().empty());
    close(fd);
}

// As process 1 of a container.
TEST(live, a_rank_in_another_space_of_process_numbers_is_found_by_its_number_here)
{
    int ready[2], end[2];
    ASSERT_EQ(pipe(ready), 0);
    ASSERT_EQ(pipe(end), 0);
    const pid_t outer = fork();
    if (outer == 0) {
        close(end[1]);
        const bool entered = unshare(CLONE_NEWPID) == 0;
        const pid_t inner = entered ? fork() : -1;
        char c = entered ? 'y' : 'n';
        if (inner > 0) waitpid(inner, nullptr, 0);
        if (inner == 0) {
            live_page m(7);
            m.page->row_of(1).counts.gets += 5;
            if (write(ready[1], &c, 1) == 1 && read(end[0], &c, 1) == 0) _exit(0);
        }
        if (inner < 0 && write(ready[1], &c, 1) != 1) _exit(1);
        _exit(0);
    }
    close(ready[1]);
    char c = 'n';
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    const auto found = ours();
    close(end[1]);
    waitpid(outer, nullptr, 0);
    for (int fd : {ready[0], end[0]}) close(fd);
    if (c == 'n') GTEST_SKIP() << "no process numbers of its own for this user";
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].rank, 7);
    EXPECT_NE(found[0].pid, 1);
}

TEST(live, what_has_a_pages_name_and_is_none_is_passed_over)
{
    const int fd = memfd_create(counts_name, MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, 1 << 20), 0);
    live_page m(3);
    EXPECT_EQ(ours().size(), 1u);
    close(fd);
}

page_copy at(int rank, std::uint64_t puts, std::uint64_t bytes_to_one, std::uint64_t bytes_to_two)
{
    live_page m(rank);
    m.page->row_of(1).counts.puts += puts;
    m.page->row_of(1).counts.bytes_out += bytes_to_one;
    m.page->row_of(2).counts.bytes_out += bytes_to_two;
    m.page->process().forged += puts;
    m.page->process().wait_ns += puts * 1'000'000;
    std::string problem;
    return read_page(m.fd, any_ranks, &problem).value();
}

TEST(live, speeds_are_growth_per_second)
{
    auto all = speeds({at(0, 100, 1000, 5000)}, {at(0, 300, 3000, 5500)}, 0.5);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_DOUBLE_EQ(all[0].operations, 400);
    EXPECT_DOUBLE_EQ(all[0].bytes_out, 5000);
    EXPECT_DOUBLE_EQ(all[0].dropped, 400);
    EXPECT_DOUBLE_EQ(all[0].waiting, 0.4);
    EXPECT_EQ(all[0].most_to, 1);
}

// It began before the first look; of what is counted when it ends, a part was told before.
TEST(live, a_wait_that_goes_on_is_counted)
{
    page_copy before = at(0, 0, 0, 0), during = before;
    before.open_wait_ns = 3'000'000'000;
    during.open_wait_ns = 4'000'000'000;
    EXPECT_DOUBLE_EQ(speeds({before}, {during}, 1).at(0).waiting, 1);
    live_page ended(0);
    ended.page->process().wait_ns += 4'500'000'000;
    std::string problem;
    const page_copy after = read_page(ended.fd, any_ranks, &problem).value();
    EXPECT_DOUBLE_EQ(speeds({during}, {after}, 1).at(0).waiting, 0.5);
}

TEST(live, ranks_that_came_or_went_have_no_speed_and_idle_ones_have_none_to_name)
{
    EXPECT_TRUE(speeds({at(0, 1, 1, 1)}, {at(1, 2, 2, 2)}, 1).empty());
    auto idle = speeds({at(0, 1, 1, 1)}, {at(0, 1, 1, 1)}, 1);
    EXPECT_EQ(idle.at(0).most_to, -1);
    EXPECT_NE(table(idle).find(fmt::format("{:08x}", getpid())), std::string::npos) << table(idle);
    EXPECT_EQ(table({}), "  no rank runs on this machine\n");
}

} // namespace
} // namespace onesea::observe
