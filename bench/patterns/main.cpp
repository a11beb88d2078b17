// SPDX-License-Identifier: Apache-2.0
// `onesea bench patterns`. Design: a turn goes through patterns and sizes; for each it starts a job of ours, the same
// streams over plain TCP with either room of the sockets, and over plain datagrams, and each peer, one after the other.
// The total of a pattern is also divided by that of one pair in the same run, and the slowest pair by the mean of the
// pairs: how the streams share the machine.
#include "driver/command_line.hpp"
#include "driver/peers.hpp"
#include "driver/picture.hpp"
#include "driver/places.hpp"
#include "driver/process.hpp"
#include "driver/turns.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

// The most that one program may take. A peer that hangs costs no more than this, and what it has measured until then
// counts.
constexpr double step_seconds = 60, peer_seconds = 10, quick_peer_seconds = 3;
constexpr const char *help_text =
    "Measures streams of puts that run at the same time, each rank on a node of its own.\n\n"
    "  one  rank 0 to 1                       out  rank 0 to 7 others\n"
    "  both rank 0 to 1 and rank 1 to 0       in   7 others to rank 0\n\n"
    "Figures are GB/s: 'both' is the total of all pairs, 'both_slowest' the slowest pair. Each origin keeps 4 MB in\n"
    "flight to each target. Every job is measured for 600 ms (--quick: 250 ms, and 1 MB only) after a first\n"
    "transfer, which is not counted. The figure is the median over the runs.\n\n"
    "Beside them: the floor 'tcp', the same streams over TCP on the loopback between as many plain processes, which\n"
    "protects no packet, with sockets that have room for 512 KB or for as much as the kernel chooses, whichever of "
    "the\n"
    "two has the better median; the floor 'udp', datagrams as long as the loopback takes, with a window and no tag;\n"
    "the installed MPIs over TCP, with MPI_Put and a flush where ours has sea_put and a fence;\n"
    "and of Onesea's own the stream of one pair in the same run ('one_pair') or the mean of the pairs ('mean_pair').\n"
    "An MPI that does not end in 10 seconds (--quick: 3) is named, ended, and what it has measured by then counts.\n"
    "Where ranks outnumber the processors Open MPI is told to yield; MPICH cannot.\n";

struct floor_way {
    std::string source, argument, text;
};

// Of TCP none is the best for all patterns and sizes.
const std::vector<floor_way> socket_rooms = {{"tcp", "524288", "room for 512 KB"},
                                             {"tcp_grown", "", "room as the kernel chooses"}};
const floor_way datagrams = {"udp", "udp", "datagrams with a window"};

struct session {
    options opts;
    std::string onesea, worker, floor;
    std::vector<peer> peers;
    series_table series;
};

struct point {
    std::string pattern;
    std::size_t bytes;
    bool wanted = true; // otherwise only for the sake of others: ours alone
    int ranks() const { return pattern == "out" || pattern == "in" ? 8 : 2; }
    std::string text() const { return fmt::format("{} of {}", pattern, size_text(bytes)); }
};

const std::vector<std::string> patterns = {"one", "both", "out", "in"};

// Ours of one pair always: the totals are compared with it.
std::vector<point> plan_of(const options &o)
{
    std::vector<point> points;
    for (std::size_t bytes : o.quick ? std::vector<std::size_t>{1048576} : std::vector<std::size_t>{65536, 1048576})
        for (const auto &p : patterns)
            if (p == "one" || o.wants_case(p)) points.push_back({p, bytes, o.wants_case(p)});
    return points;
}

// ---- one turn -------------------------------------------------------------------------------------------------------

