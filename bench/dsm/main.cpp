// SPDX-License-Identifier: Apache-2.0
// `onesea bench dsm`: the experiment of Shimono, Apduhan, Asazu and Arita, "Implementing a Distributed Shared Memory on
// LAPI for IBM SP2". Design: one program over dsm.h, linked with three libraries. A turn starts it on LAPI, on TCP and
// on UDP, one after the other, inside a node and then between two virtual ones. The socket systems use the loopback in
// both cases; they are measured in both, so that every ratio is of jobs that ran within seconds of each other.
#include "driver/command_line.hpp"
#include "driver/places.hpp"
#include "driver/process.hpp"
#include "driver/turns.hpp"
#include "dsm/report.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace bench {
namespace {

constexpr double step_seconds = 60; // the most that one job of a turn may take
constexpr std::array<const char *, 3> wires = {"lapi", "tcp", "udp"};
const std::vector<std::string> operations = {"read", "write", "write_fence", "write_b"};
constexpr const char *help_text =
    "The distributed shared memory of dsm.h on LAPI (this project's), beside the same on TCP and on UDP sockets with "
    "a\n"
    "serving thread each. Node 0 accesses node 1, which waits in the barrier. A run does 1000 trials of each size up "
    "to\n"
    "64 KB (--quick: 200), above that as many bytes in all but at least 8 trials; a tenth warms up and is not "
    "counted.\n"
    "A figure is the median over the runs of the time of all trials divided by their number; p99 is the longest "
    "run's.\n"
    "  read         READ: until the data is here\n"
    "  write        WRITE: until the last one has returned; UDP: with what was lost\n"
    "  write_fence  WRITE, and one fence at the end: until all data that arrives at all has arrived\n"
    "  write_b      WRITE_B: until the data is in the target's memory\n"
    "The table shows how many times our time the others take; the JSON our median divided by theirs. lost: the share "
    "of\n"
    "WRITEs that did not reach the target's memory whole.\n";

struct losses {
    double lost = 0, of = 0;
};

struct session {
    options opts;
    std::string onesea;
    std::map<std::string, std::string> workers;
    std::vector<std::size_t> sizes;
    series_table series;
    std::map<series_key, losses> lost;
};

std::string source_of(const std::string &wire, const std::string &path) { return wire + "@" + path; }

void add_lost_lines(session &s, const std::string &source, const std::string &output)
{
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string tag, name;
        std::size_t bytes = 0;
        losses l;
        if (!(words >> tag >> name >> bytes >> l.lost >> l.of) || tag != "lost") continue;
        losses &sum = s.lost[{source, name, "lost", bytes}];
        sum.lost += l.lost;
        sum.of += l.of;
    }
}

bool measure_one(session &s, const std::string &wire, const std::string &path, const budget &time)
{
    command job{{s.onesea, "run", "-n", "2", "--nodes", path == "net" ? "2" : "1", "--secure", s.opts.secure,
                 "--timeout", "60", s.workers[wire], s.opts.quick ? "200" : "1000"},
                {}};
    for (std::size_t size : s.sizes) job.argv.push_back(std::to_string(size));
    const auto result = run(job, std::min(step_seconds, std::max(0.1, time.left())));
    s.series.add_lines(source_of(wire, path), result.out);
    add_lost_lines(s, source_of(wire, path), result.out);
    if (result.good()) return true;
    progress(fmt::format("  {} {}: {}: {}", wire, path,
                         result.timed_out ? "did not end in time" : fmt::format("exit code {}", result.exit_code),
                         result.err.substr(0, 300)));
    return time.spent();
}

bool measure_turn(session &s, const budget &time)
{
    bool good = true;
    for (const std::string path : {"shm", "net"})
        for (const std::string wire : wires)
            if (s.opts.wants_path(path) && !(s.opts.no_peers && wire != "lapi"))
                good = measure_one(s, wire, path, time) && good;
    return good;
}

void compare_with(const session &s, figure &f, const std::string &wire)
{
    const series_key key{source_of(wire, f.path), f.name, f.metric, f.bytes};
    const std::size_t before = f.against.size();
    compare(f, {"dsm_" + wire, "peer", ""}, s.series.find(key));
    if (f.against.size() == before || f.name.find("write") != 0) return;
    auto found = s.lost.find({source_of(wire, f.path), f.name, "lost", f.bytes});
    if (found != s.lost.end() && found->second.of > 0)
        f.against.back().lost_percent = 100 * found->second.lost / found->second.of;
}

std::vector<figure> figures_of(const session &s)
{
    std::vector<figure> all;
    for (const auto &operation : operations)
        for (const std::string path : {"shm", "net"})
            for (std::size_t size : s.sizes) {
                const auto *runs = s.series.find({source_of("lapi", path), operation, "latency_us", size});
                if (!runs || !s.opts.wants_case(operation)) continue;
                figure f{"dsm", operation, path, "waiting", s.opts.secure, size, 2, "latency_us"};
                summarise(f, *runs);
                f.p99 = f.max; // one sample a run: the worst of them
                compare_with(s, f, "tcp");
                compare_with(s, f, "udp");
                all.push_back(f);
            }
    return all;
}

std::vector<std::size_t> sizes_of(bool quick)
{
    if (quick) return {4, 64, 4096, 65536, 1 << 20};
    std::vector<std::size_t> sizes;
    for (std::size_t size = 4; size <= 65536; size *= 2) sizes.push_back(size);
    for (std::size_t size = 262144; size <= (16 << 20); size *= 4) sizes.push_back(size);
    return sizes;
}

int dsm(const options &opts)
{
    prepare_to_run();
    const budget time(opts);
    session s;
    s.opts = opts;
    s.onesea = own_program("onesea");
    for (const std::string wire : wires) s.workers[wire] = own_program("onesea-bench-worker-dsm-" + wire);
    s.sizes = sizes_of(opts.quick);
    const bool good = in_turns("dsm", opts, 3, 7, time, s.series, [&](const turn &now) {
        progress(now.title);
        return measure_turn(s, time);
    });
    const auto figures = figures_of(s);
    publish(
        figures, opts, "dsm", [&] { return dsm_pictures(figures); }, dsm_table);
    return good && !figures.empty() ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::run_benchmark(argc, argv, {"dsm", bench::help_text, bench::operations}, bench::dsm);
}
