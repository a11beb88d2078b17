// SPDX-License-Identifier: Apache-2.0
#include "driver/plot.hpp"
#include "tune/choice.hpp"
#include "tune/experiment.hpp"

#include <gtest/gtest.h>
#include <random>

using namespace bench;

namespace {

// Scores of a value that is `good` times the usual one, on a machine of that noise.
tried_value measured(std::uint32_t value, double good, double noise, unsigned seed, unsigned turns = 7)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> wave(0, noise);
    tried_value c{value, {}};
    for (unsigned i = 0; i < turns; i++) c.scores.push_back(good * std::exp(wave(random)));
    return c;
}

TEST(tune_choice, takes_what_is_clearly_better)
{
    const choice c = choose({measured(1, 0.5, 0.01, 1), measured(2, 1, 0.01, 2), measured(4, 1.4, 0.01, 3)}, 2);
    EXPECT_EQ(c.value, 4u);
    EXPECT_NEAR(c.gain, 0.4, 0.05);
    EXPECT_GE(c.noise, least_gain);
}

TEST(tune_choice, keeps_the_usual_value_for_a_small_gain)
{
    EXPECT_EQ(choose({measured(2, 1, 0.001, 2), measured(4, 1.02, 0.001, 3)}, 2).value, 2u);
    EXPECT_EQ(choose({measured(2, 1, 0.001, 2)}, 2).gain, 0);
}

TEST(tune_choice, keeps_the_usual_value_when_all_are_the_same_and_the_machine_is_noisy)
{
    unsigned changed = 0;
    for (unsigned seed = 0; seed < 300; seed++) {
        std::vector<tried_value> all;
        for (unsigned i = 0; i < 7; i++) all.push_back(measured(1u << i, 1, 0.2, 100 * seed + i));
        changed += choose(all, 8).value != 8;
    }
    EXPECT_LT(changed, 30u) << "of 300";
    RecordProperty("changed", int(changed));
}

TEST(tune_choice, is_not_deceived_by_one_wild_turn)
{
    tried_value usual{2, {1, 1, 1, 1, 1}}, lucky{4, {1, 9, 1, 1, 1}}, unlucky{8, {2, 2, 2, 0.1, 2}};
    EXPECT_EQ(choose({usual, lucky}, 2).value, 2u);
    EXPECT_EQ(choose({usual, unlucky}, 2).value, 8u);
}

TEST(tune_choice, takes_of_a_plateau_what_is_nearest_to_the_usual_value)
{
    const std::vector<double> one(5, 1), high(5, 1.5), higher(5, 1.505);
    EXPECT_EQ(choose({{2, one}, {16, high}, {64, higher}, {256, higher}}, 2).value, 16u);
    EXPECT_EQ(choose({{2, higher}, {16, high}, {64, one}}, 64).value, 16u);
}

TEST(tune_choice, needs_the_usual_value)
{
    EXPECT_THROW(choose({{1, {1, 1}}}, 2), std::logic_error);
    EXPECT_THROW(choose({{1, {1, 1}}, {2, {1}}}, 2), std::logic_error);
}

TEST(tune_choice, finds_the_size_from_which_the_other_way_is_better)
{
    const times_by_size carried = {{256, 1}, {1024, 2}, {4096, 8}, {16384, 40}},
                        pulled = {{256, 4}, {1024, 4}, {4096, 5}, {16384, 9}};
    const auto all = switches({carried, carried, carried}, {pulled, pulled, pulled}, 0);
    ASSERT_EQ(all.size(), 5u);
    EXPECT_EQ(choose(all, 16384).value, 1024u);
    EXPECT_EQ(choose(all, 1024).value, 1024u);
    EXPECT_EQ(choose(switches({carried}, {carried}, 0), 4096).value, 4096u) << "it makes no difference";
}

TEST(tune_choice, goes_no_further_down_than_is_legal)
{
    const times_by_size carried = {{1024, 6}, {4096, 8}, {8192, 9}}, pulled = {{1024, 4}, {4096, 5}, {8192, 6}};
    EXPECT_EQ(choose(switches({carried, carried}, {pulled, pulled}, 512), 8192).value, 512u);
}

TEST(tune_experiments, try_legal_values_only_and_the_default_among_them)
{
    for (bool quick : {false, true})
        for (onesea::path_kind kind : onesea::all_paths) {
            const auto all = experiments_for(kind, quick, {});
            EXPECT_EQ(all.size(), kind == onesea::path_kind::shm ? 4u : 5u);
            for (const auto &e : all) {
                for (std::uint32_t v : e.values) EXPECT_EQ(onesea::what_is_wrong(*e.what, v), "") << e.what->name;
                const std::uint32_t usual = onesea::profile{}.of(kind).*(e.what->value);
                bool there = false;
                for (std::uint32_t v : e.values) there |= v == usual;
                for (const auto &c : e.cases) there |= e.crossing && c.number == usual;
                EXPECT_TRUE(there) << e.what->name;
            }
        }
    EXPECT_EQ(experiments_for(onesea::path_kind::shm, true, {"batch"}).size(), 0u) << "nothing waits there";
    EXPECT_EQ(experiments_for(onesea::path_kind::ethernet, true, {"batch", "eager"}).size(), 2u);
}

TEST(text_plot, shows_every_curve_and_what_is_marked)
{
    const std::string text = text_plot("t", "u", {{"one", {{1024, 1}, {4096, 10}}, 4096}, {"two", {{1024, 3}}, 0}});
    EXPECT_EQ(text.substr(0, 6), "t (u)\n");
    EXPECT_NE(text.find("a one, # chosen: 4 KB"), std::string::npos) << text;
    EXPECT_NE(text.find("b two\n"), std::string::npos) << text;
    const std::string drawing = text.substr(0, text.find("\n  a "));
    EXPECT_EQ(std::count(drawing.begin(), drawing.end(), '#'), 1) << text;
    EXPECT_NE(drawing.find("|a"), std::string::npos) << text;
    EXPECT_NE(drawing.find("|b"), std::string::npos) << text;
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        EXPECT_LE(end - at, 80u);
    EXPECT_NE(text_plot("t", "u", {}).find("nothing was measured"), std::string::npos);
    EXPECT_NE(text_plot("t", "u", {{"flat", {{8, 1}}, 0}}).find('a'), std::string::npos);
}

} // namespace
