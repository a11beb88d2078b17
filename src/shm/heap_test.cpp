// SPDX-License-Identifier: Apache-2.0
#include "shm/heap.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using onesea::shm::heap;

namespace {

class HeapTest : public ::testing::Test {
  protected:
    static constexpr std::uint64_t size = 1 << 20;
    std::byte *meta_ = nullptr;
    void SetUp() override
    {
        void *p = mmap(nullptr, onesea::shm::heap_meta_bytes(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0);
        ASSERT_NE(p, MAP_FAILED);
        meta_ = static_cast<std::byte *>(p);
        heap::format(meta_, size);
    }
    void TearDown() override { munmap(meta_, onesea::shm::heap_meta_bytes(size)); }
};

TEST_F(HeapTest, gives_aligned_memory_that_does_not_start_at_zero)
{
    heap h(meta_);
    auto a = h.allocate(1), b = h.allocate(65);
    EXPECT_NE(a, 0u);
    EXPECT_EQ(a % 64, 0u);
    EXPECT_EQ(b, a + 64);
    EXPECT_TRUE(h.contains(a, 64));
    EXPECT_FALSE(h.contains(a, 65)); // the neighbour is another allocation
    EXPECT_TRUE(h.contains(b + 100, 28));
    EXPECT_FALSE(h.contains(b + 100, 29));
    EXPECT_TRUE(h.consistent());
}

TEST_F(HeapTest, refuses_zero_too_much_and_stray_frees)
{
    heap h(meta_);
    EXPECT_EQ(h.allocate(0), 0u);
    EXPECT_EQ(h.allocate(size), 0u); // the reserved granules are missing
    auto a = h.allocate(1000);
    EXPECT_FALSE(h.release(a + 64));
    EXPECT_FALSE(h.release(a + 1));
    EXPECT_FALSE(h.release(0));
    EXPECT_FALSE(h.release(size * 8));
    EXPECT_TRUE(h.release(a));
    EXPECT_FALSE(h.release(a));
    EXPECT_FALSE(h.contains(a, 1));
    EXPECT_EQ(h.used(), 0u);
}

TEST_F(HeapTest, contains_no_more_than_one_allocation_whatever_is_asked)
{
    heap h(meta_);
    const auto a = h.allocate(640), b = h.allocate(64);
    ASSERT_EQ(b, a + 640);
    EXPECT_TRUE(h.contains(a, 640));
    EXPECT_FALSE(h.contains(a, 641));
    EXPECT_TRUE(h.contains(a + 64, 576));
    EXPECT_FALSE(h.contains(a + 64, 577));
    for (const std::uint64_t at : {a, a + 10, b, std::uint64_t(size - 1), std::uint64_t(size)})
        for (const std::uint64_t bytes : {UINT64_MAX, UINT64_MAX - at + 1, UINT64_MAX - at + 2, std::uint64_t(size)})
            EXPECT_FALSE(h.contains(at, bytes)) << at << " " << bytes;
}

TEST_F(HeapTest, finds_its_allocations_in_order)
{
    heap h(meta_);
    EXPECT_EQ(h.next(0), 0u);
    const auto a = h.allocate(1000), gap = h.allocate(100000), b = h.allocate(64);
    EXPECT_TRUE(h.release(gap));
    EXPECT_EQ(h.next(0), a);
    EXPECT_EQ(h.next(a), a);
    EXPECT_EQ(h.next(a + 1), b);
    EXPECT_EQ(h.next(a + 64), b);
    EXPECT_EQ(h.next(b), b);
    EXPECT_EQ(h.next(b + 64), 0u);
    EXPECT_EQ(h.next(size), 0u);
    EXPECT_EQ(h.next(~std::uint64_t(0)), 0u);
    EXPECT_TRUE(h.release(b));
    EXPECT_EQ(h.next(a + 64), 0u);
    EXPECT_TRUE(h.release(a));
    EXPECT_EQ(h.next(0), 0u);
    const auto all = h.allocate(size - 1024);
    EXPECT_EQ(h.next(0), all);
}

TEST_F(HeapTest, gives_the_last_byte_and_merges_all_back)
{
    heap h(meta_);
    auto whole = h.largest_free();
    auto a = h.allocate(whole);
    ASSERT_NE(a, 0u);
    EXPECT_EQ(h.allocate(1), 0u);
    EXPECT_TRUE(h.release(a));
    EXPECT_EQ(h.largest_free(), whole);
}

void random_traffic(heap &h, unsigned seed, int steps)
{
    std::mt19937 random(seed);
    std::map<std::uint64_t, std::uint64_t> taken;
    for (int i = 0; i < steps; ++i) {
        if (random() % 3) {
            std::uint64_t bytes = 1 + random() % (1u << (random() % 16));
            if (auto at = h.allocate(bytes)) {
                auto after = taken.lower_bound(at);
                ASSERT_TRUE(after == taken.end() || at + bytes <= after->first);
                ASSERT_TRUE(after == taken.begin() || std::prev(after)->first + std::prev(after)->second <= at);
                taken[at] = bytes;
            }
        } else if (!taken.empty()) {
            auto victim = std::next(taken.begin(), long(random() % taken.size()));
            ASSERT_TRUE(h.release(victim->first));
            taken.erase(victim);
        }
    }
    ASSERT_TRUE(h.consistent());
    for (auto &[at, bytes] : taken) ASSERT_TRUE(h.release(at));
}

TEST_F(HeapTest, never_hands_out_overlapping_memory)
{
    heap h(meta_);
    for (unsigned seed = 0; seed < 40; ++seed) random_traffic(h, seed, 2000);
    EXPECT_EQ(h.used(), 0u);
    EXPECT_TRUE(h.consistent());
}

TEST_F(HeapTest, rebuilds_its_lists_from_the_marks)
{
    heap h(meta_);
    auto a = h.allocate(5000), b = h.allocate(70), c = h.allocate(300);
    h.release(b);
    auto used = h.used();
    h.damage_for_test();
    auto d = h.allocate(64); // repairs first
    EXPECT_EQ(h.used(), used + 64);
    EXPECT_TRUE(h.consistent());
    EXPECT_TRUE(h.release(a) && h.release(c) && h.release(d));
    EXPECT_TRUE(h.consistent());
}

TEST_F(HeapTest, survives_processes_killed_inside)
{
    for (unsigned round = 0; round < 30; ++round) {
        pid_t child = fork();
        if (child == 0) {
            heap mine(meta_);
            for (unsigned i = 0;; ++i) {
                auto p = mine.allocate(1 + (i * 977) % 3000);
                if (p && i % 4) mine.release(p);
            }
        }
        usleep(2000 + round * 137);
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        heap h(meta_);
        ASSERT_TRUE(h.consistent()) << "round " << round;
    }
}

} // namespace
