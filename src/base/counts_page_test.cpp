// SPDX-License-Identifier: Apache-2.0
#include "base/counts_page.hpp"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace onesea {
namespace {

std::int64_t size_of(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 ? info.st_size : -1;
}

std::unique_ptr<counts_page> make(int *fd, unsigned slots = 3)
{
    *fd = counts_page::create(7, slots);
    int error = 0;
    auto page = *fd >= 0 ? counts_page::map(*fd, &error) : nullptr;
    EXPECT_TRUE(page) << error;
    return page;
}

TEST(counts_page, has_no_row_before_a_rank_is_spoken_to)
{
    int fd;
    auto page = make(&fd);
    EXPECT_EQ(page->find(5), nullptr);
    EXPECT_LE(size_of(fd), 2 * 4096);
    page->row_of(5);
    EXPECT_NE(page->find(5), nullptr);
}

TEST(counts_page, grows_by_the_ranks_spoken_to_and_never_moves_a_row)
{
    int fd;
    auto page = make(&fd);
    std::set<pair_row *> rows;
    for (int rank = 0; rank < 1000; ++rank) {
        pair_row &row = page->row_of(rank * 1000);
        rows.insert(&row);
        row.counts.puts += std::uint64_t(rank);
    }
    EXPECT_EQ(rows.size(), 1000u);
    for (int rank = 0; rank < 1000; ++rank) {
        EXPECT_EQ(page->row_of(rank * 1000).counts.puts, std::uint64_t(rank));
        EXPECT_EQ(page->row_of(rank * 1000).rank, rank * 1000);
    }
    EXPECT_EQ(page->process().unrecorded, 0u);
    EXPECT_LE(size_of(fd), 2 * 4096 + 1024 * 1024);
    struct stat info;
    ASSERT_EQ(fstat(fd, &info), 0);
    EXPECT_LE(info.st_blocks * 512, 2 * 4096 + 1024 * 1024);
}

TEST(counts_page, is_seen_by_others_while_it_changes_and_after_its_writer_has_gone)
{
    int fd;
    auto page = make(&fd);
    int other = dup(fd);
    page->row_of(3).counts.bytes_out += 4096;
    page->process().forged += 2;
    const auto *seen = static_cast<const counts_header *>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, other, 0));
    ASSERT_NE(seen, MAP_FAILED);
    EXPECT_EQ(seen->pid, getpid());
    EXPECT_EQ(seen->rank, 7);
    EXPECT_EQ(seen->rows, 1u);
    EXPECT_EQ(seen->process.forged, 2u);
    ++page->process().forged;
    EXPECT_EQ(seen->process.forged, 3u);
    const std::uint64_t at = seen->rows_at;
    page.reset();
    pair_row row;
    ASSERT_EQ(pread(other, static_cast<void *>(&row), sizeof row, off_t(at)), ssize_t(sizeof row));
    EXPECT_EQ(row.rank, 3);
    EXPECT_EQ(row.counts.bytes_out, 4096u);
    munmap(const_cast<counts_header *>(seen), 4096);
    close(other);
}

TEST(counts_page, windows_are_a_power_of_two_and_lie_on_cache_lines)
{
    int fd;
    auto page = make(&fd, 5);
    EXPECT_EQ(page->windows().size(), 8u);
    EXPECT_EQ(page->owners().size(), 8u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page->windows().data()) % 64, 0u);
    page->windows()[7].puts = 1; // the last one is inside the mapping
}

TEST(counts_page, cannot_be_made_shorter)
{
    int fd;
    auto page = make(&fd);
    EXPECT_NE(ftruncate(fd, 0), 0);
    EXPECT_EQ(errno, EPERM);
}

TEST(counts_page, refuses_what_is_none)
{
    int error = 0;
    EXPECT_FALSE(counts_page::map(-1, &error));
    EXPECT_EQ(error, EBADF);
    int fd = memfd_create("test", MFD_CLOEXEC);
    EXPECT_FALSE(counts_page::map(fd, &error));
    EXPECT_EQ(error, EPROTO);
    ASSERT_EQ(ftruncate(fd, 8192), 0);
    EXPECT_FALSE(counts_page::map(fd, &error));
    EXPECT_EQ(error, EPROTO);
    close(fd);
}

// What lies behind the page in this process would have been unmapped with it.
TEST(counts_page, is_not_led_astray_by_a_stray_store_into_its_header)
{
    int fd;
    auto page = make(&fd);
    const std::size_t windows = page->windows().size();
    page->row_of(1).counts.puts += 11;
    std::vector<std::byte> stray(offsetof(counts_header, process), std::byte(0xff));
    ASSERT_EQ(pwrite(fd, stray.data(), stray.size(), 0), ssize_t(stray.size()));
    EXPECT_EQ(page->windows().size(), windows);
    EXPECT_EQ(page->owners().size(), windows);
    for (int rank = 2; rank < 200; ++rank) page->row_of(rank).counts.puts += std::uint64_t(rank);
    EXPECT_EQ(page->row_of(1).counts.puts, 11u);
    for (int rank = 2; rank < 200; ++rank) EXPECT_EQ(page->row_of(rank).counts.puts, std::uint64_t(rank));

    page = make(&fd);
    const std::uint64_t up_to_the_stack = std::uint64_t(1) << 46;
    ASSERT_EQ(pwrite(fd, &up_to_the_stack, 8, offsetof(counts_header, rows_at)), 8);
    page.reset();
}

TEST(counts_page, without_a_descriptor_counts_all_the_same)
{
    counts_page page;
    for (int rank = 0; rank < 100; ++rank) ++page.row_of(rank).counts.gets;
    EXPECT_EQ(page.row_of(99).counts.gets, 1u);
}

TEST(counts_page, goes_on_when_there_is_no_room_for_a_row)
{
    int fd = counts_page::create(0, 1), error = 0;
    int sealed = fcntl(fd, F_ADD_SEALS, F_SEAL_GROW);
    ASSERT_EQ(sealed, 0);
    auto page = counts_page::map(fd, &error);
    ASSERT_TRUE(page);
    ++page->row_of(1).counts.puts;
    ++page->row_of(1).counts.puts;
    ++page->row_of(2).counts.puts;
    EXPECT_EQ(page->process().unrecorded, 2u);
    EXPECT_EQ(page->row_of(1).counts.puts, 3u) << "they share what nobody reads";
}

} // namespace
} // namespace onesea
