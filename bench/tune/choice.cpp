// SPDX-License-Identifier: Apache-2.0
#include "tune/choice.hpp"

#include "driver/figures.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace bench {
namespace {

constexpr double as_deviation = 1.4826; // median distance from the median -> standard deviation
constexpr double wins_needed = 0.75;    // of the turns

constexpr double of_median = 1.25; // its error, as a multiple of that of a mean
constexpr double sure = 2.5;       // errors

// How far the median of these may be from what it would be with many more of them, as a part of it.
double error_of(const std::vector<double> &values)
{
    const double middle = median(values);
    std::vector<double> distances;
    for (double v : values) distances.push_back(std::fabs(v / middle - 1));
    return of_median * as_deviation * median(distances) / std::sqrt(double(values.size()));
}

struct comparison {
    std::uint32_t value;
    double gain, noise;
    bool wins;
};

// Both had a part in the noise of their ratio; with few turns either alone may seem quiet.
comparison compare_scores(const tried_value &one, const std::vector<double> &usual)
{
    if (one.scores.size() != usual.size()) throw std::logic_error("values were not measured equally often");
    std::vector<double> ratios;
    for (std::size_t i = 0; i < usual.size(); i++) ratios.push_back(one.scores[i] / usual[i]);
    const auto won = std::count_if(ratios.begin(), ratios.end(), [](double r) { return r > 1; });
    const double noise = sure * std::max(std::sqrt(2) * error_of(usual), error_of(ratios));
    return {one.value, median(ratios) - 1, std::max(least_gain, noise),
            double(won) >= wins_needed * double(ratios.size())};
}

double distance(std::uint32_t a, std::uint32_t b) { return std::fabs(std::log((a + 1.0) / (b + 1.0))); }

} // namespace

double geometric_mean(const std::vector<double> &values)
{
    double sum = 0;
    for (double v : values) sum += std::log(v);
    return std::exp(sum / double(values.size()));
}

choice choose(const std::vector<tried_value> &all, std::uint32_t usual)
{
    const auto base = std::find_if(all.begin(), all.end(), [&](const tried_value &c) { return c.value == usual; });
    if (base == all.end() || base->scores.empty()) throw std::logic_error("the usual value was not measured");
    const double noise = compare_scores(*base, base->scores).noise;
    std::vector<comparison> better;
    double best = 0;
    for (const tried_value &c : all) {
        const comparison with = compare_scores(c, base->scores);
        if (c.value == usual || !with.wins || with.gain <= with.noise) continue;
        better.push_back(with);
        best = std::max(best, with.gain);
    }
    choice chosen{usual, 0, noise};
    double nearest = 0;
    for (const comparison &c : better) {
        if (c.gain < best - c.noise / 2) continue;
        const double away = distance(c.value, usual);
        if (chosen.value != usual && away >= nearest) continue;
        nearest = away;
        chosen = {c.value, c.gain, c.noise};
    }
    return chosen;
}

std::vector<tried_value> switches(const std::vector<times_by_size> &up_to, const std::vector<times_by_size> &beyond,
                                  std::uint32_t least)
{
    if (up_to.empty() || up_to.size() != beyond.size()) throw std::logic_error("both ways are measured equally often");
    std::vector<tried_value> all{{least, {}}};
    for (const auto &[size, time] : up_to[0]) all.push_back({size, {}});
    for (tried_value &c : all)
        for (std::size_t turn = 0; turn < up_to.size(); turn++) {
            std::vector<double> speeds;
            for (const auto &[size, time] : up_to[turn])
                speeds.push_back(1 / (size <= c.value ? time : beyond[turn].at(size)));
            c.scores.push_back(geometric_mean(speeds));
        }
    return all;
}

} // namespace bench
