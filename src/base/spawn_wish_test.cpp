// SPDX-License-Identifier: Apache-2.0
#include "base/spawn_wish.hpp"

#include <gtest/gtest.h>

using namespace onesea;

namespace {

spawn_wish some_wish()
{
    return {.id = 7, .node = 3, .arguments = {"prog", "", "a b"}, .environment = {"A=", "B=c=d"}, .directory = "/x"};
}

} // namespace

TEST(spawn_wish, survives_the_way_to_the_agent)
{
    auto got = spawn_wish_from(encode(some_wish()));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->id, 7u);
    EXPECT_EQ(got->node, 3);
    EXPECT_EQ(got->arguments, some_wish().arguments);
    EXPECT_EQ(got->environment, some_wish().environment);
    EXPECT_EQ(got->directory, "/x");
    auto least = spawn_wish_from(encode(spawn_wish{}));
    ASSERT_TRUE(least);
    EXPECT_EQ(least->node, -1);
    EXPECT_TRUE(least->arguments.empty());
}

TEST(spawn_wish, every_shorter_or_longer_text_is_refused)
{
    const std::string good = encode(some_wish());
    for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(spawn_wish_from(good.substr(0, n))) << n;
    EXPECT_FALSE(spawn_wish_from(good + "x"));
    EXPECT_FALSE(spawn_wish_from(good + std::string(1, '\0')));
}

TEST(spawn_wish, counts_that_the_text_does_not_have_are_refused)
{
    std::string bytes = encode(some_wish());
    for (std::size_t at : {12, 16})
        for (unsigned char high : {1, 255}) {
            std::string bad = bytes;
            bad[at + 3] = char(high);
            EXPECT_FALSE(spawn_wish_from(bad)) << at;
        }
}

TEST(spawn_wish, what_makes_no_sense_is_refused)
{
    spawn_wish wish = some_wish();
    wish.node = -2;
    EXPECT_FALSE(spawn_wish_from(encode(wish)));
    wish = some_wish();
    wish.arguments[0].clear();
    EXPECT_FALSE(spawn_wish_from(encode(wish)));
    for (const char *setting : {"", "A", "=b"}) {
        wish = some_wish();
        wish.environment.push_back(setting);
        EXPECT_FALSE(spawn_wish_from(encode(wish))) << setting;
    }
}

TEST(spawn_answer, survives_the_way_to_the_rank)
{
    auto got = spawn_answer_from(encode(spawn_answer{.id = 9, .status = -4, .rank = -1, .text = "no such thing"}));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->id, 9u);
    EXPECT_EQ(got->status, -4);
    EXPECT_EQ(got->rank, -1);
    EXPECT_EQ(got->text, "no such thing");
    EXPECT_FALSE(spawn_answer_from("elevenbytes"));
}
