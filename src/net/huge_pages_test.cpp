// SPDX-License-Identifier: Apache-2.0
#include "net/huge_pages.hpp"

#include "net/constants.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace onesea::net;

namespace {

constexpr std::size_t area = huge_pages::area_bytes, sent_at_once = 15 * 4096;

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
    // As the lender sees a message: in datagrams, of which the last may be too short for it.
    void lend(std::uintptr_t from, std::size_t bytes)
    {
        const std::uintptr_t end = from + bytes;
        while (from < end) {
            const std::size_t n = std::min(end - from, sent_at_once - from % 4096);
            if (n >= least_lent) pages.about_to_lend(reinterpret_cast<void *>(from), n);
            from += n;
        }
    }
    void lend(std::uintptr_t from, std::size_t bytes, unsigned times)
    {
        while (times--) lend(from, bytes);
    }
};

TEST_F(HugePagesTest, an_area_is_gathered_before_it_is_lent_once_more_than_is_worth_it)
{
    lend(4 * area, area, huge_pages::worth);
    EXPECT_TRUE(gathered.empty());
    lend(4 * area, area);
    EXPECT_EQ(gathered, std::vector{4 * area});
    lend(4 * area, area, huge_pages::again - 1);
    EXPECT_EQ(gathered.size(), 1u);
    lend(4 * area, area);
    EXPECT_EQ(gathered.size(), 2u); // its memory may have become another
}

TEST_F(HugePagesTest, only_areas_that_are_lent_whole_are_gathered)
{
    lend(4 * area + 100, 3 * area, 50);
    EXPECT_EQ(gathered, (std::vector{5 * area, 6 * area}));
    gathered.clear();
    lend(10 * area, area / 2, 500);
    lend(12 * area - area / 2, area, 500);
    lend(20 * area + 4096, area - 4096, 500);
    EXPECT_TRUE(gathered.empty());
}

TEST_F(HugePagesTest, what_is_lent_with_gaps_or_backwards_is_not_gathered)
{
    for (unsigned i = 0; i < 100; ++i)
        for (std::size_t at = 0; at < area; at += 2 * sent_at_once)
            pages.about_to_lend(reinterpret_cast<void *>(4 * area + at), sent_at_once);
    for (unsigned i = 0; i < 100; ++i)
        for (std::size_t at = area; at > 0; at -= 65536)
            pages.about_to_lend(reinterpret_cast<void *>(8 * area + at - 65536), 65536);
    EXPECT_TRUE(gathered.empty());
}

TEST_F(HugePagesTest, areas_lent_in_turn_are_counted_each)
{
    for (unsigned i = 0; i <= huge_pages::worth; ++i) lend(4 * area, 16 * area);
    ASSERT_EQ(gathered.size(), 16u);
    EXPECT_EQ(gathered.front(), 4 * area);
    EXPECT_EQ(gathered.back(), 19 * area);
}

TEST_F(HugePagesTest, a_failure_is_not_repeated_at_once_and_many_are_the_last)
{
    result = EAGAIN;
    lend(4 * area, area, huge_pages::worth + huge_pages::again);
    EXPECT_EQ(gathered.size(), 1u);
    lend(8 * area, (huge_pages::patience - 2) * area, huge_pages::worth + 1);
    EXPECT_FALSE(pages.given_up());
    result = 0;
    lend(100 * area, area, huge_pages::worth + 1);
    result = EAGAIN;
    lend(200 * area, (huge_pages::patience - 1) * area, huge_pages::worth + 1);
    EXPECT_FALSE(pages.given_up()); // one had succeeded in between
    lend(300 * area, area, huge_pages::worth + 1);
    EXPECT_TRUE(pages.given_up());
    gathered.clear();
    lend(400 * area, area, 10 * huge_pages::worth);
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
    lend(8 * area, huge_pages::patience * area, huge_pages::worth + 1);
    EXPECT_TRUE(pages.given_up());
    EXPECT_EQ(gathered.size(), std::size_t(huge_pages::patience / huge_pages::slow_counts));
}

