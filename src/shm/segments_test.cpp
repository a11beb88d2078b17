// SPDX-License-Identifier: Apache-2.0
#include "shm/segments.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/mman.h>

using namespace onesea::shm;

namespace {

class SegmentsTest : public ::testing::Test {
  protected:
    void SetUp() override
    {
        void *p = mmap(nullptr, segment_table_bytes(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ASSERT_NE(p, MAP_FAILED);
        table_ = static_cast<std::byte *>(p);
    }
    void TearDown() override { munmap(table_, segment_table_bytes()); }
    std::byte *table_ = nullptr;
};

TEST_F(SegmentsTest, finds_exactly_the_bytes_that_were_registered)
{
    segments s(table_);
    char memory[100];
    auto at = s.add(memory, sizeof memory, 0);
    ASSERT_GE(at, segments_from);
    EXPECT_TRUE(s.find(at, 100));
    EXPECT_TRUE(s.find(at + 99, 1));
    EXPECT_FALSE(s.find(at, 101));
    EXPECT_FALSE(s.find(at + 100, 1));
    EXPECT_FALSE(s.find(at - 1, 1));
    EXPECT_FALSE(s.find(0, 1));
    EXPECT_FALSE(s.at_start(at + 1));
    s.remove(s.at_start(at));
    EXPECT_FALSE(s.find(at, 1));
}

TEST_F(SegmentsTest, other_processes_see_the_same_through_their_own_object)
{
    segments owner(table_);
    char memory[10];
    auto at = owner.add(memory, sizeof memory, 1);
    segments reader(table_);
    auto *found = reader.find(at + 5, 5);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->flags, 1u);
    EXPECT_EQ(found->memory, reinterpret_cast<std::uint64_t>(memory));
}

TEST_F(SegmentsTest, the_newest_of_overlapping_registrations_names_an_address)
{
    segments s(table_);
    char memory[100];
    auto first = s.add(memory, 100, 0), second = s.add(memory + 10, 50, 0);
    EXPECT_EQ(s.holding(memory + 20)->offset, second);
    EXPECT_EQ(s.holding(memory + 70)->offset, first);
    EXPECT_EQ(s.holding(memory + 100), nullptr);
    s.remove(s.at_start(second));
    EXPECT_EQ(s.holding(memory + 20)->offset, first);
}

TEST_F(SegmentsTest, refuses_what_does_not_fit_and_reuses_what_was_given_back)
{
    segments s(table_);
    char memory[1];
    EXPECT_EQ(s.add(memory, std::uint64_t(1) << 40, 0), 0u);
    auto half = s.add(memory, std::uint64_t(1) << 38, 0);
    auto other = s.add(memory, std::uint64_t(1) << 38, 0);
    ASSERT_TRUE(half && other);
    EXPECT_EQ(s.add(memory, 1, 0), 0u);
    auto *gone = s.at_start(half);
    s.remove(gone);
    s.forget(gone);
    EXPECT_NE(s.add(memory, 1, 0), 0u);
}

TEST_F(SegmentsTest, what_is_removed_keeps_its_place_until_it_is_forgotten)
{
    segments s(table_), reader(table_);
    char memory[1];
    constexpr std::uint64_t bytes = 3 << slice_shift;
    const auto at = s.add(memory, bytes, 0);
    EXPECT_FALSE(s.removed_at(at));
    segment *gone = s.at_start(at);
    s.remove(gone);
    EXPECT_FALSE(reader.find(at, 1));
    EXPECT_FALSE(s.at_start(at));
    EXPECT_FALSE(s.holding(memory));
    EXPECT_EQ(s.removed_at(at), gone);
    EXPECT_FALSE(s.removed_at(at + (1 << slice_shift)));
    EXPECT_FALSE(s.removed_at(0));
    EXPECT_FALSE(s.removed_at(std::uint64_t(1) << 40));
    EXPECT_EQ(s.add(memory, 1, 0), at + bytes);
    s.forget(gone);
    EXPECT_FALSE(s.removed_at(at));
    EXPECT_EQ(s.add(memory, bytes, 0), at);
    EXPECT_TRUE(reader.find(at, bytes));
}

TEST_F(SegmentsTest, stays_right_under_random_registrations)
{
    segments s(table_);
    std::mt19937_64 random(5);
    static char memory[1 << 20];
    std::map<std::uint64_t, std::uint64_t> model;
    for (int i = 0; i < 20000; ++i) {
        if (model.size() < 300 && random() % 2) {
            std::uint64_t bytes = 1 + random() % (std::uint64_t(1) << (random() % 30));
            auto at = s.add(memory, bytes, 0);
            ASSERT_NE(at, 0u);
            auto next = model.lower_bound(at);
            ASSERT_TRUE(next == model.end() || at + bytes <= next->first);
            ASSERT_TRUE(next == model.begin() || std::prev(next)->first + std::prev(next)->second <= at);
            model[at] = bytes;
        } else if (!model.empty()) {
            auto victim = std::next(model.begin(), long(random() % model.size()));
            ASSERT_TRUE(s.find(victim->first, victim->second));
            auto *gone = s.at_start(victim->first);
            s.remove(gone);
            s.forget(gone);
            ASSERT_FALSE(s.find(victim->first, 1));
            model.erase(victim);
        }
    }
}

TEST_F(SegmentsTest, many_come_and_go_in_any_order_and_the_lowest_room_is_taken)
{
    segments s(table_);
    std::mt19937 random(5);
    std::map<std::uint64_t, std::uint64_t> live; // offset -> bytes
    constexpr std::uint64_t slice = 1 << 20;
    auto *memory = reinterpret_cast<char *>(0x100000);
    for (int i = 0; i < 20000; ++i) {
        if (live.empty() || random() % 5 < 3) {
            const std::uint64_t bytes = 1 + random() % (3 * slice);
            const auto at = s.add(memory, bytes, 0);
            ASSERT_NE(at, 0u);
            auto after = live.lower_bound(at);
            ASSERT_TRUE(after == live.end() || after->first >= at + bytes);
            ASSERT_TRUE(after == live.begin() || std::prev(after)->first + std::prev(after)->second <= at);
            live[at] = bytes;
        } else {
            auto one = live.begin();
            std::advance(one, random() % live.size());
            auto *gone = s.at_start(one->first);
            ASSERT_TRUE(gone);
            s.remove(gone);
            s.forget(gone);
            ASSERT_FALSE(s.find(one->first, 1));
            live.erase(one);
        }
    }
    for (auto [at, bytes] : live) EXPECT_TRUE(s.find(at, bytes));
    while (!live.empty()) {
        auto *gone = s.at_start(live.begin()->first);
        s.remove(gone);
        s.forget(gone);
        live.erase(live.begin());
    }
    EXPECT_EQ(s.add(memory, 1, 0), segments_from);
}

TEST_F(SegmentsTest, all_slices_can_be_registered_one_by_one)
{
    segments s(table_);
    char memory[1];
    for (std::uint32_t i = 0; i < slices; ++i)
        ASSERT_EQ(s.add(memory, 1, 0), segments_from + (std::uint64_t(i) << slice_shift));
    EXPECT_EQ(s.add(memory, 1, 0), 0u);
}

} // namespace
