// SPDX-License-Identifier: Apache-2.0
#include "driver/figures.hpp"
#include "driver/picture.hpp"
#include "driver/table.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace bench;

namespace {

figure some_figure()
{
    figure f{"rma", "get", "net", "waiting", "auth", 8, 2, "latency_us"};
    summarise(f, {{5.0, 9.0}, {6.0, 30.0}, {5.2, 8.0}});
    const std::vector<run_result> floor = {{4.0, 5}, {4.2, 5}, {4.1, 5}}, slow = {{14, 20}}, fast = {{10, 20}};
    compare(f, {"udp_rtt", "floor", ""}, &floor);
    compare(f, {"mpich", "peer", "4.0.2"}, &slow);
    compare(f, {"openmpi", "peer", "4.1.4"}, &fast);
    return f;
}

} // namespace

TEST(figures, median_is_the_middle_or_the_mean_of_the_middle_two)
{
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
    EXPECT_EQ(median({7}), 7);
}

TEST(figures, summary_takes_the_median_of_the_runs_medians_and_of_their_tails)
{
    const figure f = some_figure();
    EXPECT_EQ(f.median, 5.2);
    EXPECT_EQ(f.min, 5.0);
    EXPECT_EQ(f.max, 6.0);
    EXPECT_EQ(f.p99, 9.0);
    EXPECT_EQ(f.runs, 3u);
}

TEST(figures, ratio_is_this_median_divided_by_the_others)
{
    const figure f = some_figure();
    ASSERT_EQ(f.against.size(), 3u);
    for (const auto &r : f.against) EXPECT_DOUBLE_EQ(r.ratio, f.median / r.median) << r.name;
    EXPECT_DOUBLE_EQ(f.against[0].median, 4.1);
}

TEST(figures, ratio_of_turns_is_the_median_of_what_was_measured_in_the_same_turn)
{
    series_table series;
    const series_key ours{"onesea", "get", "latency_us", 8}, other{"mpich", "get", "latency_us", 8};
    const auto measured = [&](double us, double of_other) {
        series.begin_turn();
        series.add(ours, {us, us});
        if (of_other > 0) series.add(other, {of_other, of_other});
    };
    measured(5, 10);
    measured(10, 0); // the other failed
    measured(10, 20);
    measured(10, 10);
    measured(5, 10);
    figure f;
    summarise(f, *series.find(ours));
    compare(f, {"mpich", "peer", ""}, series.find(other));
    EXPECT_DOUBLE_EQ(f.against[0].ratio, 1);
    EXPECT_DOUBLE_EQ(f.against[0].turn_ratio, 0.5);
    EXPECT_EQ(nlohmann::json::parse(json_line(f, {}))["against"][0]["turn_ratio"], 0.5);

    const auto half = scaled(series.find(other), 0.5);
    ASSERT_EQ(half.size(), 4u);
    EXPECT_EQ(half[1].turn, series.find(other)->at(1).turn);
    EXPECT_EQ(half[1].median, 10);
    EXPECT_TRUE(scaled(nullptr, 2).empty());
}

TEST(figures, a_rival_that_was_in_no_turn_has_no_ratio_of_turns)
{
    series_table series;
    const series_key ours{"onesea", "get", "latency_us", 8}, other{"mpich", "get", "latency_us", 8};
    series.begin_turn();
    series.add(ours, {1, 1});
    series.begin_turn();
    series.add(other, {2, 2});
    figure f;
    summarise(f, *series.find(ours));
    compare(f, {"mpich", "peer", ""}, series.find(other));
    EXPECT_EQ(f.against[0].turn_ratio, 0);
    EXPECT_FALSE(nlohmann::json::parse(json_line(f, {}))["against"][0].contains("turn_ratio"));
    EXPECT_NE(table({f}).find("0.50\n"), std::string::npos);
}

TEST(figures, a_rival_without_runs_is_left_out)
{
    figure f = some_figure();
    const std::vector<run_result> none;
    compare(f, {"a", "peer", ""}, nullptr);
    compare(f, {"b", "peer", ""}, &none);
    EXPECT_EQ(f.against.size(), 3u);
}

TEST(figures, best_peer_is_the_least_latency_and_the_most_bandwidth)
{
    figure f = some_figure();
    EXPECT_EQ(best_peer_of(f)->name, "openmpi");
    f.metric = "bandwidth_gbs";
    EXPECT_EQ(best_peer_of(f)->name, "mpich");
    EXPECT_EQ(floor_of(f)->name, "udp_rtt");
    f.against.clear();
    EXPECT_EQ(best_peer_of(f), nullptr);
    EXPECT_EQ(floor_of(f), nullptr);
}

TEST(figures, of_ways_to_do_the_same_only_the_best_stands_beside_a_figure)
{
    const std::vector<run_result> little = {{2, 2}, {3, 3}, {4, 4}}, much = {{1, 1}, {3.5, 3.5}, {9, 9}};
    const auto beside = [&](const char *metric, const std::vector<run_result> *first) {
        figure f{"patterns", "in", "net", "waiting", "auth", 8, 8, metric};
        summarise(f, {{7, 7}});
        compare_best(f, {{{"tcp", "floor", "first"}, first}, {{"tcp", "floor", "second"}, &much}});
        EXPECT_EQ(f.against.size(), 1u);
        return f.against.at(0);
    };
    EXPECT_EQ(beside("bandwidth_gbs", &little).version, "second");
    EXPECT_EQ(beside("bandwidth_gbs", &little).ratio, 2);
    EXPECT_EQ(beside("latency_us", &little).version, "first");
    EXPECT_EQ(beside("latency_us", nullptr).version, "second");

    figure f{"patterns", "in", "net", "waiting", "auth", 8, 8, "bandwidth_gbs"};
    compare_best(f, {{{"tcp", "floor", ""}, nullptr}});
    EXPECT_TRUE(f.against.empty());
}