// Of the mapping that begins at `at`, in KB, by the kernel's word for it.
std::size_t kilobytes(const char *field, const void *at)
{
    std::ifstream file("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(file, line);) {
        std::uintptr_t from, to;
        if (std::sscanf(line.c_str(), "%zx-%zx ", &from, &to) == 2) here = from == reinterpret_cast<std::uintptr_t>(at);
        if (here && line.starts_with(field)) return std::stoul(line.substr(line.find(':') + 1));
    }
    return 0;
}

// Shared or private memory of 8 MB, aligned, that is filled page by page. Around it none can be accessed, so that it is
// a mapping of its own.
struct memory {
    static constexpr std::size_t bytes = 4 * area, around = bytes + 2 * area;
    std::byte *room, *at;
    explicit memory(bool shared)
    {
        room = static_cast<std::byte *>(
            mmap(nullptr, around, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        const std::size_t into = area - reinterpret_cast<std::uintptr_t>(room) % area;
        const int file = shared ? memfd_create("pages", MFD_CLOEXEC) : -1;
        if (shared) {
            EXPECT_EQ(ftruncate(file, bytes), 0);
        }
        at = static_cast<std::byte *>(mmap(room + into, bytes, PROT_READ | PROT_WRITE,
                                           MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS), file, 0));
        if (shared) close(file);
        for (std::size_t i = 0; i < bytes; ++i) at[i] = std::byte(i / 4096 * 7 + i);
    }
    ~memory() { munmap(room, around); }
    memory(const memory &) = delete;
    memory &operator=(const memory &) = delete;
    bool unharmed() const
    {
        for (std::size_t i = 0; i < bytes; ++i)
            if (at[i] != std::byte(i / 4096 * 7 + i)) return false;
        return true;
    }
};

// The word in brackets.
std::string chosen_in(const char *file)
{
    std::string line;
    std::getline(std::ifstream(std::string("/sys/kernel/mm/transparent_hugepage/") + file), line);
    const std::size_t from = line.find('[');
    return from == std::string::npos ? "" : line.substr(from + 1, line.find(']') - from - 1);
}

// Why the kernel need not gather anything; empty: it has to. Shared memory it may refuse where it is given none.
std::string excuse(bool shared)
{
    utsname u{};
    uname(&u);
    int major = 0, minor = 0;
    std::sscanf(u.release, "%d.%d", &major, &minor);
    if (major < 6 || (major == 6 && minor < 1)) return "a kernel before 6.1";
    const std::string chosen = chosen_in(shared ? "shmem_enabled" : "enabled");
    if (chosen.empty()) return "a kernel without huge pages";
    return chosen == "never" || chosen == "deny" ? "huge pages are switched off: " + chosen : "";
}

TEST(HugePagesOfTheKernel, memory_that_is_lent_again_and_again_lies_in_huge_pages_and_is_unharmed)
{
    for (bool shared : {false, true}) {
        memory m(shared), other(shared);
        if (const int error = huge_pages::gather_by_kernel(other.at, area)) {
            const std::string why = error == ENOMEM ? "no huge page is free" : excuse(shared);
            ASSERT_NE(why, "") << std::strerror(error);
            GTEST_SKIP() << (shared ? "shared memory: " : "private memory: ") << why;
        }
        const char *field = shared ? "ShmemPmdMapped" : "AnonHugePages";
        huge_pages pages;
        for (unsigned i = 0; i <= huge_pages::worth; ++i) {
            EXPECT_EQ(kilobytes(field, m.at), 0u);
            for (std::size_t n = 0; n < memory::bytes; n += 65536) pages.about_to_lend(m.at + n, 65536);
        }
        EXPECT_EQ(kilobytes(field, m.at), memory::bytes / 1024);
        EXPECT_TRUE(m.unharmed());
    }
}

TEST(HugePagesOfTheKernel, a_process_that_has_switched_them_off_gets_none)
{
    ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
    for (bool shared : {false, true}) EXPECT_NE(huge_pages::gather_by_kernel(memory(shared).at, area), 0);
    EXPECT_EQ(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
}

} // namespace
