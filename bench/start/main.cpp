// SPDX-License-Identifier: Apache-2.0
// `onesea bench start`. Design: a run goes through the numbers of ranks; for each it starts ours, the floor and the
// peers one after the other, each once per kind of program, and takes the time from before the fork of the launcher to
// its death. Nothing is pinned: starting is what the whole machine does.
#include "driver/command_line.hpp"
#include "driver/peers.hpp"
#include "driver/picture.hpp"
#include "driver/turns.hpp"
#include "floors/spawn.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr double step_seconds = 60;
constexpr const char *help_text =
    "Measures the time to start and end a job, beside installed MPIs.\n\n"
    "What is counted: from just before the launcher is started until it has ended, on the wall clock, once per run;\n"
    "the figure is the median over the runs. A first start of everything, which fills the page cache, is not counted.\n"
    "  init   a program that joins the job and leaves it (sea_init and sea_finalize; MPI_Init and MPI_Finalize)\n"
    "  plain  /bin/true, which uses neither\n"
    "Path shm is one node, net two virtual nodes (the MPIs: TCP only). The floor 'spawn' starts the same number of\n"
    "/bin/true with posix_spawn() and waits for them. Ratios are this median divided by the other's.\n";

struct session {
    options opts;
    std::string onesea, empty, plain;
    std::vector<peer> peers;
    series_table series;
};

struct point { // one place of the table
    std::string program, path;
    int ranks;
    std::string id() const { return program + "/" + path; }
};

std::vector<point> plan_of(const options &o)
{
    const std::vector<int> all = {1, 4, 16, 64}, few = {4, 64};
    std::vector<point> points;
    for (int ranks : o.quick ? few : all)
        for (const std::string path : {"shm", "net"})
            for (const std::string program : {"init", "plain"})
                if (o.wants_case(program) && o.wants_path(path) && (path == "shm" || ranks > 1))
                    points.push_back({program, path, ranks});
    return points;
}

series_key key_of(const std::string &who, const point &p)
{
    return {who, p.id(), "time_s", static_cast<std::size_t>(p.ranks)};
}

// False, with a line on stderr, if it did not end well.
bool time_one(session &s, const std::string &who, const point &p, const command &what, const budget &time, bool counted)
{
    const auto result = run(what, std::min(step_seconds, std::max(0.1, time.left())));
    if (result.good()) {
        if (counted) s.series.add(key_of(who, p), {result.seconds, result.seconds});
        return true;
    }
    progress(fmt::format("  {} with {} ranks ({}) {}: {}", who, p.ranks, p.id(),
                         result.timed_out ? "did not end in time" : fmt::format("gave {}", result.exit_code),
                         result.err.substr(0, 300)));
    return false;
}

bool time_all(session &s, const point &p, const budget &time, bool counted)
{
    const bool init = p.program == "init";
    const std::string nodes = p.path == "net" ? "2" : "1";
    const command ours{{s.onesea, "run", "-n", std::to_string(p.ranks), "--nodes", nodes, "--secure", s.opts.secure,
                        "--timeout", "60", init ? s.empty : s.plain},
                       {}};
    const bool good = time_one(s, "onesea", p, ours, time, counted);
    const double floor = spawn_floor(s.plain.c_str(), p.ranks);
    if (floor > 0 && counted) s.series.add(key_of("spawn", p), {floor, floor});
    for (const auto &other : s.peers)
        if (!time.spent())
            time_one(s, other.name, p, other.launch(p.ranks, p.path, {init ? other.empty : s.plain}), time, counted);
    return good || time.spent();
}

figure figure_of(const session &s, const point &p, const std::vector<run_result> &runs)
{
    figure f{"start", p.program, p.path, "none", s.opts.secure, 0, p.ranks, "time_s"};
    summarise(f, runs);
    f.p99 = f.max; // one sample a run: the worst of them
    compare(f, {"spawn", "floor", ""}, s.series.find(key_of("spawn", p)));
    for (const auto &other : s.peers)
        compare(f, {other.name, "peer", other.version}, s.series.find(key_of(other.name, p)));
    return f;
}

std::string picture(const session &s, const std::vector<figure> &figures)
{
    std::vector<std::string> series = {"onesea", "spawn"};
    for (const auto &p : s.peers) series.push_back(p.name);
    std::vector<bar_group> groups;
    for (const auto &f : figures) {
        bar_group g{fmt::format("{} {} {}", f.ranks, f.name, f.path), {f.median}};
        for (std::size_t i = 1; i < series.size(); i++) {
            auto found =
                std::find_if(f.against.begin(), f.against.end(), [&](const rival &r) { return r.name == series[i]; });
            g.values.push_back(found == f.against.end() ? 0 : found->median);
        }
        groups.push_back(g);
    }
    return bar_picture("Time to start and end a job", "seconds; below is better", series, groups);
}

int start(const options &opts)
{
    prepare_to_run();
    const budget time(opts);
    session s;
    s.opts = opts;
    s.onesea = own_program("onesea");
    s.empty = own_program("onesea-bench-worker-empty");
    s.plain = in_path("true").value_or("/bin/true");
    if (!opts.no_peers) s.peers = find_peers();
    const auto points = plan_of(opts);
    if (points.empty()) throw std::runtime_error("nothing is left to measure with this --case and --path");
    for (const auto &p : points)
        if (p.ranks <= 4) time_all(s, p, time, false); // fills the page cache
    const bool good = in_turns("start", opts, 3, 7, time, s.series, [&](const turn &now) {
        progress(now.title);
        bool well = true;
        for (const auto &p : points)
            if (!time.spent()) well = time_all(s, p, time, true) && well;
        return well;
    });
    std::vector<figure> figures;
    for (const auto &p : points)
        if (const auto *runs = s.series.find(key_of("onesea", p))) figures.push_back(figure_of(s, p, *runs));
    publish(figures, opts, "start", [&] {
        return std::vector{std::pair<std::string, std::string>{"start.svg", picture(s, figures)}};
    });
    return good && !figures.empty() ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::run_benchmark(argc, argv, {"start", bench::help_text, {"init", "plain"}}, bench::start);
}
