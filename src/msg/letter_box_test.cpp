// SPDX-License-Identifier: Apache-2.0
#include "msg/letter_box.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

using onesea::msg::letter;
using onesea::msg::letter_box;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool keeps_deleted = false; // it is to see who uses a letter that was deleted
#else
constexpr bool keeps_deleted = true;
#endif

constexpr std::size_t some = 1 << 20;

struct LetterBox : testing::Test {
    letter_box box;
    std::vector<letter *> letters;

    void make(std::size_t n, std::size_t room)
    {
        while (n-- > 0) letters.push_back(box.make(room));
    }
    void destroy_all()
    {
        for (letter *l : letters) box.destroy(l);
        letters.clear();
    }
    ~LetterBox() override { destroy_all(); }
};

// Sanitizers end it themselves.
TEST_F(LetterBox, a_process_without_memory_for_what_has_come_ends_and_says_why)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_DEATH(box.make(SIZE_MAX / 4), "no memory for a message of [0-9]+ bytes|allocation-size");
}

TEST_F(LetterBox, a_letter_is_made_of_one_of_about_its_size_and_is_as_new)
{
    if (!keeps_deleted) GTEST_SKIP() << "the address sanitizer is on: deleted letters are not kept";
    box.keep_at_most(some);
    letter *first = box.make(8192);
    first->bytes = 8192, first->stays = true, first->lost = 1;
    box.destroy(first);
    EXPECT_NE(box.kept(), 0u);
    make(1, 100);
    make(1, 20000);
    EXPECT_NE(letters[0], first);
    EXPECT_NE(letters[1], first);
    make(1, 8300);
    EXPECT_EQ(letters[2], first);
    EXPECT_EQ(box.kept(), 0u);
    EXPECT_EQ(letters[2]->room, 8300u);
    EXPECT_EQ(letters[2]->bytes, 0u);
    EXPECT_FALSE(letters[2]->stays);
    EXPECT_EQ(letters[2]->lost, 0);
}

TEST_F(LetterBox, no_more_is_kept_than_it_may)
{
    make(1000, 8192);
    destroy_all();
    EXPECT_EQ(box.kept(), 0u); // until it is told
    box.keep_at_most(some);
    make(1000, 8192);
    destroy_all();
    EXPECT_LE(box.kept(), some);
    EXPECT_GE(box.kept(), keeps_deleted ? some / 4 * 3 : 0);
    make(2, 4 * some);
    destroy_all();
    EXPECT_LE(box.kept(), some);
    box.keep_at_most(0);
    EXPECT_EQ(box.kept(), 0u);
}

TEST_F(LetterBox, what_comes_now_is_kept_in_place_of_what_came_before)
{
    if (!keeps_deleted) GTEST_SKIP() << "the address sanitizer is on: deleted letters are not kept";
    box.keep_at_most(some);
    make(10000, 200);
    destroy_all();
    make(100, 5000);
    letter *last = letters.back();
    destroy_all();
    EXPECT_LE(box.kept(), some);
    EXPECT_EQ(box.make(5000), last);
    box.destroy(last);
}

// The address sanitizer knows where each ends.
TEST_F(LetterBox, each_has_the_room_that_was_asked_for)
{
    for (std::size_t most : {some, std::size_t(0)}) {
        box.keep_at_most(most);
        std::mt19937 random(7);
        for (int i = 0; i < 20000; ++i) {
            const std::size_t room = random() % 4 ? random() % 1000 : random() % 70000;
            letter *l = box.make(room);
            std::memset(l->data(), i, room);
            letters.push_back(l);
            if (letters.size() < 50) continue;
            std::swap(letters[random() % 50], letters.back());
            const auto *data = letters.back()->data();
            for (std::size_t k = 1; k < letters.back()->room; ++k) ASSERT_EQ(data[k], data[0]);
            box.destroy(letters.back());
            letters.pop_back();
        }
        destroy_all();
    }
}

} // namespace
