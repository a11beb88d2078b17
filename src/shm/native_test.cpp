// SPDX-License-Identifier: Apache-2.0
#include "shm/native.hpp"

#include "base/pages.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace onesea::shm {
namespace {

constexpr std::size_t program_pages = 80, room = program_pages * page_bytes;

// Two ranges that begin at a page; this process itself stands for the other one.
class Native : public testing::Test {
  protected:
    void SetUp() override
    {
        for (unsigned char **range : {&here_, &there_}) {
            void *m = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ASSERT_NE(MAP_FAILED, m);
            *range = static_cast<unsigned char *>(m);
        }
        for (std::size_t i = 0; i < room; ++i) data_.push_back(static_cast<unsigned char>(i * 7 + i / 251));
    }
    void TearDown() override
    {
        munmap(here_, room);
        munmap(there_, room);
    }
    unsigned char *source(bool write) const { return write ? here_ : there_; }
    unsigned char *target(bool write) const { return write ? there_ : here_; }

    int copy(std::size_t from, std::size_t to, std::size_t bytes, bool write, std::size_t *done) const
    {
        return copy_other_process(getpid(), there_ + (write ? to : from), here_ + (write ? from : to), bytes, write,
                                  done);
    }
    void begin(bool write) const
    {
        std::memcpy(source(write), data_.data(), room);
        std::memset(target(write), 0x5c, room);
    }
    // `done` bytes have come from `from` to `to`, and nothing else has changed.
    bool whole(std::size_t from, std::size_t to, std::size_t done, bool write) const
    {
        std::vector<unsigned char> expected(room, 0x5c);
        std::copy_n(data_.begin() + long(from), done, expected.begin() + long(to));
        return std::memcmp(expected.data(), target(write), room) == 0;
    }

    unsigned char *here_ = nullptr, *there_ = nullptr;
    std::vector<unsigned char> data_;
};

TEST_F(Native, copies_all_bytes_and_no_other_whatever_the_alignment)
{
    for (bool write : {false, true})
        for (std::size_t bytes : {1, 100, 4096, 8191, 8192, 8193, 65535, 65536, 65537, 131072, 200001})
            for (std::size_t to : {0, 1, 16, 31, 32, 4095})
                for (std::size_t from : {0, 1, 16, 4090}) {
                    begin(write);
                    std::size_t done = 0;
                    ASSERT_EQ(copy(from, to, bytes, write, &done), SEA_OK);
                    ASSERT_EQ(done, bytes);
                    ASSERT_TRUE(whole(from, to, bytes, write)) << bytes << " bytes from " << from << " to " << to;
                }
}

TEST_F(Native, tells_what_was_copied_before_a_bad_place_at_either_side)
{
    constexpr std::size_t good = 20 * page_bytes; // the page behind it is bad
    for (bool write : {false, true})
        for (bool bad_source : {false, true})
            for (std::size_t to : {0, 16, 31, 32}) {
                begin(write);
                unsigned char *bad = (bad_source ? source(write) : target(write)) + good;
                ASSERT_EQ(mprotect(bad, page_bytes, bad_source ? PROT_NONE : PROT_READ), 0);
                std::size_t done = 0;
                EXPECT_EQ(copy(0, to, 30 * page_bytes, write, &done), SEA_ERR_ACCESS);
                EXPECT_EQ(done, bad_source ? good : good - to);
                ASSERT_EQ(mprotect(bad, page_bytes, PROT_READ | PROT_WRITE), 0);
                EXPECT_TRUE(whole(0, to, done, write));
            }
}

TEST_F(Native, finds_a_process_dead_and_does_not_touch_the_target)
{
    const pid_t child = fork();
    if (child == 0) _exit(0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    for (bool write : {false, true}) {
        begin(write);
        std::size_t done = 1;
        EXPECT_EQ(copy_other_process(child, there_ + (write ? 16 : 0), here_ + (write ? 0 : 16), 65536, write, &done),
                  SEA_ERR_DEAD);
        EXPECT_EQ(done, 0u);
        EXPECT_TRUE(whole(0, 0, 0, write));
    }
}

TEST_F(Native, copies_pieces_in_order_of_which_some_are_where_the_kernels_copy_is_slow)
{
    constexpr std::size_t each = 5 * page_bytes;
    for (bool write : {false, true})
        for (unsigned slow = 0; slow < 16; ++slow) {
            begin(write);
            std::vector<unsigned char> expected(room, 0x5c);
            std::vector<piece> pieces;
            for (unsigned i = 0; i < 4; ++i) {
                const std::size_t from = i * each, to = from + (slow >> i & 1 ? 16 : 0);
                const std::size_t bytes = i == 2 ? 100 : each - 64;
                std::copy_n(data_.begin() + long(from), bytes, expected.begin() + long(to));
                pieces.push_back({reinterpret_cast<std::uint64_t>(there_ + (write ? to : from)) | raw_space,
                                  here_ + (write ? from : to), bytes});
            }
            std::size_t bad = 99;
            ASSERT_EQ(copy_anywhere(getpid(), pieces, write, &bad), SEA_OK);
            EXPECT_EQ(std::memcmp(expected.data(), target(write), room), 0) << slow;
        }
}

TEST_F(Native, tells_which_piece_is_bad_behind_one_where_the_kernels_copy_is_slow)
{
    const auto there = reinterpret_cast<std::uint64_t>(there_) | raw_space;
    ASSERT_EQ(mprotect(there_ + 40 * page_bytes, page_bytes, PROT_NONE), 0);
    for (std::size_t ahead : {0, 16}) {
        const piece pieces[] = {{there, here_ + ahead, 65536},
                                {there + 20 * page_bytes, here_ + 20 * page_bytes, 100},
                                {there + 38 * page_bytes, here_ + 38 * page_bytes + ahead, 65536},
                                {there + 60 * page_bytes, here_ + 60 * page_bytes, 100}};
        std::size_t bad = 99;
        EXPECT_EQ(copy_anywhere(getpid(), pieces, false, &bad), SEA_ERR_ADDRESS);
        EXPECT_EQ(bad, 2u);
    }
}

} // namespace
} // namespace onesea::shm