std::string last_line(const std::string &text)
{
    const auto end = text.find_last_not_of('\n');
    if (end == std::string::npos) return "no message";
    const auto begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

std::vector<std::string> with_point(const session &s, const std::string &program, const point &p)
{
    return {program, p.pattern, std::to_string(p.bytes), s.opts.quick ? "250" : "600"};
}

command floor_of_point(const session &s, const point &p, const floor_way &way)
{
    command c{with_point(s, s.floor, p), {}};
    if (!way.argument.empty()) c.argv.push_back(way.argument);
    return c;
}

command our_job(const session &s, const point &p)
{
    const std::string ranks = std::to_string(p.ranks());
    command c{{s.onesea, "run", "-n", ranks, "--nodes", ranks, "--secure", s.opts.secure, "--timeout", "60"}, {}};
    const auto program = with_point(s, s.worker, p);
    c.argv.insert(c.argv.end(), program.begin(), program.end());
    return c;
}

// Runs one program of a turn and keeps its results; false, with a line on stderr, if it did not end well.
bool measure_with(session &s, const std::string &who, const point &p, const command &what, const budget &time,
                  double seconds)
{
    const double limit = std::min(seconds, std::max(0.1, time.left()));
    const auto result = run(what, limit);
    s.series.add_lines(who + "@" + p.pattern, result.out);
    if (result.good()) return true;
    progress(fmt::format("  {} {}: {}", who, p.text(),
                         result.timed_out ? fmt::format("ended after {:.0f} s", limit)
                                          : fmt::format("exit code {}: {}", result.exit_code, last_line(result.err))));
    return false;
}

// False if a part of ours or the floor failed.
bool measure_point(session &s, const point &p, const budget &time)
{
    bool good = measure_with(s, "onesea", p, our_job(s, p), time, step_seconds);
    if (!p.wanted) return good;
    for (const auto &way : {socket_rooms[0], socket_rooms[1], datagrams})
        if (!time.spent()) good = measure_with(s, way.source, p, floor_of_point(s, p, way), time, step_seconds) && good;
    for (const auto &other : s.peers)
        if (!time.spent())
            measure_with(s, other.name, p, other.launch(p.ranks(), "net", with_point(s, other.patterns, p)), time,
                         s.opts.quick ? quick_peer_seconds : peer_seconds);
    return good;
}

bool measure_all(session &s, const std::vector<point> &points, const turn &now, const budget &time)
{
    bool good = true;
    for (const auto &p : points) {
        if (time.spent()) {
            progress(fmt::format("  the time of --quick is over: {} is not measured in run {}", p.text(), now.number));
            continue;
        }
        progress(now.title + ": " + p.text());
        good = measure_point(s, p, time) && good;
    }
    return good || time.spent();
}

// ---- figures --------------------------------------------------------------------------------------------------------

void add_figure(const session &s, std::vector<figure> &all, const point &p, const std::string &what, const rival &own,
                const series_key &of_own)
{
    const auto runs_of = [&](const std::string &who) {
        return s.series.find({who + "@" + p.pattern, what, "bandwidth_gbs", p.bytes});
    };
    const auto *runs = runs_of("onesea");
    if (!runs) return;
    const std::string name = what == "total" ? p.pattern : p.pattern + "_" + what;
    figure f{"patterns", name, "net", "waiting", s.opts.secure, p.bytes, p.ranks(), "bandwidth_gbs"};
    summarise(f, *runs);
    f.p99 = f.min; // one sample a run: the worst of them
    std::vector<std::pair<rival, const std::vector<run_result> *>> floors;
    for (const auto &room : socket_rooms) floors.push_back({{"tcp", "floor", room.text}, runs_of(room.source)});
    compare_best(f, floors);
    compare(f, {datagrams.source, "floor", datagrams.text}, runs_of(datagrams.source));
    for (const auto &other : s.peers) compare(f, {other.name, "peer", other.version}, runs_of(other.name));
    if (!own.name.empty()) compare(f, own, s.series.find(of_own));
    all.push_back(f);
}

std::vector<figure> figures_of(const session &s, const std::vector<point> &points)
{
    std::vector<figure> all;
    for (const auto &p : points) {
        if (!p.wanted) continue;
        if (p.pattern == "one") {
            add_figure(s, all, p, "total", {}, {});
            continue;
        }
        add_figure(s, all, p, "total", {"one_pair", "own", ""}, {"onesea@one", "total", "bandwidth_gbs", p.bytes});
        add_figure(s, all, p, "slowest", {"mean_pair", "own", ""},
                   {"onesea@" + p.pattern, "mean", "bandwidth_gbs", p.bytes});
    }
    return all;
}

// Of the total of one pair, by the medians.
std::string what_many_keep(const std::vector<figure> &figures)
{
    std::string text;
    for (const auto &f : figures) {
        const auto one = std::find_if(figures.begin(), figures.end(),
                                      [&](const figure &g) { return g.name == "one" && g.bytes == f.bytes; });
        if (one == figures.end() || !std::count(patterns.begin() + 1, patterns.end(), f.name)) continue;
        text += fmt::format("  {} of {}: onesea {:.2f}", f.name, size_text(f.bytes), f.median / one->median);
        for (const auto &r : f.against)
            for (const auto &alone : one->against)
                if (r.name == alone.name) text += fmt::format(", {} {:.2f}", r.name, r.median / alone.median);
        text += '\n';
    }
    return text.empty() ? text : "\nof the total of one pair several keep:\n" + text;
}

// The table, which sockets its floor is of, and what is not to be seen in it.
std::string for_people(const std::vector<figure> &figures)
{
    std::string text = table(figures) + "\ntcp is the better of two:\n";
    for (const auto &room : socket_rooms) {
        std::string where;
        for (const auto &f : figures)
            if (const rival *r = floor_of(f); r && r->version == room.text)
                where += fmt::format("{}{} of {}", where.empty() ? "" : ", ", f.name, size_text(f.bytes));
        text += fmt::format("  sockets with {}: {}\n", room.text, where.empty() ? "nowhere" : where);
    }
    return text + what_many_keep(figures);
}

double median_of(const figure &f, const std::vector<std::string> &any_of)
{
    for (const auto &r : f.against)
        if (std::find(any_of.begin(), any_of.end(), r.name) != any_of.end()) return r.median;
    return 0;
}

std::string picture(const session &s, const std::vector<figure> &figures, std::size_t bytes)
{
    std::vector<std::string> series = {"onesea", "tcp", "udp"};
    for (const auto &p : s.peers) series.push_back(p.name);
    series.emplace_back("onesea: one pair, or mean");
    std::vector<bar_group> groups;
    for (const auto &f : figures) {
        if (f.bytes != bytes) continue;
        bar_group g{f.name, {f.median, median_of(f, {"tcp"}), median_of(f, {"udp"})}};
        for (const auto &p : s.peers) g.values.push_back(median_of(f, {p.name}));
        g.values.push_back(median_of(f, {"one_pair", "mean_pair"}));
        groups.push_back(g);
    }
    return bar_picture(fmt::format("Streams at the same time, puts of {}", size_text(bytes)), "GB/s; above is better",
                       series, groups);
}

std::vector<std::pair<std::string, std::string>> pictures_of(const session &s, const std::vector<figure> &figures)
{
    std::vector<std::pair<std::string, std::string>> files;
    for (std::size_t bytes : {65536, 1048576})
        if (std::any_of(figures.begin(), figures.end(), [&](const figure &f) { return f.bytes == bytes; }))
            files.emplace_back(fmt::format("patterns-{}.svg", bytes), picture(s, figures, bytes));
    return files;
}

// ---- main -----------------------------------------------------------------------------------------------------------

session open_session(const options &opts)
{
    session s;
    s.opts = opts;
    s.onesea = own_program("onesea");
    s.worker = own_program("onesea-bench-worker-patterns");
    s.floor = own_program("onesea-bench-worker-patterns-floor");
    if (!opts.no_peers) s.peers = find_peers();
    return s;
}

int run_patterns(const options &opts)
{
    prepare_to_run();
    const budget time(opts);
    session s = open_session(opts);
    const auto points = plan_of(opts);
    const bool good = in_turns("patterns", opts, 3, 7, time, s.series,
                               [&](const turn &now) { return measure_all(s, points, now, time); });
    const auto figures = figures_of(s, points);
    publish(
        figures, opts, "patterns", [&] { return pictures_of(s, figures); }, for_people);
    return good && !figures.empty() ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::run_benchmark(argc, argv, {"patterns", bench::help_text, bench::patterns, {"net"}},
                                bench::run_patterns);
}
