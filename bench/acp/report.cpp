// SPDX-License-Identifier: Apache-2.0
#include "acp/report.hpp"

#include "driver/picture.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

std::string copy_picture(const std::vector<figure> &figures)
{
    std::vector<curve> curves = {{"acp_copy", {}}};
    const auto curve_of = [&](const std::string &name) -> curve & {
        auto found = std::find_if(curves.begin(), curves.end(), [&](const curve &c) { return c.label == name; });
        if (found != curves.end()) return *found;
        return curves.emplace_back(curve{name, {}});
    };
    for (const auto &f : figures) {
        if (f.name != "copy") continue;
        const double size = static_cast<double>(f.bytes);
        curves[0].points.emplace_back(size, f.median);
        for (const auto &r : f.against) curve_of(r.name).points.emplace_back(size, r.median);
    }
    return curves[0].points.empty()
               ? ""
               : curve_picture("Bandwidth of a copy by its size, between two nodes", "GB/s; above is better", curves);
}

std::string calls_picture(const std::vector<figure> &figures)
{
    std::vector<bar_group> groups;
    for (const auto &f : figures) {
        if (f.metric != "latency_us") continue;
        if (groups.empty() || groups.back().label != f.name) groups.push_back({f.name, {0, 0, 0}});
        groups.back().values[f.target == "local" ? 0 : f.path == "shm" ? 1 : 2] = f.median;
    }
    return groups.empty() ? ""
                          : bar_picture("Time of a call by where it acts", "microseconds; below is better",
                                        {"local", "same node", "other node"}, groups);
}

std::string memory_picture(const std::vector<figure> &figures)
{
    std::vector<curve> curves = {{"after init", {}}, {"after talking to 64 processes", {}}, {"table of the node", {}}};
    for (const auto &f : figures) {
        const int which = f.name == "init" ? 0 : f.name == "talk" ? 1 : f.name == "tables" ? 2 : -1;
        if (which < 0) continue;
        const double ranks = f.ranks;
        curves[static_cast<std::size_t>(which)].points.emplace_back(ranks, which == 2 ? f.median * ranks : f.median);
    }
    std::erase_if(curves, [](const curve &c) { return c.points.empty(); });
    return curves.empty() ? "" : curve_picture("Memory by the number of processes", "bytes; below is better", curves);
}

} // namespace

std::vector<std::pair<std::string, std::string>> acp_pictures(const std::vector<figure> &figures)
{
    std::vector<std::pair<std::string, std::string>> files = {{"acp-copy.svg", copy_picture(figures)},
                                                              {"acp-calls.svg", calls_picture(figures)},
                                                              {"acp-memory.svg", memory_picture(figures)}};
    std::erase_if(files, [](const auto &f) { return f.second.empty(); });
    return files;
}

} // namespace bench
