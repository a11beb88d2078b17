// SPDX-License-Identifier: Apache-2.0
// `onesea bench acp`. Design: a turn runs, for a few sizes at a time, a job of two nodes that copies, the floor and the
// peers, one program at a time, and then a job of two nodes and one of one node for calls. Memory is asked once: of
// `onesea bench memory` for the number of processes, of jobs of the worker for registrations and for what channels and
// structures leave. That comes last: on a slow machine a job of a million processes takes more than all of --quick, and
// then nothing else would be measured. Turns after the first have half of that time.
#include "acp/report.hpp"
#include "driver/command_line.hpp"
#include "driver/peers.hpp"
#include "driver/turns.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace bench {
namespace {

constexpr double step_seconds = 60, memory_seconds = 300;
constexpr const char *help_text =
    "Measures ACP on Onesea as its authors measured theirs.\n\n"
    "What is counted:\n"
    "  copy            bandwidth of acp_copy() from the own process to one of another node, a window of 16 MB (2 to "
    "512\n"
    "                  copies) and acp_complete(); beside it MPI_Put with flush and MPI_Send of the installed MPIs, "
    "over\n"
    "                  TCP on the same loopback, with the same windows. Open MPI yields the processor while it waits\n"
    "                  only where there are more processes than processors\n"
    "  malloc, free    100 acp_malloc() of 1 to 32768 bytes, then 100 acp_free() in random order\n"
    "  push_back_list  100 acp_push_back_list() of 8 bytes; list and element on the same process\n"
    "  get8            100 times acp_copy() of 8 bytes to the own process and acp_complete()\n"
    "                  A sample is the mean of the 100 calls of a round; the median is over rounds, then over runs.\n"
    "                  target local: on the own process; waiting: on a process of the same node (shm), of another "
    "(net).\n"
    "                  Ratios: local and net by get8 over net; shm by local, then by get8\n"
    "  libacp          what acp_init() adds to what a process owns after sea_init()\n"
    "  init, talk, tables  as `onesea bench memory`: what the layers under ACP own in a job of up to a million "
    "processes\n"
    "  registration_N  bytes that each of N registrations costs the process\n"
    "  churn_before, churn_after  what the process owns before and after 100,000 channels, lists and vectors "
    "(--quick:\n"
    "                  2000) were made, used and freed\n";

const std::vector<std::string> functions = {"malloc", "free", "push_back_list", "get8"};
const std::vector<std::string> case_names = {"copy", "malloc", "free",   "push_back_list", "get8", "init",
                                             "talk", "tables", "libacp", "registration",   "churn"};

struct session {
    options opts;
    std::string onesea, worker, floors;
    std::vector<peer> peers;
    core_pair cores{-1, -1};
    std::vector<std::size_t> sizes;
    series_table series;
    std::vector<figure> memory; // of the number of processes
    std::size_t churned() const { return opts.quick ? 2000 : 100000; }
    std::string milliseconds() const { return opts.quick ? "10" : "60"; }
    bool wants_calls() const
    {
        return std::any_of(functions.begin(), functions.end(), [&](const auto &f) { return opts.wants_case(f); });
    }
};

// Runs one program and keeps its results; false, with a line on stderr, if it did not end well.
bool measure_with(session &s, const std::string &who, const command &what, const budget &time,
                  double seconds = step_seconds)
{
    const auto result = run(what, std::min(seconds, std::max(0.1, time.left())));
    s.series.add_lines(who, result.out);
    if (result.good()) return true;
    progress(fmt::format("  {}: {} {}", who,
                         result.timed_out ? "did not end in time" : fmt::format("exit code {}", result.exit_code),
                         result.err.substr(0, 300)));
    return time.spent(); // what --quick has no time for is left out
}

bool run_worker(session &s, const std::string &path, const std::vector<std::string> &cases, const budget &time,
                double seconds = step_seconds)
{
    command job{{s.onesea, "run", "-n", "2", "--nodes", path == "net" ? "2" : "1", "--secure", s.opts.secure,
                 "--timeout", fmt::format("{:.0f}", seconds), s.worker, "--ms", s.milliseconds(), "--cores",
                 s.cores.text()},
                {}};
    job.argv.insert(job.argv.end(), cases.begin(), cases.end());
    return cases.empty() || measure_with(s, "onesea@" + path, job, time, seconds);
}

std::vector<std::string> sized(const std::string &name, const std::vector<std::size_t> &sizes)
{
    std::vector<std::string> all;
    for (std::size_t bytes : sizes) all.push_back(fmt::format("{}:{}", name, bytes));
    return all;
}

bool measure_copies_of_others(session &s, const std::vector<std::size_t> &sizes, const budget &time)
{
    const std::vector<std::string> head = {"--ms", s.milliseconds(), "--cores", s.cores.text()};
    command floor{{s.floors}, {}};
    floor.argv.insert(floor.argv.end(), head.begin(), head.end());
    for (const auto &one : sized("udp_stream_gso", sizes)) floor.argv.push_back(one);
    const bool good = time.spent() || measure_with(s, "floor", floor, time);
    for (const auto &p : s.peers) {
        std::vector<std::string> program = {p.rma};
        program.insert(program.end(), head.begin(), head.end());
        program.insert(program.end(), {"--batch", "1"});
        for (const std::string name : {"put_bw", "send_bw"})
            for (const auto &one : sized(name, sizes)) program.push_back(one);
        if (!time.spent()) measure_with(s, p.name, p.launch(2, "net", program), time);
    }
    return good;
}

bool measure_copies(session &s, const budget &time)
{
    bool good = true;
    for (const auto &sizes : measured_at_once(s.sizes, s.opts)) {
        if (time.spent()) break;
        good = run_worker(s, "net", sized("copy", sizes), time) && good;
        good = measure_copies_of_others(s, sizes, time) && good;
    }
    return good;
}

bool measure_turn(session &s, const budget &time)
{
    bool good = true;
    if (s.opts.wants_case("copy") && s.opts.wants_path("net")) good = measure_copies(s, time);
    // The ratios divide by get8 over net, so that is measured also when only shm is wanted.
    for (const std::string path : {"net", "shm"})
        if (s.wants_calls() && (s.opts.wants_path(path) || path == "net") && !time.spent())
            good = run_worker(s, path, {"calls"}, time) && good;
    return good;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

bool measure_processes(session &s, const budget &time)
{
    command what{
        {own_program("onesea-bench-memory"), "--json", "--runs", s.opts.quick ? "1" : "3", "--secure", s.opts.secure},
        {}};
    if (s.opts.quick) what.argv.emplace_back("--quick");
    const auto result = run(what, std::min(memory_seconds, std::max(0.1, time.left())));
    if (!result.good()) {
        progress("  memory by processes: " +
                 (result.timed_out ? std::string("did not end in time") : result.err.substr(0, 300)));
        return time.spent();
    }
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
        const auto j = nlohmann::json::parse(line);
        const std::string name = j.at("case");
        if ((name != "init" && name != "talk" && name != "tables") || !s.opts.wants_case(name)) continue;
        s.memory.push_back({"acp", name, "net", "none", s.opts.secure, 0, j.at("ranks"), "memory_bytes", j.at("median"),
                            j.at("min"), j.at("max"), j.at("p99"), j.at("runs")});
    }
    return true;
}

bool measure_memory(session &s, const budget &time)
{
    bool good = true;
    const auto wants = [&](const char *name) { return s.opts.wants_case(name) && !time.spent(); };
    for (const std::string path : {"shm", "net"})
        if (s.opts.wants_path(path) && wants("libacp")) good = run_worker(s, path, {"libacp"}, time) && good;
    std::vector<std::string> counts;
    for (const std::string n : {"128", "10000", "100000"}) counts.push_back("registered:" + n);
    if (s.opts.wants_path("shm") && wants("registration")) good = run_worker(s, "shm", counts, time) && good;
    for (const std::string path : {"shm", "net"})
        if (s.opts.wants_path(path) && wants("churn"))
            good = run_worker(s, path, {fmt::format("churn:{}", s.churned())}, time, memory_seconds) && good;
    if (s.opts.wants_path("net") && (wants("init") || wants("talk") || wants("tables")))
        good = measure_processes(s, time) && good;
    return good;
}

// ---- figures --------------------------------------------------------------------------------------------------------

void add_copies(const session &s, std::vector<figure> &all)
{
    for (std::size_t bytes : s.sizes) {
        const auto *runs = s.series.find({"onesea@net", "copy", "bandwidth_gbs", bytes});
        if (!runs || !s.opts.wants_case("copy")) continue;
        figure f{"acp", "copy", "net", "waiting", s.opts.secure, bytes, 2, "bandwidth_gbs"};
        summarise(f, *runs);
        compare(f, {"udp_stream_gso", "floor", ""}, s.series.find({"floor", "udp_stream_gso", "bandwidth_gbs", bytes}));
        for (const auto &p : s.peers)
            for (const std::string how : {"put", "send"})
                compare(f, {p.name + "_" + how, "peer", p.version},
                        s.series.find({p.name, how + "_bw", "bandwidth_gbs", bytes}));
        all.push_back(f);
    }
}

void add_call(const session &s, std::vector<figure> &all, const std::string &name, const std::string &path, bool local)
{
    const auto key = [](const std::string &way, const std::string &what) {
        return series_key{"onesea@" + way, what, "latency_us", 0};
    };
    const auto *runs = s.series.find(key(path, name + (local ? "_local" : "")));
    if (!runs || !s.opts.wants_case(name) || !s.opts.wants_path(path)) return;
    figure f{"acp", name, path, local ? "local" : "waiting", s.opts.secure, 0, 2, "latency_us"};
    summarise(f, *runs);
    if (path == "shm" && !local) compare(f, {"local", "floor", ""}, s.series.find(key(path, name + "_local")));
    if (name != "get8") compare(f, {"get8", "floor", ""}, s.series.find(key("net", "get8")));
    all.push_back(f);
}

void add_memory(const session &s, std::vector<figure> &all)
{
    all.insert(all.end(), s.memory.begin(), s.memory.end());
    const auto add = [&](const std::string &name, const std::string &path, const std::string &measured, std::size_t n) {
        const auto *runs = s.series.find({"onesea@" + path, measured, "memory_bytes", n});
        if (!runs) return;
        figure f{"acp", name, path, "none", s.opts.secure, 0, 2, "memory_bytes"};
        summarise(f, *runs);
        all.push_back(f);
    };
    for (const std::string path : {"shm", "net"}) add("libacp", path, "libacp", 0);
    for (std::size_t n : {128, 10000, 100000}) add(fmt::format("registration_{}", n), "shm", "registration", n);
    for (const std::string path : {"shm", "net"})
        for (const std::string when : {"churn_before", "churn_after"}) add(when, path, when, s.churned());
}

std::vector<figure> figures_of(const session &s)
{
    std::vector<figure> all;
    add_copies(s, all);
    for (const auto &name : functions) {
        add_call(s, all, name, "shm", true);
        add_call(s, all, name, "shm", false);
        add_call(s, all, name, "net", false);
    }
    add_memory(s, all);
    return all;
}

std::vector<std::size_t> sizes_of(bool quick)
{
    if (quick) return {8, 4096, 65536, 1 << 20};
    std::vector<std::size_t> sizes;
    for (std::size_t size = 8; size <= (64u << 20); size *= 2)
        if (size < 128 || size > 4 << 20 || (size & 0x5555555555555555u)) sizes.push_back(size);
    return sizes;
}

session open_session(const options &opts)
{
    session s;
    s.opts = opts;
    s.onesea = own_program("onesea");
    s.worker = own_program("onesea-bench-worker-acp");
    s.floors = own_program("onesea-bench-floors");
    s.cores = measuring_cores();
    s.sizes = sizes_of(opts.quick);
    if (!opts.no_peers && opts.wants_case("copy") && opts.wants_path("net")) s.peers = find_peers();
    return s;
}

int acp(const options &opts)
{
    prepare_to_run();
    const budget time(opts);
    session s = open_session(opts);
    const budget for_turns(opts.quick, time.left() / 2);
    const bool speed = in_turns("acp", opts, 3, 7, for_turns, s.series, [&](const turn &now) {
        progress(now.title);
        return measure_turn(s, time);
    });
    const bool memory = measure_memory(s, time);
    const auto figures = figures_of(s);
    publish(figures, opts, "acp", [&] { return acp_pictures(figures); });
    return memory && speed && !figures.empty() ? 0 : 1;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    return bench::run_benchmark(argc, argv, {"acp", bench::help_text, bench::case_names}, bench::acp);
}
