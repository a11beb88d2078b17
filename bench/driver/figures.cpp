// SPDX-License-Identifier: Apache-2.0
#include "driver/figures.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

namespace bench {
namespace {

// Five significant digits: what is printed does not pretend more than was measured.
double rounded(double value)
{
    if (value == 0 || !std::isfinite(value)) return 0;
    const double scale = std::pow(10.0, 4 - std::floor(std::log10(std::fabs(value))));
    return std::round(value * scale) / scale;
}

double median_of_turns(const std::vector<run_result> &ours, const std::vector<run_result> &others)
{
    std::vector<double> ratios;
    for (const auto &a : ours)
        for (const auto &b : others)
            if (a.turn == b.turn) ratios.push_back(a.median / b.median);
    return ratios.empty() ? 0 : median(ratios);
}

std::vector<double> each(const std::vector<run_result> &runs, double run_result::*what)
{
    std::vector<double> values;
    for (const auto &r : runs) values.push_back(r.*what);
    return values;
}

bool is_better(const figure &f, const rival &a, const rival &b)
{
    return more_is_better(f.metric) ? a.median > b.median : a.median < b.median;
}

} // namespace

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

const std::vector<run_result> *series_table::find(const series_key &key) const
{
    auto found = runs_.find(key);
    return found == runs_.end() ? nullptr : &found->second;
}

std::size_t series_table::add_lines(const std::string &source, std::string_view output)
{
    std::istringstream lines{std::string(output)};
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string tag, name, metric;
        std::size_t bytes = 0, samples = 0;
        run_result r{};
        if (!(words >> tag >> name >> metric >> bytes >> r.median >> r.p99 >> samples) || tag != "result") continue;
        if (!(r.median > 0) || samples == 0) continue;
        add({source, name, metric, bytes}, r);
        count++;
    }
    return count;
}

std::vector<run_result> scaled(const std::vector<run_result> *runs, double factor)
{
    std::vector<run_result> all;
    if (runs)
        for (const auto &r : *runs) all.push_back({r.median * factor, r.p99 * factor, r.turn});
    return all;
}

void summarise(figure &f, const std::vector<run_result> &runs)
{
    const std::vector<double> medians = each(runs, &run_result::median);
    f.median = median(medians);
    f.min = *std::min_element(medians.begin(), medians.end());
    f.max = *std::max_element(medians.begin(), medians.end());
    f.p99 = median(each(runs, &run_result::p99));
    f.runs = runs.size();
    f.of = runs;
}

void compare(figure &f, const rival &with, const std::vector<run_result> *runs)
{
    if (!runs || runs->empty()) return;
    rival &r = f.against.emplace_back(with);
    r.median = median(each(*runs, &run_result::median));
    r.p99 = median(each(*runs, &run_result::p99));
    r.ratio = f.median / r.median;
    r.turn_ratio = median_of_turns(f.of, *runs);
}

void compare_best(figure &f, const std::vector<std::pair<rival, const std::vector<run_result> *>> &ways)
{
    figure alone = f;
    alone.against.clear();
    for (const auto &[with, runs] : ways) compare(alone, with, runs);
    const rival *best = nullptr;
    for (const auto &r : alone.against)
        if (!best || is_better(f, r, *best)) best = &r;
    if (best) f.against.push_back(*best);
}

bool more_is_better(std::string_view metric) { return metric == "rate_mops" || metric == "bandwidth_gbs"; }

const rival *floor_of(const figure &f)
{
    auto found = std::find_if(f.against.begin(), f.against.end(), [](const rival &r) { return r.kind == "floor"; });
    return found == f.against.end() ? nullptr : &*found;
}

const rival *best_peer_of(const figure &f)
{
    const rival *best = nullptr;
    for (const auto &r : f.against) {
        if (r.kind != "peer") continue;
        if (!best || is_better(f, r, *best)) best = &r;
    }
    return best;
}

std::string json_line(const figure &f, const setting &on)
{
    using json = nlohmann::ordered_json;
    json against = json::array();
    for (const auto &r : f.against) {
        json entry = {{"name", r.name}, {"kind", r.kind}};
        if (!r.version.empty()) entry["version"] = r.version;
        entry["median"] = rounded(r.median);
        entry["ratio"] = rounded(r.ratio);
        if (r.turn_ratio > 0) entry["turn_ratio"] = rounded(r.turn_ratio);
        if (r.p99 > 0) entry["p99"] = rounded(r.p99);
        if (r.lost_percent >= 0) entry["lost_percent"] = rounded(r.lost_percent);
        against.push_back(entry);
    }
    const json line = {{"bench", f.bench},      {"case", f.name},        {"path", f.path},
                       {"target", f.target},    {"secure", f.secure},    {"bytes", f.bytes},
                       {"ranks", f.ranks},      {"metric", f.metric},    {"median", rounded(f.median)},
                       {"min", rounded(f.min)}, {"max", rounded(f.max)}, {"p99", rounded(f.p99)},
                       {"runs", f.runs},        {"machine", on.machine}, {"trained", on.trained},
                       {"against", against}};
    return line.dump();
}

} // namespace bench
