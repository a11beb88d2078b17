// SPDX-License-Identifier: Apache-2.0
// `onesea bench patterns`. Design: a turn starts one job per pattern and size, one after the other; the total of each
// is divided by that of one pair in the same run, and the slowest pair by the mean of the pairs.
#include "driver/command_line.hpp"
#include "driver/picture.hpp"
#include "driver/places.hpp"
#include "driver/process.hpp"
#include "driver/turns.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr double step_seconds = 60;
constexpr const char *help_text =
    "Measures streams of puts that run at the same time, each rank on a node of its own.\n\n"
    "  both  rank 0 to 1 and rank 1 to 0      out  rank 0 to 7 others      in  7 others to rank 0\n"
    "Figures are GB/s: 'both' is the total of all pairs, beside the floor 'one_pair', which is a single stream from\n"
    "rank 0 to 1 in the same run; 'both_slowest' is the slowest pair, beside the mean of the pairs. Each origin keeps\n"
    "4 MB in flight to each target. Every job is measured for 600 ms (--quick: 250 ms) after a first transfer, which\n"
    "is not counted. The figure is the median over the runs.\n";

struct session {
    options opts;
    std::string onesea, worker;
    series_table series;
};

struct point {
    std::string pattern;
    std::size_t bytes;
    int ranks() const { return pattern == "out" || pattern == "in" ? 8 : 2; }
};

const std::vector<std::string> patterns = {"both", "out", "in"};

std::vector<point> plan_of(const options &o)
{
    std::vector<point> points;
    for (std::size_t bytes : {65536, 1048576}) {
        points.push_back({"one", bytes});
        for (const auto &p : patterns)
            if (o.wants_case(p)) points.push_back({p, bytes});
    }
    return points;
}

bool measure_one(session &s, const point &p, const budget &time)
{
    const std::string ranks = std::to_string(p.ranks());
    const command job{{s.onesea, "run", "-n", ranks, "--nodes", ranks, "--secure", s.opts.secure, "--timeout", "60",
                       s.worker, p.pattern, std::to_string(p.bytes), s.opts.quick ? "250" : "600"},
                      {}};
    const auto result = run(job, std::min(step_seconds, std::max(0.1, time.left())));
    s.series.add_lines(p.pattern, result.out);
    if (result.good()) return true;
    progress(fmt::format("  {} of {} bytes {}: {}", p.pattern, p.bytes,
                         result.timed_out ? "did not end in time" : fmt::format("gave {}", result.exit_code),
                         result.err.substr(0, 300)));
    return time.spent();
}

void add_figure(const session &s, std::vector<figure> &all, const point &p, const std::string &what,
                const rival &beside, const series_key &of)
{
    const auto *runs = s.series.find({p.pattern, what, "bandwidth_gbs", p.bytes});
    if (!runs) return;
    const std::string name = what == "total" ? p.pattern : p.pattern + "_" + what;
    figure f{"patterns", name, "net", "waiting", s.opts.secure, p.bytes, p.ranks(), "bandwidth_gbs"};
    summarise(f, *runs);
    f.p99 = f.min; // one sample a run: the worst of them
    compare(f, beside, s.series.find(of));
    all.push_back(f);
}

std::vector<figure> figures_of(const session &s, const std::vector<point> &points)
{
    std::vector<figure> all;
    for (const auto &p : points) {
        if (p.pattern == "one") continue;
        add_figure(s, all, p, "total", {"one_pair", "floor", ""}, {"one", "total", "bandwidth_gbs", p.bytes});
        add_figure(s, all, p, "slowest", {"mean_pair", "floor", ""}, {p.pattern, "mean", "bandwidth_gbs", p.bytes});
    }
    return all;
}

std::string picture(const std::vector<figure> &figures)
{
    std::vector<bar_group> groups;
    for (const auto &f : figures) {
        const rival *floor = floor_of(f);
        groups.push_back({fmt::format("{} {} KB", f.name, f.bytes / 1024), {f.median, floor ? floor->median : 0}});
    }
    return bar_picture("Streams at the same time", "GB/s; above is better", {"onesea", "one pair, or mean"}, groups);
}

int run_patterns(const options &opts)
{
    prepare_to_run();
    const budget time(opts);
    session s;
    s.opts = opts;
    s.onesea = own_program("onesea");
    s.worker = own_program("onesea-bench-worker-patterns");
    const auto points = plan_of(opts);
    const bool good = in_turns("patterns", opts, 3, 7, time, s.series, [&](const turn &now) {
        progress(now.title);
        bool well = true;
        for (const auto &p : points) well = measure_one(s, p, time) && well;
        return well;
    });
    const auto figures = figures_of(s, points);
    publish(figures, opts, "patterns", [&] {
        return std::vector{std::pair<std::string, std::string>{"patterns.svg", picture(figures)}};
    });
    return good && !figures.empty() ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::run_benchmark(argc, argv, {"patterns", bench::help_text, bench::patterns, {"net"}},
                                bench::run_patterns);
}
