// SPDX-License-Identifier: Apache-2.0
// `onesea bench rma`. Design: everything is measured in turns. A turn (run) goes through the groups of the plan; for
// each it starts a job of ours with the group's cases, then the floors beside them, then each peer, one after the
// other and never two at once, each for some hundred milliseconds, on the same two processors. So a change of the
// machine's mood hits a figure and what it is divided by alike, and the medians over the runs leave it out.
#include "driver/cable.hpp"
#include "driver/command_line.hpp"
#include "driver/peers.hpp"
#include "driver/picture.hpp"
#include "driver/turns.hpp"
#include "rma/plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <set>

namespace bench {
namespace {

constexpr double step_seconds = 60; // the most that one program of a turn may take
constexpr double slow_seconds = 20; // of a peer that is known to be slow: what it has measured until then counts
constexpr double quick_cable_seconds = 105;
constexpr const char *help_text =
    "Measures one-sided operations between two ranks on two processors, beside floors and installed MPIs.\n\n"
    "What is counted. Each run measures every case for some milliseconds (60; --quick: 10) after a warm-up of a\n"
    "quarter of that, which is not counted. A sample is the time of one operation; where one takes less than the\n"
    "clock's own time, of a batch (shm: 1024, net put: 16) divided by its size. The figure is the median over the\n"
    "runs of each run's median; min and max are over the runs; p99 is the median of the runs' 99th percentiles, for\n"
    "rates and bandwidths that of the slow side.\n"
    "  put          until the source may be reused        put_fence  until the data is at the target\n"
    "  get, fetch_add, cas  until the value is here       copy       target's memory to target's memory, remote\n"
    "  am           until the target's handler is known to have returned, header of 8 bytes\n"
    "  flag         data, its length and a flag put without waiting, until the same rank sees the other's flag, which\n"
    "               answers it; meanwhile neither makes a call. Before each 300 us of silence\n"
    "  rate_mops    8-byte puts without waiting, 512 and a fence; bandwidth_gbs: 16 MB (2 to 512 transfers), a fence\n"
    "  waiting      the target blocks in sea_counter_wait(); computing: a loop of arithmetic without a call; asleep:\n"
    "               in nanosleep(), and the origin keeps silent for 300 us before each operation that needs the "
    "target\n"
    "               (over the network all, inside a node am); the silence is not counted\n"
    "  --path cable: the two ranks in two network namespaces of this machine, joined by a virtual cable of mtu 1500;\n"
    "               floors and peers there too. Needs root. With --quick two minutes at most.\n"
    "Ratios are this median divided by the other's: below 1 is better for latencies, above 1 for the rest.\n";

struct session {
    options opts;
    std::vector<rma_group> groups;
    std::string onesea, worker, floors;
    std::vector<peer> peers;
    std::vector<ucx> ucxs;
    std::vector<fabric> fabrics;
    core_pair cores{-1, -1};
    series_table series;
    std::unique_ptr<cable> wire; // null: no group wants it
    const cable *wire_for(const rma_group &group) const { return group.path == "cable" ? wire.get() : nullptr; }
    std::string milliseconds() const { return opts.quick ? "10" : "60"; }
};

std::string last_line(const std::string &text)
{
    const auto end = text.find_last_not_of('\n');
    if (end == std::string::npos) return "no message";
    const auto begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

// Runs one program of a turn and keeps its results; false, with a line on stderr, if it did not end well.
bool measure_with(session &s, const std::string &who, const rma_group &group, const command &what, const budget &time,
                  double seconds = step_seconds)
{
    const double limit = std::min(seconds, time.left());
    const auto result = run(what, limit);
    s.series.add_lines(who + "@" + group.id, result.out);
    if (result.good()) return true;
    progress(fmt::format("  {} {}: {} {}", who, group.id,
                         result.timed_out ? fmt::format("ended after {:.0f} s", limit)
                                          : fmt::format("exit code {}", result.exit_code),
                         last_line(result.err)));
    return false;
}

command our_job(const session &s, const rma_group &group)
{
    command c{{s.onesea, "run", "-n", "2", "--secure", s.opts.secure, "--timeout", "60"}, {}};
    const auto add = [&](std::initializer_list<std::string> more) { c.argv.insert(c.argv.end(), more); };
    if (const cable *along = s.wire_for(group)) {
        add({"--iface", cable::device, "--host", along->from + "," + along->to});
        c.environment = {{"ONESEA_RSH", along->remote_shell()}};
    } else {
        add({"--nodes", group.path == "net" ? "2" : "1"});
    }
    add({s.worker, "--ms", s.milliseconds(), "--cores", s.cores.text(), "--path", group.path == "shm" ? "shm" : "net",
         "--target", group.target});
    for (const auto &one : group.cases) c.argv.push_back(one.argument());
    return c;
}

command floor_job(const session &s, const rma_group &group)
{
    command c{{s.floors, "--ms", s.milliseconds(), "--cores", s.cores.text()}, {}};
    if (const cable *along = s.wire_for(group)) {
        c.argv.emplace_back("--cable");
        c.argv.push_back(along->ends());
    }
    std::set<std::string> named;
    for (const auto &one : group.cases)
        for (const auto &floor : one.floors)
            if (named.insert(floor.argument()).second) c.argv.push_back(floor.argument());
    return c;
}

void measure_ucx(session &s, const rma_group &group, const budget &time)
{
    for (const auto &u : s.ucxs)
        for (const auto &one : group.cases) {
            if (one.ucx.empty() || time.spent()) continue;
            const double value =
                u.latency(one.ucx, std::min(10.0, time.left()), s.cores, s.wire_for(group)) * one.ucx_factor;
            if (value > 0) s.series.add({"ucx@" + group.id, one.measured, one.metric, one.bytes}, {value, value});
        }
}

void measure_fabrics(session &s, const rma_group &group, const std::vector<std::string> &cases, const budget &time)
{
    if (group.path == "shm") return;
    for (const auto &f : s.fabrics)
        if (!time.spent() && !(s.opts.quick && f.slow_streams && group.is_stream))
            measure_with(s, f.name, group, f.measurement(s.milliseconds(), s.cores, s.wire_for(group), cases), time,
                         f.slow_streams ? slow_seconds : step_seconds);
}

void measure_peers(session &s, const rma_group &group, const budget &time)
{
    if (group.target != "waiting") return;
    std::vector<std::string> names;
    for (const auto &one : group.cases)
        if (one.by_peers) names.push_back(one.argument());
    if (!names.empty()) measure_fabrics(s, group, names, time);
    for (const auto &p : s.peers) {
        if (names.empty() || time.spent()) continue;
        std::vector<std::string> program = {
            p.rma, "--ms", s.milliseconds(), "--cores", s.cores.text(), "--batch", group.path == "shm" ? "1024" : "1"};
        program.insert(program.end(), names.begin(), names.end());
        const cable *along = s.wire_for(group);
        measure_with(s, p.name, group, along ? p.launch(*along, program) : p.launch(2, group.path, program), time);
    }
    measure_ucx(s, group, time);
}

// One turn. False if a part of ours failed.
bool measure_all(session &s, const turn &now, const budget &time)
{
    bool good = true;
    for (const auto &group : s.groups) {
        if (time.spent()) {
            progress(fmt::format("  the time of --quick is over: {} is not measured in run {}", group.id, now.number));
            continue;
        }
        progress(now.title + ": " + group.id);
        rma_group part = group;
        for (const auto &cases : measured_at_once(group.cases, s.opts)) {
            part.cases = cases;
            good = measure_with(s, "onesea", part, our_job(s, part), time) && good;
            good = measure_with(s, "floor", part, floor_job(s, part), time) && good;
            measure_peers(s, part, time);
        }
    }
    return good || time.spent();
}

// ---- figures --------------------------------------------------------------------------------------------------------

figure figure_of(const session &s, const rma_group &group, const rma_case &one, const std::vector<run_result> &runs)
{
    figure f{"rma", one.name, group.path, group.target, s.opts.secure, one.bytes, 2, one.metric};
    summarise(f, runs);
    for (const auto &floor : one.floors)
        compare(f, {floor.name, "floor", ""},
                s.series.find({"floor@" + group.id, floor.name, one.metric, floor.bytes}));
    const auto beside = [&](const std::string &name, const std::string &version) {
        compare(f, {name, "peer", version},
                s.series.find({name + "@" + group.id, one.measured, one.metric, one.bytes}));
    };
    for (const auto &p : s.peers) beside(p.name, p.version);
    for (const auto &l : s.fabrics) beside(l.name, l.version);
    for (const auto &u : s.ucxs) beside("ucx", u.version());
    return f;
}

std::vector<figure> figures_of(const session &s)
{
    std::vector<figure> all;
    for (const auto &group : s.groups)
        for (const auto &one : group.cases)
            if (const auto *runs = s.series.find({"onesea@" + group.id, one.measured, one.metric, one.bytes}))
                all.push_back(figure_of(s, group, one, *runs));
    return all;
}

// ---- pictures -------------------------------------------------------------------------------------------------------

double rival_median(const figure &f, const std::string &name)
{
    if (name == "floor") return floor_of(f) ? floor_of(f)->median : 0;
    for (const auto &r : f.against)
        if (r.name == name) return r.median;
    return 0;
}

std::vector<std::string> rival_names(const session &s)
{
    std::vector<std::string> names = {"floor"};
    for (const auto &p : s.peers) names.push_back(p.name);
    for (const auto &f : s.fabrics) names.push_back(f.name);
    if (!s.ucxs.empty()) names.emplace_back("ucx");
    return names;
}

std::string latency_picture(const session &s, const std::vector<figure> &figures, const std::string &path)
{
    std::vector<std::string> rivals = rival_names(s), series = rivals;
    series.insert(series.begin(), "onesea");
    std::vector<bar_group> groups;
    for (const auto &f : figures) {
        if (f.path != path || f.metric != "latency_us") continue;
        bar_group g{f.target == "waiting" ? f.name : f.name + " " + f.target, {f.median}};
        for (const auto &name : rivals) g.values.push_back(rival_median(f, name));
        groups.push_back(g);
    }
    return bar_picture("Latency of 8 bytes, " + path, "microseconds; below is better", series, groups);
}

std::string bandwidth_picture(const session &s, const std::vector<figure> &figures, const std::string &path)
{
    std::vector<curve> curves = {{"onesea put", {}}, {"onesea get", {}}};
    std::vector<std::string> rivals = rival_names(s);
    std::erase(rivals, "ucx");
    if (path == "shm") std::erase_if(rivals, [](const std::string &name) { return name.starts_with("libfabric"); });
    for (const auto &name : rivals) curves.push_back({name == "floor" ? name : name + " put", {}});
    for (const auto &f : figures) {
        if (f.path != path || f.metric != "bandwidth_gbs") continue;
        const double size = static_cast<double>(f.bytes);
        curves[f.name == "put" ? 0 : 1].points.emplace_back(size, f.median);
        if (f.name != "put") continue;
        curves[2].points.emplace_back(size, rival_median(f, "floor"));
        for (std::size_t i = 3; i < curves.size(); i++)
            curves[i].points.emplace_back(size, rival_median(f, rivals[i - 2]));
    }
    return curve_picture("Bandwidth by size of a transfer, " + path, "GB/s; above is better", curves);
}

std::vector<std::pair<std::string, std::string>> pictures_of(const session &s, const std::vector<figure> &figures)
{
    std::vector<std::pair<std::string, std::string>> files;
    std::set<std::string> paths;
    for (const auto &group : s.groups) paths.insert(group.path);
    for (const auto &path : paths) {
        files.emplace_back("rma-latency-" + path + ".svg", latency_picture(s, figures, path));
        files.emplace_back("rma-bandwidth-" + path + ".svg", bandwidth_picture(s, figures, path));
    }
    return files;
}

// ---- main -----------------------------------------------------------------------------------------------------------

session open_session(const options &opts)
{
    session s;
    s.opts = opts;
    s.groups = plan_of(opts);
    if (s.groups.empty()) throw std::runtime_error("nothing is left to measure with this --case and --path");
    if (std::any_of(s.groups.begin(), s.groups.end(), [](const rma_group &g) { return g.path == "cable"; }))
        s.wire = std::make_unique<cable>();
    s.onesea = own_program("onesea");
    s.worker = own_program("onesea-bench-worker-rma");
    s.floors = own_program("onesea-bench-floors");
    s.cores = measuring_cores();
    if (s.cores.origin == s.cores.target)
        progress("rma: only one processor: both sides share it, and whoever polls keeps the other from running");
    if (!opts.no_peers) {
        s.peers = find_peers();
        s.ucxs = ucx::find();
        s.fabrics = find_fabrics(!opts.quick);
    }
    return s;
}

int rma(const options &opts)
{
    prepare_to_run();
    const budget time(opts, opts.names_path("cable") ? quick_cable_seconds : budget::quick_seconds);
    session s = open_session(opts);
    const bool good =
        in_turns("rma", opts, 3, 7, time, s.series, [&](const turn &now) { return measure_all(s, now, time); });
    const auto figures = figures_of(s);
    publish(figures, opts, "rma", [&] { return pictures_of(s, figures); });
    return good && !figures.empty() ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::run_benchmark(argc, argv, {"rma", bench::help_text, bench::rma_case_names(), {"shm", "net", "cable"}},
                                bench::rma);
}
