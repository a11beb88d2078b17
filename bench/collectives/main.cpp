// SPDX-License-Identifier: Apache-2.0
// `onesea bench collectives`. Design: as `onesea bench rma`, everything is measured in turns, one program at a time:
// for each path and number of ranks a job of ours with all cases, the floors of its exchanges, and each peer.
#include "collectives/plan.hpp"
#include "driver/cable.hpp"
#include "driver/command_line.hpp"
#include "driver/peers.hpp"
#include "driver/picture.hpp"
#include "driver/turns.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace bench {
namespace {

// The most that one program of a turn may take. A peer that hangs costs no more than this, and what it has measured
// until then counts.
constexpr double step_seconds = 60, peer_seconds = 30, quick_peer_seconds = 5;
constexpr double quick_cable_seconds = 60;
constexpr const char *help_text =
    "Measures what ranks do together, and small exchanges, beside installed MPIs.\n\n"
    "  exchange   two ranks: each puts its data with a signal (sea_put_signal) to the other and waits for the\n"
    "             other's signal; beside MPI_Sendrecv. Floor: half of a round trip of as many bytes (to 32 KB;\n"
    "             cable: what one packet holds), by a UDP datagram, or by a copy and a flag in shared memory\n"
    "  barrier    sea_barrier; MPI_Barrier\n"
    "  allgather  sea_allgather, bytes of each rank; MPI_Allgather\n"
    "  allreduce  sea_allreduce, the sum of so many bytes of doubles; MPI_Allreduce\n"
    "  reduce_scatter  sea_reduce_scatter, sums of which each rank gets so many bytes; MPI_Reduce_scatter_block\n"
    "  scan       sea_scan, sums of so many bytes, in turn from the first rank on and from the last one on, so that\n"
    "             none runs ahead; MPI_Scan\n"
    "  alltoall   sea_alltoall, bytes from each rank to each; MPI_Alltoall\n"
    "  alltoallv  sea_alltoallv, bytes in the mean: half of them to ranks behind, half as many again to those\n"
    "             before; MPI_Alltoallv\n"
    "  broadcast  sea_broadcast, every rank is the root in turn, so that none runs ahead; MPI_Bcast\n"
    "  neighbors  a step (sea_neighbors_start, sea_neighbors_wait) of a ring, bytes to each side, with two ranks to\n"
    "             the other one; MPI_Neighbor_alltoall on a graph of MPI_Dist_graph_create_adjacent\n"
    "  allgatherv, gatherv, scatterv  sea_allgatherv and so on, bytes in the mean: half of them at even ranks, half "
    "as\n"
    "             many again at odd ones; every rank is the root in turn; MPI_Allgatherv and so on\n"
    "  exscan     sea_exscan, as scan; MPI_Exscan\n\n"
    "What is counted. All ranks make the same calls, one after the other with nothing between, as many as rank 0\n"
    "has found to take the wanted time (60 ms; --quick: 10) after a warm-up that is not counted. A sample is rank\n"
    "0's time for a batch of calls of 200 us or more, divided by their number, a multiple of the ranks. The figure\n"
    "is the median over the runs of each run's median; p99 the median of the runs' 99th percentiles of samples.\n"
    "2, 4 and 8 ranks (--quick: 2 and 4; exchange: 2; neighbors: 2 and 4). Two are pinned to two processors, more\n"
    "are left to the scheduler. Where ranks outnumber the processors, the figures say above all how they share\n"
    "them: Open MPI is told to yield then, MPICH cannot.\n"
    "Paths: net every rank on a node of its own, the MPIs over TCP on the loopback; shm all ranks on one node;\n"
    "cable two network namespaces of this machine, mtu 1500, half of the ranks at each end, which is one node, for\n"
    "ours and the MPIs alike. It needs root and is measured only when asked for; --quick then may take a\n"
    "minute.\n";

struct session {
    options opts;
    std::vector<collective_group> groups;
    std::string onesea, worker, floors;
    std::vector<peer> peers;
    core_pair cores{-1, -1};
    series_table series;
    std::unique_ptr<cable> wire; // null: no group wants it
    const cable *wire_for(const collective_group &group) const { return group.path == "cable" ? wire.get() : nullptr; }
    std::string milliseconds() const { return opts.quick ? "10" : "60"; }
};

// ---- one turn -------------------------------------------------------------------------------------------------------

std::string last_line(const std::string &text)
{
    const auto end = text.find_last_not_of('\n');
    if (end == std::string::npos) return "no message";
    const auto begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

// Runs one program of a turn and keeps its results; false, with a line on stderr, if it did not end well.
bool measure_with(session &s, const std::string &who, const collective_group &group, const command &what,
                  const budget &time, double seconds)
{
    const double limit = std::min(seconds, std::max(0.1, time.left()));
    const auto result = run(what, limit);
    s.series.add_lines(who + "@" + group.id(), result.out);
    if (result.good()) return true;
    progress(fmt::format("  {} {}: {}", who, group.id(),
                         result.timed_out ? fmt::format("ended after {:.0f} s", limit)
                                          : fmt::format("exit code {}: {}", result.exit_code, last_line(result.err))));
    return false;
}

// A program of ours or of a peer with the cases of a group. More ranks than two are pinned nowhere.
std::vector<std::string> with_cases(const session &s, const std::string &program, const collective_group &group)
{
    std::vector<std::string> all = {program, "--ms", s.milliseconds(), "--cores",
                                    group.ranks == 2 ? s.cores.text() : "-1,-1"};
    for (const auto &one : group.cases) all.push_back(one.argument());
    return all;
}

command our_job(const session &s, const collective_group &group)
{
    const std::string ranks = std::to_string(group.ranks);
    command c{{s.onesea, "run", "-n", ranks, "--secure", s.opts.secure, "--timeout", "60"}, {}};
    const auto append = [&](const std::vector<std::string> &more) {
        c.argv.insert(c.argv.end(), more.begin(), more.end());
    };
    if (const cable *along = s.wire_for(group)) {
        append({"--iface", cable::device, "--host", along->from + "," + along->to, "--ppn",
                std::to_string(group.ranks / 2)});
        c.environment = {{"ONESEA_RSH", along->remote_shell()}};
    } else {
        append({"--nodes", group.path == "net" ? ranks : "1"});
    }
    append(with_cases(s, s.worker, group));
    return c;
}

command peer_job(const session &s, const peer &p, const collective_group &group)
{
    const auto program = with_cases(s, p.collectives, group);
    const cable *along = s.wire_for(group);
    return along ? p.launch(*along, program, group.ranks) : p.launch(group.ranks, group.path, program);
}

bool measure_floors(session &s, const collective_group &group, const budget &time)
{
    command c{{s.floors, "--ms", s.milliseconds(), "--cores", s.cores.text()}, {}};
    if (const cable *along = s.wire_for(group)) c.argv.insert(c.argv.end(), {"--cable", along->ends()});
    const auto options = c.argv.size();
    for (const auto &one : group.cases)
        if (!one.floor.empty()) c.argv.push_back(one.floor_argument());
    return c.argv.size() == options || measure_with(s, "floor", group, c, time, step_seconds);
}

// False if a part of ours failed.
bool measure_group(session &s, const collective_group &group, const budget &time)
{
    bool good = measure_with(s, "onesea", group, our_job(s, group), time, step_seconds);
    good = (time.spent() || measure_floors(s, group, time)) && good;
    for (const auto &p : s.peers)
        if (!time.spent())
            measure_with(s, p.name, group, peer_job(s, p, group), time,
                         s.opts.quick ? quick_peer_seconds : peer_seconds);
    return good;
}

bool measure_all(session &s, const turn &now, const budget &time)
{
    bool good = true;
    for (const auto &group : s.groups) {
        if (time.spent()) {
            progress(
                fmt::format("  the time of --quick is over: {} is not measured in run {}", group.id(), now.number));
            continue;
        }
        progress(fmt::format("{}: {} ranks, {}", now.title, group.ranks, group.path));
        good = measure_group(s, group, time) && good;
    }
    return good || time.spent();
}

// ---- figures --------------------------------------------------------------------------------------------------------

void add_figure(const session &s, std::vector<figure> &all, const collective_group &group, const collective_case &one)
{
    const auto runs_of = [&](const std::string &who, const std::string &name) {
        return s.series.find({who + "@" + group.id(), name, "latency_us", one.bytes});
    };
    const auto *runs = runs_of("onesea", one.name);
    if (!runs) return;
    figure f{"collectives", one.name, group.path, "waiting", s.opts.secure, one.bytes, group.ranks, "latency_us"};
    summarise(f, *runs);
    if (!one.floor.empty()) {
        const auto least = scaled(runs_of("floor", one.floor), 0.5);
        compare(f, {"half_" + one.floor, "floor", ""}, &least);
    }
    for (const auto &p : s.peers) compare(f, {p.name, "peer", p.version}, runs_of(p.name, one.name));
    all.push_back(f);
}

// By case: how it grows with the ranks is seen in lines that follow each other.
std::vector<figure> figures_of(const session &s)
{
    std::vector<figure> all;
    for (const auto &name : collective_case_names())
        for (const std::string path : {"net", "shm", "cable"})
            for (const auto &group : s.groups)
                for (const auto &one : group.cases)
                    if (one.name == name && group.path == path) add_figure(s, all, group, one);
    return all;
}

std::string picture(const session &s, const std::vector<figure> &figures, const collective_group &group)
{
    std::vector<std::string> series = {"onesea"};
    for (const auto &p : s.peers) series.push_back(p.name);
    std::vector<bar_group> bars;
    for (const auto &f : figures) {
        if (f.path != group.path || f.ranks != group.ranks) continue;
        bar_group g{f.bytes ? fmt::format("{} {}", f.name, size_text(f.bytes)) : f.name, {f.median}};
        for (const auto &p : s.peers) {
            const auto found =
                std::find_if(f.against.begin(), f.against.end(), [&](const rival &r) { return r.name == p.name; });
            g.values.push_back(found == f.against.end() ? 0 : found->median);
        }
        bars.push_back(g);
    }
    return bar_picture(fmt::format("What {} ranks do together, {}", group.ranks, group.path),
                       "microseconds; below is better", series, bars);
}

std::vector<std::pair<std::string, std::string>> pictures_of(const session &s, const std::vector<figure> &figures)
{
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto &group : s.groups)
        files.emplace_back(fmt::format("collectives-{}-{}.svg", group.path, group.ranks), picture(s, figures, group));
    return files;
}

// ---- main -----------------------------------------------------------------------------------------------------------

session open_session(const options &opts)
{
    session s;
    s.opts = opts;
    s.groups = collective_groups_of(opts);
    if (s.groups.empty()) throw std::runtime_error("nothing is left to measure with this --case and --path");
    if (opts.names_path("cable")) s.wire = std::make_unique<cable>();
    s.onesea = own_program("onesea");
    s.worker = own_program("onesea-bench-worker-collectives");
    s.floors = own_program("onesea-bench-floors");
    s.cores = measuring_cores();
    if (!opts.no_peers) s.peers = find_peers();
    return s;
}

int collectives(const options &opts)
{
    prepare_to_run();
    const budget time(opts, opts.names_path("cable") ? quick_cable_seconds : budget::quick_seconds);
    session s = open_session(opts);
    const bool good =
        in_turns("collectives", opts, 2, 5, time, s.series, [&](const turn &now) { return measure_all(s, now, time); });
    const auto figures = figures_of(s);
    publish(figures, opts, "collectives", [&] { return pictures_of(s, figures); });
    return good && !figures.empty() ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::run_benchmark(
        argc, argv, {"collectives", bench::help_text, bench::collective_case_names(), {"shm", "net", "cable"}},
        bench::collectives);
}
