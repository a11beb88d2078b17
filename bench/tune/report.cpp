// SPDX-License-Identifier: Apache-2.0
#include "tune/report.hpp"

#include "driver/plot.hpp"
#include "onesea.h"

#include <ctime>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace bench {
namespace {

constexpr const char *figure_unit = "GB/s, one message at a time; above is better";

std::string figure_title(const path_result &r) { return r.path.name + ": throughput by size of a message"; }

std::string percent(double part) { return fmt::format("{:+.0f} %", part * 100); }

std::string choice_text(const tuning_step &s, const path_result &r)
{
    const auto usual = r.usual.*(s.what->value);
    if (s.chosen.value == usual)
        return fmt::format("{} {}: {} stays; nothing is better by more than {:.0f} %, which is noise here\n",
                           r.path.name, s.what->name, usual, s.chosen.noise * 100);
    return fmt::format("{} {}: {} instead of {}: {} (noise {:.0f} %)\n", r.path.name, s.what->name, s.chosen.value,
                       usual, percent(s.chosen.gain), s.chosen.noise * 100);
}

std::string gain_of(const std::vector<path_result> &results, onesea::path_kind kind, std::string_view name)
{
    for (const auto &r : results)
        for (const auto &s : r.steps)
            if (r.path.kind == kind && s.what->name == name && s.chosen.gain > 0)
                return fmt::format(", {:.0f} % faster than the default", s.chosen.gain * 100);
    return "";
}

} // namespace

std::string text_of(const path_result &r)
{
    std::string text;
    for (const auto &s : r.steps) text += text_plot(s.title, s.unit, s.curves) + choice_text(s, r) + '\n';
    if (!r.figure.empty()) text += text_plot(figure_title(r), figure_unit, r.figure) + '\n';
    return text;
}

std::string json_of(const path_result &r)
{
    using json = nlohmann::ordered_json;
    std::string lines;
    const auto add = [&](const json &line) { lines += line.dump() + '\n'; };
    const std::string section(onesea::name_of(r.path.kind));
    for (const auto &s : r.steps) {
        for (const auto &c : s.curves)
            for (const auto &[x, y] : c.points)
                add({{"tune", "point"},
                     {"path", r.path.name},
                     {"parameter", s.what->name},
                     {"curve", c.label},
                     {"at", x},
                     {"value", y}});
        add({{"tune", "choice"},
             {"path", r.path.name},
             {"section", section},
             {"parameter", s.what->name},
             {"default", r.usual.*(s.what->value)},
             {"chosen", s.chosen.value},
             {"gain", s.chosen.gain},
             {"noise", s.chosen.noise}});
    }
    for (const auto &c : r.figure)
        for (const auto &[x, y] : c.points)
            add({{"tune", "throughput"},
                 {"path", r.path.name},
                 {"curve", c.label},
                 {"bytes", x},
                 {"bandwidth_gbs", y}});
    return lines;
}

std::vector<std::pair<std::string, std::string>> pictures_of(const path_result &r)
{
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto &s : r.steps)
        files.emplace_back(fmt::format("tune-{}-{}.svg", r.path.name, s.what->name),
                           curve_picture(s.title, s.unit, s.curves));
    if (!r.figure.empty())
        files.emplace_back(fmt::format("tune-{}-throughput.svg", r.path.name),
                           curve_picture(figure_title(r), figure_unit, r.figure));
    return files;
}

std::string changes(const onesea::profile &before, const onesea::profile &after,
                    const std::vector<path_result> &results)
{
    std::string text;
    for (onesea::path_kind kind : onesea::all_paths)
        for (const onesea::parameter &p : onesea::parameters_of(kind)) {
            const auto old = before.of(kind).*p.value, now = after.of(kind).*p.value;
            if (old != now)
                text += fmt::format("  {}.{}: {} -> {}{}\n", onesea::name_of(kind), p.name, old, now,
                                    gain_of(results, kind, p.name));
        }
    return text;
}

nlohmann::ordered_json about(const std::vector<path_result> &results)
{
    char host[256] = "", date[32] = "";
    gethostname(host, sizeof host - 1);
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%MZ", gmtime_r(&now, &utc));
    nlohmann::ordered_json gains = nlohmann::ordered_json::object();
    for (const auto &r : results)
        for (const auto &s : r.steps)
            gains[r.path.name][std::string(s.what->name)] = {{"gain", s.chosen.gain}, {"noise", s.chosen.noise}};
    return {{"by", fmt::format("onesea tune {}.{}.{}", SEA_VERSION_MAJOR, SEA_VERSION_MINOR, SEA_VERSION_PATCH)},
            {"host", host},
            {"written", date},
            {"over_the_defaults", gains}};
}

} // namespace bench
