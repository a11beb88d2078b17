// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <gtest/gtest.h>
#include <vector>

using acp::options;

namespace {

struct arguments {
    std::vector<std::string> words;
    std::vector<char *> pointers;
    int count;
    explicit arguments(std::vector<std::string> w) : words(std::move(w)), count(int(words.size()))
    {
        for (std::string &word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
    }
    bool take(options *found, std::string *problem)
    {
        char **argv = pointers.data();
        return acp::take_options(&count, &argv, found, problem);
    }
    std::vector<std::string> left() const { return {pointers.begin(), pointers.begin() + count}; }
};

} // namespace

TEST(options, are_taken_out_and_the_rest_stays_in_order)
{
    arguments a({"prog", "x", "--acp-startermemsize=64K", "-v", "--acp-envnet", "udp", "--acp-ethspeed=10", "y"});
    options found;
    std::string problem;
    ASSERT_TRUE(a.take(&found, &problem)) << problem;
    EXPECT_EQ(found.starter_bytes, 65536u);
    EXPECT_EQ(a.left(), (std::vector<std::string>{"prog", "x", "-v", "y"}));
    EXPECT_EQ(a.pointers[4], nullptr);
}

TEST(options, may_have_their_value_as_the_next_word)
{
    arguments a({"prog", "--acp-startermemsize", "4096"});
    options found;
    std::string problem;
    ASSERT_TRUE(a.take(&found, &problem)) << problem;
    EXPECT_EQ(found.starter_bytes, 4096u);
    EXPECT_EQ(a.count, 1);
}

TEST(options, that_are_unknown_or_wrong_are_named_and_change_nothing)
{
    for (const char *bad : {"--acp-nonsense=1", "--acp-", "--acp-startermemsize", "--acp-startermemsize=",
                            "--acp-startermemsize=0", "--acp-startermemsize=12Q", "--acp-startermemsize=-1"}) {
        arguments a({"prog", "x", bad});
        options found;
        std::string problem;
        EXPECT_FALSE(a.take(&found, &problem)) << bad;
        EXPECT_NE(problem.find(bad), std::string::npos) << problem;
        EXPECT_EQ(a.left(), (std::vector<std::string>{"prog", "x", bad}));
    }
}

TEST(options, of_no_arguments_are_none)
{
    options found;
    std::string problem;
    EXPECT_TRUE(acp::take_options(nullptr, nullptr, &found, &problem));
    EXPECT_EQ(found.starter_bytes, 0u);
}

TEST(sizes, have_units_and_limits)
{
    std::size_t bytes = 0;
    EXPECT_TRUE(acp::parse_size("1", &bytes) && bytes == 1);
    EXPECT_TRUE(acp::parse_size("3k", &bytes) && bytes == 3072);
    EXPECT_TRUE(acp::parse_size("2M", &bytes) && bytes == 2u << 20);
    EXPECT_TRUE(acp::parse_size("512G", &bytes) && bytes == std::size_t(512) << 30);
    for (const char *bad : {"", "x", "0", "513G", "99999999999999999999", " 1", "1 ", "+1", "1kk"})
        EXPECT_FALSE(acp::parse_size(bad, &bytes)) << bad;
}
