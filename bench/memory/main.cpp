// SPDX-License-Identifier: Apache-2.0
// `onesea bench memory`. Design: for each number of ranks a simulated job (simulated_job.hpp) is run once per turn, and
// what one real process of it owns is taken at each step. Nothing is computed from sizes of types: all figures are the
// kernel's.
#include "driver/command_line.hpp"
#include "driver/picture.hpp"
#include "driver/places.hpp"
#include "driver/process.hpp"
#include "driver/turns.hpp"
#include "memory/simulated_job.hpp"

#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *help_text =
    "Measures the memory of one process in a job of N ranks, of which it talks to --peers, and of the tables as long "
    "as\n"
    "the job, which lie once per node. The job is simulated: two real agents are told of N ranks and start one "
    "measured\n"
    "process and its peers, which answer over UDP on loopback; the other ranks do not exist.\n\n"
    "What is counted, by the kernel:\n"
    "  init, talk, end  what the process owns: private pages (Anonymous in /proc/self/smaps), pages of the node's "
    "shared\n"
    "                   memory that nobody else has touched (Private of its mapping) and page tables (VmPTE), less "
    "the\n"
    "                   same just before sea_init(). init: after sea_init(); talk: after put and get of 8 B and 64 "
    "KB,\n"
    "                   fetch-add and active message with each peer, three times; end: after all ranks that do not\n"
    "                   exist have ended\n"
    "  all              what the process owned in all after talking: program, C library, everything\n"
    "  tables           blocks of the node's shared memory that were given to it when the table of the job was filled\n"
    "                   in, divided by N: bytes per rank\n"
    "  setup            seconds from starting the agents until their ranks run\n";

struct session {
    options opts;
    simulation what;
    series_table series;
};

const std::vector<std::string> cases = {"init", "talk", "end", "all", "tables", "setup"};

series_key key_of(const std::string &name, unsigned ranks) { return {"onesea", name, "", ranks}; }

void add(session &s, const std::string &name, double value)
{
    s.series.add(key_of(name, s.what.ranks), {value, value});
}

void measure(session &s)
{
    const simulation_result r = run_simulation(s.what);
    const double before = r.steps.at("before").own();
    add(s, "init", r.steps.at("init").own() - before);
    add(s, "talk", r.steps.at("talked").own() - before);
    add(s, "end", r.steps.at("ended").own() - before);
    add(s, "all", r.steps.at("talked").own());
    add(s, "tables", r.table_bytes / s.what.ranks);
    add(s, "setup", r.setup_seconds);
    const unsigned others = s.what.ranks - 1 - s.what.peers;
    progress(
        fmt::format("  {} ranks: set up in {:.2f} s; {} peers in {:.2f} s; {} ends told and taken in within {:.2f} s",
                    s.what.ranks, r.setup_seconds, s.what.peers, r.steps.at("talked").seconds, others, r.ends_seconds));
}

std::vector<unsigned> sizes_of(const session &s)
{
    std::vector<unsigned> sizes;
    for (unsigned n : s.opts.quick ? std::vector<unsigned>{1000} : std::vector<unsigned>{1000, 10'000, 100'000})
        if (n < s.what.ranks && n > s.what.peers) sizes.push_back(n);
    sizes.push_back(s.what.ranks);
    return sizes;
}

std::vector<figure> figures_of(const session &s, const std::vector<unsigned> &sizes)
{
    std::vector<figure> figures;
    for (const auto &name : cases)
        for (unsigned n : sizes) {
            const auto *runs = s.opts.wants_case(name) ? s.series.find(key_of(name, n)) : nullptr;
            if (!runs) continue;
            const char *metric = name == "setup" ? "time_s" : "memory_bytes";
            figure f{"memory", name, "net", "none", s.opts.secure, 0, int(n), metric};
            summarise(f, *runs);
            f.p99 = f.max; // one sample a run: the worst of them
            figures.push_back(f);
        }
    return figures;
}

std::string picture(const std::vector<figure> &figures)
{
    std::vector<bar_group> groups;
    for (const auto &f : figures)
        if (f.name == "talk" || f.name == "init") groups.push_back({fmt::format("{} {}", f.ranks, f.name), {f.median}});
    return bar_picture("What a process owns for its job", "bytes; below is better", {"onesea"}, groups);
}

int run_all(session &s)
{
    prepare_to_run();
    if (s.what.ranks <= s.what.peers)
        throw std::runtime_error(fmt::format("--peers {} need more ranks than {}", s.what.peers, s.what.ranks));
    s.what.secure = s.opts.secure;
    s.what.onesea = own_program("onesea");
    s.what.worker = own_program("onesea-bench-worker-memory");
    const auto sizes = sizes_of(s);
    const budget time(s.opts);
    in_turns("memory", s.opts, 1, 3, time, s.series, [&](const turn &now) {
        progress(now.title);
        for (unsigned n : sizes) {
            s.what.ranks = n;
            if (now.number == 1 || !time.spent()) measure(s);
        }
        return true;
    });
    const auto figures = figures_of(s, sizes);
    publish(figures, s.opts, "memory", [&] {
        return std::vector{std::pair<std::string, std::string>{"memory.svg", picture(figures)}};
    });
    return 0;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
    bench::simulation what;
    bench::benchmark line{"memory", bench::help_text, bench::cases, {"net"}};
    line.numbers = {{"--ranks", &what.ranks, 2, 1'000'000, "of the largest job"},
                    {"--peers", &what.peers, 1, 256, "that the process talks to"},
                    {"--per-node", &what.per_node, 1, 1024, "ranks on each node; 1 is the most expensive"}};
    return bench::run_benchmark(argc, argv, line, [&](const bench::options &o) {
        bench::session s{o, what, {}};
        return bench::run_all(s);
    });
}