TEST(figures, json_line_has_the_documented_fields_in_order_and_no_newline)
{
    const std::string line = json_line(some_figure(), {"a processor, Linux", true});
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto parsed = nlohmann::ordered_json::parse(line);
    std::vector<std::string> names;
    for (const auto &[name, value] : parsed.items()) names.push_back(name);
    EXPECT_EQ(names,
              (std::vector<std::string>{"bench", "case", "path", "target", "secure", "bytes", "ranks", "metric",
                                        "median", "min", "max", "p99", "runs", "machine", "trained", "against"}));
    EXPECT_EQ(parsed["machine"], "a processor, Linux");
    EXPECT_EQ(parsed["trained"], true);
    EXPECT_EQ(parsed["median"], 5.2);
    EXPECT_EQ(parsed["bytes"], 8);
    EXPECT_FALSE(parsed["against"][0].contains("version"));
    EXPECT_EQ(parsed["against"][1]["version"], "4.0.2");
    EXPECT_EQ(parsed["against"][1]["kind"], "peer");
}

TEST(figures, a_rival_has_the_median_of_its_runs_tails_beside_that_of_their_medians)
{
    const std::vector<run_result> floor = {{4, 9}, {5, 30}, {6, 11}};
    figure f;
    f.median = 10;
    compare(f, {"udp_rtt", "floor", ""}, &floor);
    EXPECT_EQ(floor_of(f)->median, 5);
    EXPECT_EQ(floor_of(f)->p99, 11);
    const auto parsed = nlohmann::json::parse(json_line(f, {}));
    EXPECT_EQ(parsed["against"][0]["p99"], 11);
    EXPECT_EQ(parsed["against"][0]["ratio"], 2);
}

TEST(figures, series_takes_result_lines_and_passes_over_everything_else)
{
    series_table series;
    const std::string output = "hello\nresult get latency_us 8 5.5 9.25 1000\nresult get latency_us\n"
                               "result put latency_us 8 -1 2 5\nresult put latency_us 8 nan 2 5\nresult x y 8 1 1 0\n";
    EXPECT_EQ(series.add_lines("onesea", output), 1u);
    const auto *runs = series.find({"onesea", "get", "latency_us", 8});
    ASSERT_NE(runs, nullptr);
    EXPECT_EQ(runs->at(0).median, 5.5);
    EXPECT_EQ(runs->at(0).p99, 9.25);
    EXPECT_EQ(series.find({"onesea", "put", "latency_us", 8}), nullptr);
}

TEST(table, columns_are_aligned_and_absent_rivals_are_a_dash)
{
    figure bare = some_figure();
    bare.name = "a_long_case_name";
    bare.against.clear();
    std::istringstream lines(table({some_figure(), bare}));
    std::string header, first, second;
    std::getline(lines, header);
    std::getline(lines, first);
    std::getline(lines, second);
    EXPECT_EQ(header.find("path"), first.find("net"));
    EXPECT_EQ(header.find("floor"), first.find("udp_rtt"));
    EXPECT_EQ(header.find("floor"), second.find(" -") + 1);
    EXPECT_NE(first.find("1.27"), std::string::npos) << first;
    EXPECT_NE(first.find("openmpi"), std::string::npos);
}

TEST(table, numbers_have_three_digits_and_sizes_their_unit)
{
    EXPECT_EQ(number_text(0.0042), "0.00420");
    EXPECT_EQ(number_text(5.123), "5.12");
    EXPECT_EQ(number_text(1234.5), "1234");
    EXPECT_EQ(number_text(0), "0");
    EXPECT_EQ(size_text(8), "8 B");
    EXPECT_EQ(size_text(1048576), "1 MB");
    EXPECT_EQ(size_text(1500), "1500 B");
    EXPECT_EQ(ranks_text(1), "1 rank");
    EXPECT_EQ(ranks_text(4), "4 ranks");
}

TEST(picture, every_value_is_drawn_and_text_is_escaped)
{
    const auto svg = bar_picture("a < b & c", "us", {"one", "two"}, {{"g1", {1, 10}}, {"g2", {100, 0}}});
    EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
    std::size_t bars = 0;
    for (auto at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1)) bars++;
    EXPECT_EQ(bars, 3u);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.rfind("</svg>\n"), svg.size() - 7);
}

TEST(picture, curves_of_nothing_are_still_a_picture)
{
    const auto svg = curve_picture("empty", "GB/s", {{"none", {}}});
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    const auto one = curve_picture("one", "GB/s", {{"c", {{8, 0.5}, {1048576, 12}}}});
    EXPECT_NE(one.find("256 KB"), std::string::npos);
    EXPECT_NE(one.find("<polyline points=\"7"), std::string::npos);
}
