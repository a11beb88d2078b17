// SPDX-License-Identifier: Apache-2.0
// The figures 4 to 7 of the paper: share of the raw speed and bandwidth by size (4), speed by fragment length (5),
// times of IS (6) and CG (7) by ranks.
#include "mmp/session.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

using files = std::vector<std::pair<std::string, std::string>>;

std::vector<const figure *> chosen(const std::vector<figure> &all, const std::string &name, const std::string &path)
{
    std::vector<const figure *> list;
    for (const auto &f : all)
        if (f.name == name && f.path == path) list.push_back(&f);
    return list;
}

// Ours and every rival's, over `x` of the figure.
template <class X>
std::vector<curve> curves_of(const std::vector<const figure *> &list, const std::string &own, X x)
{
    std::vector<curve> curves = {{own, {}}};
    for (const figure *f : list) {
        curves[0].points.emplace_back(x(*f), f->median);
        for (const auto &r : f->against) {
            auto known = std::find_if(curves.begin(), curves.end(), [&](const curve &c) { return c.label == r.name; });
            if (known == curves.end()) known = curves.insert(curves.end(), {r.name, {}});
            known->points.emplace_back(x(*f), r.median);
        }
    }
    return curves;
}

void add_sizes(files &to, const std::vector<figure> &figures, const std::string &name, const std::string &path,
               const std::string &title, const std::string &unit)
{
    const auto list = chosen(figures, name, path);
    if (list.empty()) return;
    const auto curves = curves_of(list, "mmp", [](const figure &f) { return double(f.bytes); });
    to.emplace_back(fmt::format("mmp-{}-{}.svg", name, path), curve_picture(title + ", " + path, unit, curves));
}

void add_fragments(files &to, const mmp_session &s, const std::vector<figure> &figures, const std::string &path)
{
    const auto list = chosen(figures, "fragment", path);
    if (list.empty()) return;
    curve c{"messages of 1 MB", {}, double(s.tuned_fragment(path))};
    for (const figure *f : list) c.points.emplace_back(double(f->bytes), f->median);
    to.emplace_back(fmt::format("mmp-fragment-{}.svg", path),
                    curve_picture("Bandwidth by length of a fragment, the tuned one marked, " + path,
                                  "GB/s; above is better", {c}));
}

void add_npb(files &to, const std::vector<figure> &figures, const std::string &name, const std::string &path)
{
    const auto list = chosen(figures, name, path);
    if (list.empty()) return;
    const auto curves = curves_of(list, "mmp", [](const figure &f) { return double(f.ranks); });
    std::vector<std::string> series;
    for (const auto &c : curves) series.push_back(c.label);
    std::vector<bar_group> groups;
    for (const figure *f : list) {
        bar_group g{ranks_text(f->ranks), {}};
        for (const auto &c : curves) {
            double value = 0;
            for (const auto &[ranks, seconds] : c.points)
                if (ranks == double(f->ranks)) value = seconds;
            g.values.push_back(value);
        }
        groups.push_back(g);
    }
    const std::string what = name.substr(0, 2) == "is" ? "IS" : "CG";
    to.emplace_back(fmt::format("mmp-{}-{}.svg", name, path),
                    bar_picture(fmt::format("NAS {} class {}, {}", what, name.back() == 's' ? "S" : "A", path),
                                "seconds; below is better", series, groups));
}

} // namespace

files mmp_pictures(const mmp_session &s, const std::vector<figure> &figures)
{
    files all;
    for (const std::string path : {"shm", "net", "cable"}) {
        add_sizes(all, figures, "pingpong", path, "A message there and back by its size",
                  "microseconds; below is better");
        add_sizes(all, figures, "stream", path, "Bandwidth by size of a message", "GB/s; above is better");
        add_sizes(all, figures, "stream_shared", path, "Bandwidth by size of a message, of memory that the node shares",
                  "GB/s; above is better");
        add_fragments(all, s, figures, path);
        for (const std::string name : {"is_s", "is_a", "cg_s", "cg_a"}) add_npb(all, figures, name, path);
    }
    return all;
}

} // namespace bench
