// SPDX-License-Identifier: Apache-2.0
#include "dsm/report.hpp"

#include "driver/picture.hpp"
#include "driver/table.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace bench {
namespace {

const rival *named(const figure &f, const std::string &name)
{
    auto at = std::find_if(f.against.begin(), f.against.end(), [&](const rival &r) { return r.name == name; });
    return at == f.against.end() ? nullptr : &*at;
}

std::string beside(const figure &f, const std::string &name)
{
    const rival *r = named(f, name);
    if (!r) return fmt::format("{:>9}  {:>8}", "-", "");
    return fmt::format("{:>9}  {:>7}x", number_text(r->median), number_text(1 / r->ratio));
}

std::string lost(const figure &f)
{
    const rival *r = named(f, "dsm_udp");
    return r && r->lost_percent > 0 ? fmt::format("{:.1f} %", r->lost_percent) : "";
}

// One curve: the figures of an operation over a path, ours or a rival's.
curve curve_of(const std::vector<figure> &figures, const std::string &label, const std::string &operation,
               const std::string &path, const std::string &name)
{
    curve c{label, {}};
    for (const auto &f : figures) {
        if (f.name != operation || f.path != path) continue;
        const rival *r = named(f, name);
        const double value = name.empty() ? f.median : r ? r->median : 0;
        c.points.emplace_back(static_cast<double>(f.bytes), value);
    }
    return c;
}

} // namespace

std::string dsm_table(const std::vector<figure> &figures)
{
    std::string text = fmt::format("{:<11}  {:<4}  {:>6}  {:>9}  {:>9}  {:>8}  {:>9}  {:>8}  {}\n", "operation", "path",
                                   "size", "LAPI us", "TCP us", "", "UDP us", "", "lost");
    for (const auto &f : figures) {
        std::string line = fmt::format("{:<11}  {:<4}  {:>6}  {:>9}  {}  {}  {}", f.name, f.path, size_text(f.bytes),
                                       number_text(f.median), beside(f, "dsm_tcp"), beside(f, "dsm_udp"), lost(f));
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

std::vector<std::pair<std::string, std::string>> dsm_pictures(const std::vector<figure> &figures)
{
    struct plan {
        const char *file, *title, *operation;
    };
    constexpr std::array<plan, 3> plans = {plan{"dsm-2-read.svg", "Figure 2: READ", "read"},
                                           plan{"dsm-3-write.svg", "Figure 3: WRITE", "write"},
                                           plan{"dsm-4-write_b.svg", "Figure 4: WRITE_B", "write_b"}};
    const bool net = std::any_of(figures.begin(), figures.end(), [](const figure &f) { return f.path == "net"; });
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto &p : plans) {
        const std::string path = net ? "net" : "shm";
        std::vector<curve> curves;
        for (auto &c : {curve_of(figures, "LAPI, one node", p.operation, "shm", ""),
                        curve_of(figures, "LAPI, two nodes", p.operation, "net", ""),
                        curve_of(figures, "TCP", p.operation, path, "dsm_tcp"),
                        curve_of(figures, "UDP", p.operation, path, "dsm_udp")})
            if (!c.points.empty()) curves.push_back(c);
        files.emplace_back(p.file, curve_picture(p.title, "microseconds; below is better", curves));
    }
    return files;
}

} // namespace bench
