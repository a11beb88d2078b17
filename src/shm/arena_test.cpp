// SPDX-License-Identifier: Apache-2.0
#include "shm/arena.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace onesea::shm {
namespace {

constexpr std::uint64_t mib = 1 << 20;

// What the kernel keeps of the mapping at `at`: the words behind VmFlags in /proc/self/smaps.
std::vector<std::string> flags_of(const std::byte *at)
{
    const auto wanted = reinterpret_cast<std::uintptr_t>(at);
    std::ifstream file("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(file, line);) {
        std::uintptr_t from, to;
        if (std::sscanf(line.c_str(), "%zx-%zx ", &from, &to) == 2) here = from <= wanted && wanted < to;
        if (!here || !line.starts_with("VmFlags:")) continue;
        std::istringstream words(line.substr(8));
        return {std::istream_iterator<std::string>(words), {}};
    }
    return {};
}

bool has_flag(const std::byte *at, const char *flag)
{
    const auto flags = flags_of(at);
    EXPECT_FALSE(flags.empty());
    return std::ranges::find(flags, flag) != flags.end();
}

bool asks_for_huge_pages(const std::byte *at) { return has_flag(at, "hg"); }

bool in_core_files(const std::byte *at) { return !has_flag(at, "dd"); }

struct ArenaTest : testing::Test {
    arena a;
    int fd = -1;
    ~ArenaTest() override
    {
        if (fd >= 0) ::close(fd);
    }
    void make(std::uint64_t heap_bytes)
    {
        arena_plan plan;
        plan.slots = 2;
        plan.spare = 1;
        plan.rank_capacity = 3;
        plan.heap_bytes = heap_bytes;
        if (fd >= 0) ::close(fd);
        ASSERT_EQ(0, arena::create(plan, &a, &fd));
        for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(0, a.occupy(i, int(i), -1));
    }
};

// Of 8 GiB of address space, or for files, a quarter for the heaps of two ranks; without a limit the machine's memory.
void default_heap_within(decltype(RLIMIT_AS) resource)
{
    rlimit limit{};
    getrlimit(resource, &limit);
    limit.rlim_cur = 8 << 10;
    limit.rlim_cur <<= 20;
    setrlimit(resource, &limit);
    _exit(default_heap_bytes(2) <= limit.rlim_cur / 8 && default_heap_bytes(2) >= 64 * mib ? 0 : 1);
}

TEST(arena_plan, the_default_heap_keeps_within_the_limits_of_the_process)
{
    EXPECT_EXIT(default_heap_within(RLIMIT_FSIZE), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(default_heap_within(RLIMIT_AS), testing::ExitedWithCode(0), "");
}

struct ArenaHugePagesTest : ArenaTest {
    void SetUp() override
    {
        if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "no huge pages here";
    }
};

TEST_F(ArenaHugePagesTest, a_heap_asks_for_huge_pages_behind_its_first_ones_worth)
{
    make(64 * mib);
    for (unsigned own : {1u, 2u}) {
        a.ask_for_huge_pages(own);
        EXPECT_FALSE(asks_for_huge_pages(a.heap_data(own)));
        EXPECT_FALSE(asks_for_huge_pages(a.heap_data(own) + 2 * mib - 1));
        EXPECT_TRUE(asks_for_huge_pages(a.heap_data(own) + 4 * mib));
        EXPECT_TRUE(asks_for_huge_pages(a.heap_data(own) + 64 * mib - 1));
    }
    EXPECT_FALSE(asks_for_huge_pages(a.heap_data(0) + 63 * mib));
}

// Where a huge page of the file begins, one of the mapping does.
TEST_F(ArenaTest, heaps_lie_as_their_huge_pages_need_it)
{
    for (std::uint64_t heap_bytes : {3 * mib, 64 * mib, 64 * mib + 4096}) {
        make(heap_bytes);
        arena other;
        ASSERT_EQ(0, arena::map(fd, &other));
        ASSERT_EQ(0, other.map_heap(2));
        for (const arena *each : {&a, &other})
            for (unsigned slot = 0; slot < 3; ++slot) {
                const arena_header &h = each->header();
                const std::uint64_t in_file = h.heaps_at + slot * h.heap_stride;
                const auto mapped = reinterpret_cast<std::uintptr_t>(each->heap_meta(slot));
                EXPECT_EQ(mapped % (2 * mib), in_file % (2 * mib)) << "slot " << slot;
            }
    }
}

TEST_F(ArenaTest, only_what_is_shown_of_a_heap_is_in_core_files)
{
    make(64 * mib);
    ASSERT_EQ(0, a.map_heap(2));
    EXPECT_FALSE(in_core_files(reinterpret_cast<const std::byte *>(&a.header())));
    for (unsigned own : {1u, 2u}) {
        EXPECT_FALSE(in_core_files(a.heap_data(own)));
        const std::uint64_t shown = a.show_in_core_files(own, 5 * mib);
        EXPECT_GE(shown, 5 * mib);
        EXPECT_LE(shown, 7 * mib);
        EXPECT_TRUE(in_core_files(a.heap_data(own)));
        EXPECT_TRUE(in_core_files(a.heap_data(own) + shown - 1));
        EXPECT_FALSE(in_core_files(a.heap_data(own) + shown));
        EXPECT_EQ(64 * mib, a.show_in_core_files(own, 64 * mib));
        EXPECT_TRUE(in_core_files(a.heap_data(own) + 64 * mib - 1));
    }
    EXPECT_FALSE(in_core_files(a.heap_data(0)));
}

TEST_F(ArenaHugePagesTest, a_small_heap_asks_for_no_huge_pages)
{
    make(3 * mib);
    a.ask_for_huge_pages(0);
    for (std::uint64_t at = 0; at < 3 * mib; at += mib) EXPECT_FALSE(asks_for_huge_pages(a.heap_data(0) + at));
}

} // namespace
} // namespace onesea::shm
