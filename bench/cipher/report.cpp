// SPDX-License-Identifier: Apache-2.0
#include "cipher/report.hpp"

#include "driver/picture.hpp"
#include "driver/table.hpp"

#include <fmt/format.h>

namespace bench {
namespace {

using figures_of_case = std::vector<const figure *>;

std::vector<std::string> cases_of(const std::vector<figure> &figures)
{
    std::vector<std::string> names;
    for (const auto &f : figures)
        if (names.empty() || names.back() != f.name) names.push_back(f.name);
    return names;
}

figures_of_case select(const std::vector<figure> &figures, const std::string &name, const std::string &metric)
{
    figures_of_case found;
    for (const auto &f : figures)
        if (f.name == name && f.metric == metric) found.push_back(&f);
    return found;
}

// Ours for rival -1, else that rival's; they stand in the same order beside every figure of a case.
double value_of(const figure &f, int which)
{
    return which < 0 ? f.median : f.against.at(static_cast<std::size_t>(which)).median;
}

std::string name_of(const figure &f, int which)
{
    return which < 0 ? "onesea" : f.against.at(static_cast<std::size_t>(which)).name;
}

std::string version_of(const figure &f, int which)
{
    return which < 0 ? "" : f.against.at(static_cast<std::size_t>(which)).version;
}

int rivals_of(const figure &f) { return static_cast<int>(f.against.size()); }

std::string table_of(const figures_of_case &times, const figures_of_case &streams)
{
    std::string text = fmt::format("{:<33}", times[0]->name + ", ns");
    for (const auto *f : times) text += fmt::format("  {:>7}", size_text(f->bytes));
    for (const auto *f : streams) text += fmt::format("  {:>11}", size_text(f->bytes) + " GB/s");
    text += '\n';
    for (int which = -1; which < rivals_of(*times[0]); which++) {
        text += fmt::format("{:<33}", name_of(*times[0], which) + " " + version_of(*times[0], which));
        for (const auto *f : times) text += fmt::format("  {:>7}", number_text(value_of(*f, which) * 1000));
        for (const auto *f : streams) text += fmt::format("  {:>11}", number_text(value_of(*f, which)));
        text += '\n';
    }
    return text;
}

std::string picture_of(const figures_of_case &times)
{
    std::vector<curve> curves;
    for (int which = -1; which < rivals_of(*times[0]); which++) {
        auto &c = curves.emplace_back(curve{name_of(*times[0], which), {}});
        for (const auto *f : times) c.points.emplace_back(static_cast<double>(f->bytes), value_of(*f, which));
    }
    return curve_picture(times[0]->name + ": time of a packet by its size", "microseconds; below is better", curves);
}

} // namespace

std::string cipher_table(const std::vector<figure> &figures)
{
    std::string text;
    for (const auto &name : cases_of(figures))
        text += (text.empty() ? "" : "\n") +
                table_of(select(figures, name, "latency_us"), select(figures, name, "bandwidth_gbs"));
    return text;
}

std::vector<std::pair<std::string, std::string>> cipher_pictures(const std::vector<figure> &figures)
{
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto &name : cases_of(figures))
        files.emplace_back("cipher-" + name + ".svg", picture_of(select(figures, name, "latency_us")));
    return files;
}

} // namespace bench
