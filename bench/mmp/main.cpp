// SPDX-License-Identifier: Apache-2.0
// `onesea bench mmp`. Design: as `onesea bench rma`, everything is measured in turns, one program at a time: ours, then
// the floors and puts beside it, then the MPIs, on the same two processors.
#include "agent/profile_file.hpp"
#include "driver/command_line.hpp"
#include "driver/process.hpp"
#include "driver/turns.hpp"
#include "mmp/session.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

constexpr double step_seconds = 60;
constexpr const char *shared_stream = "stream_shared";
constexpr double quick_seconds = 14, quick_cable_seconds = 60;
constexpr const char *help_text =
    "Measures the message passing of mmp.h as the paper did (figures 4 to 7), beside floors, puts and MPIs.\n\n"
    "  pingpong   a message there and one of the same size back: latency of both; floor: one datagram, or one\n"
    "             copy and a flag in shared memory, there and back\n"
    "  stream     16 MB of messages (2 to 512) into posted receives and an answer, to 64 MB; floors: a UDP\n"
    "             stream, memcpy; put: Onesea's own puts with the same number under way. Inside a node\n"
    "             also stream_shared: the buffers of both ranks are of MP_alloc()\n"
    "  fragment   the stream of 1 MB messages by fragment length (bytes: that length); tuned: as jobs load it here\n"
    "  computing  how long a computation of 30 ms takes that calls nothing, while a message of 8 KB comes every\n"
    "             50 us; alone: without; puts: while as many puts come; bytes: puts, and a copy of all they\n"
    "             brought, inside a node; pickup, send: what the first receive then, and each send, took\n"
    "  is_s, is_a, cg_s, cg_a  NAS IS and CG, class S and A, on 1 to 8 ranks; one_sided: the same over puts\n"
    "Samples, medians and ratios are as in 'onesea bench rma'; a NAS program gives one time a run, its own.\n"
    "Paths: shm one node; net two virtual nodes, MPI over TCP between all ranks on the loopback; cable two\n"
    "network namespaces, mtu 1500, two nodes for all of them; root only. --quick leaves out class A unless named.\n";

bool is_net(const std::string &path) { return path != "shm"; }

// ---- one turn -------------------------------------------------------------------------------------------------------

std::vector<std::string> arguments(const std::string &name, const std::vector<std::size_t> &sizes)
{
    std::vector<std::string> all;
    for (std::size_t n : sizes) all.push_back(fmt::format("{}:{}", name, n));
    return all;
}

void append(command &c, const std::vector<std::string> &more) { c.argv.insert(c.argv.end(), more.begin(), more.end()); }

command our_job(const mmp_session &s, const mmp_group &g)
{
    command c = s.job(g.path, 2);
    append(c, {s.worker, "--ms", s.milliseconds(), "--cores", s.cores.text()});
    append(c, arguments(g.own_case(), g.sizes));
    if (g.also_shared()) append(c, arguments(shared_stream, g.sizes));
    return c;
}

bool measure_floors(mmp_session &s, const mmp_group &g, const budget &time)
{
    command c{{s.floors, "--ms", s.milliseconds(), "--cores", s.cores.text()}, {}};
    if (const cable *along = s.wire_for(g.path)) append(c, {"--cable", along->ends()});
    const std::size_t options = c.argv.size();
    for (std::size_t n : g.sizes)
        if (const auto name = g.floor_for(n); !name.empty()) c.argv.push_back(fmt::format("{}:{}", name, n));
    return c.argv.size() == options || s.measure("floor@" + g.id(), c, time);
}

bool measure_puts(mmp_session &s, const mmp_group &g, const budget &time)
{
    if (g.kind != "stream") return true;
    command c = s.job(g.path, 2);
    append(c, {s.put_worker, "--ms", s.milliseconds(), "--cores", s.cores.text(), "--path",
               is_net(g.path) ? "net" : "shm", "--target", "waiting"});
    append(c, arguments("put_bw", g.sizes));
    return s.measure("put@" + g.id(), c, time);
}

void measure_peers(mmp_session &s, const mmp_group &g, const budget &time)
{
    if (g.kind != "pingpong" && g.kind != "stream") return;
    for (const auto &p : s.peers) {
        if (time.spent()) return;
        std::vector<std::string> program = {p.pingpong, "--ms", s.milliseconds(), "--cores", s.cores.text()};
        const auto cases = arguments(g.kind, g.sizes);
        program.insert(program.end(), cases.begin(), cases.end());
        const cable *along = s.wire_for(g.path);
        s.measure(p.name + "@" + g.id(), along ? p.launch(*along, program) : p.launch(2, g.path, program), time);
    }
}

bool measure_fragments(mmp_session &s, const mmp_group &g, const budget &time)
{
    bool good = true;
    const auto kind = g.path == "net" ? onesea::path_kind::loopback : onesea::path_kind::ethernet;
    for (std::uint32_t length : fragment_lengths(g.path, s.opts.quick, s.tuned_fragment(g.path))) {
        if (time.spent()) return good;
        onesea::profile p = s.tuned;
        p.of(kind).fragment = length;
        onesea::agent::write_profile(s.folder + "/profile.json", p, {});
        command c = our_job(s, g);
        const auto run_word = std::find(c.argv.begin(), c.argv.end(), "run");
        c.argv.insert(run_word + 1, {"--profile", s.folder + "/profile.json"});
        good = s.measure(fmt::format("{}@{}", length, g.id()), c, time) && good;
    }
    return good;
}

bool measure_group(mmp_session &s, const mmp_group &g, const budget &time)
{
    if (g.kind == "fragment") return measure_fragments(s, g, time);
    bool good = true;
    mmp_group part = g;
    for (const auto &sizes : measured_at_once(g.sizes, s.opts)) {
        part.sizes = sizes;
        good = s.measure("mmp@" + g.id(), our_job(s, part), time) && good;
        good = measure_floors(s, part, time) && good;
        good = measure_puts(s, part, time) && good;
        measure_peers(s, part, time);
    }
    return good;
}

// ---- figures --------------------------------------------------------------------------------------------------------

figure figure_of(const mmp_session &s, const mmp_group &g, std::size_t bytes, const std::vector<run_result> &runs)
{
    const char *target = g.kind == "computing" ? "computing" : "waiting";
    figure f{"mmp", g.kind, g.path, target, s.opts.secure, bytes, 2, g.metric()};
    summarise(f, runs);
    return f;
}

// `name`: of the worker's case; what it is compared with was measured for the group.
void add_sizes(std::vector<figure> &all, const mmp_session &s, const mmp_group &g, const std::string &name)
{
    for (std::size_t n : g.sizes) {
        const auto *runs = s.series.find({"mmp@" + g.id(), name, g.metric(), n});
        if (!runs) continue;
        figure f = figure_of(s, g, n, *runs);
        f.name = name;
        if (const auto floor = g.floor_for(n); !floor.empty())
            compare(f, {floor, "floor", ""}, s.series.find({"floor@" + g.id(), floor, g.metric(), n}));
        compare(f, {"put", "own", ""}, s.series.find({"put@" + g.id(), "put_bw", g.metric(), n}));
        for (const auto &p : s.peers)
            compare(f, {p.name, "peer", p.version}, s.series.find({p.name + "@" + g.id(), g.kind, g.metric(), n}));
        all.push_back(f);
    }
}

void add_fragments(std::vector<figure> &all, const mmp_session &s, const mmp_group &g)
{
    const auto runs_with = [&](std::uint32_t length) {
        return s.series.find({fmt::format("{}@{}", length, g.id()), "stream", "bandwidth_gbs", fragment_message});
    };
    const std::uint32_t tuned = s.tuned_fragment(g.path);
    for (std::uint32_t length : fragment_lengths(g.path, s.opts.quick, tuned))
        if (const auto *runs = runs_with(length)) {
            all.push_back(figure_of(s, g, length, *runs));
            compare(all.back(), {fmt::format("tuned_{}", tuned), "own", ""}, runs_with(tuned));
        }
}

constexpr double seconds_per_us = 1e-6;

void add_computing(std::vector<figure> &all, const mmp_session &s, const mmp_group &g)
{
    const auto runs = [&](const char *what) {
        return s.series.find({"mmp@" + g.id(), fmt::format("computing_{}", what), "latency_us", g.sizes[0]});
    };
    if (!runs("messages")) return;
    figure f = figure_of(s, g, g.sizes[0], scaled(runs("messages"), seconds_per_us));
    f.metric = "time_s";
    for (const char *what : {"alone", "puts", "bytes"}) {
        const auto beside = scaled(runs(what), seconds_per_us);
        compare(f, {what, what == std::string("alone") ? "floor" : "own", ""}, &beside);
    }
    all.push_back(f);
    for (const char *what : {"pickup", "send"}) {
        if (!runs(what)) continue;
        all.push_back(figure_of(s, g, g.sizes[0], *runs(what)));
        all.back().name = what;
        if (what == std::string("send")) compare(all.back(), {"put", "own", ""}, runs("put"));
    }
}

std::vector<figure> figures_of(const mmp_session &s, const std::vector<mmp_group> &groups,
                               const std::vector<npb_group> &npb)
{
    std::vector<figure> all;
    for (const auto &g : groups) {
        if (g.kind == "fragment")
            add_fragments(all, s, g);
        else if (g.kind == "computing")
            add_computing(all, s, g);
        else
            add_sizes(all, s, g, g.kind);
        if (g.also_shared()) add_sizes(all, s, g, shared_stream);
    }
    const auto times = npb_figures(s, npb);
    all.insert(all.end(), times.begin(), times.end());
    return all;
}

// The table, and what it has no column for.
std::string for_people(const std::vector<figure> &figures)
{
    std::string text = table(figures), beside;
    for (const auto &f : figures)
        for (const auto &r : f.against)
            if (r.kind == "own")
                beside += fmt::format("  {} {} {}: {:.2f} of {} ({})\n", f.name, f.path,
                                      f.bytes ? size_text(f.bytes) : ranks_text(f.ranks), r.ratio, r.name,
                                      number_text(r.median));
    return beside.empty() ? text : text + "\nbeside Onesea's own:\n" + beside;
}

// ---- main -----------------------------------------------------------------------------------------------------------

// Those whose program is in this tree: an installation has no examples.
std::vector<npb_group> with_programs(std::vector<npb_group> all)
{
    for (const char *kernel : {"is", "cg"}) {
        if (find_own_program(fmt::format("examples-{}-mmp", kernel))) continue;
        if (std::erase_if(all, [&](const npb_group &g) { return g.kernel() == kernel; }) > 0)
            progress(fmt::format("mmp: {0}_s and {0}_a are left out: examples-{0}-mmp is not in this tree", kernel));
    }
    return all;
}

struct scratch_folder {
    std::string name = (std::filesystem::temp_directory_path() / "onesea-bench-XXXXXX").string();
    scratch_folder()
    {
        if (!mkdtemp(name.data())) throw std::runtime_error("no folder can be made in " + name);
    }
    ~scratch_folder()
    {
        std::error_code none;
        std::filesystem::remove_all(name, none);
    }
    scratch_folder(const scratch_folder &) = delete;
    scratch_folder &operator=(const scratch_folder &) = delete;
};

void open_session(mmp_session &s, const options &opts, const std::string &folder, bool messages)
{
    s.opts = opts;
    s.folder = folder;
    s.onesea = own_program("onesea");
    if (messages) {
        s.worker = own_program("onesea-bench-worker-mmp");
        s.put_worker = own_program("onesea-bench-worker-rma");
        s.floors = own_program("onesea-bench-floors");
    }
    s.cores = measuring_cores();
    if (opts.names_path("cable")) s.wire = std::make_unique<cable>();
    if (!opts.no_peers) s.peers = find_peers();
    const auto chosen = onesea::agent::choose_profile("");
    s.tuned = chosen.values;
    s.tuned_file = chosen.file;
    progress("mmp: profile " + (chosen.file.empty() ? "none: the defaults" : chosen.file));
}

bool measure_all(mmp_session &s, const std::vector<mmp_group> &groups, const std::vector<npb_group> &npb,
                 const turn &now, const budget &time)
{
    bool good = true;
    const auto begin = [&](const std::string &name) {
        if (time.spent())
            progress(fmt::format("  the time of --quick is over: {} is not measured in run {}", name, now.number));
        else
            progress(now.title + ": " + name);
        return !time.spent();
    };
    for (const auto &g : groups)
        if (begin(g.id())) good = measure_group(s, g, time) && good;
    for (const auto &g : npb)
        if (begin(g.name + "@" + g.path)) good = measure_npb(s, g, time) && good;
    return good || time.spent();
}

int mmp(const options &opts)
{
    prepare_to_run();
    const budget time(opts, opts.names_path("cable") ? quick_cable_seconds : quick_seconds);
    const auto groups = groups_of(opts);
    const auto npb = with_programs(npb_groups_of(opts));
    if (groups.empty() && npb.empty())
        throw std::runtime_error("nothing is left to measure with this --case and --path");
    const scratch_folder folder;
    mmp_session s;
    open_session(s, opts, folder.name, !groups.empty());
    const bool good = in_turns("mmp", opts, 3, 5, time, s.series,
                               [&](const turn &now) { return measure_all(s, groups, npb, now, time); });
    const auto figures = figures_of(s, groups, npb);
    publish(
        figures, opts, "mmp", [&] { return mmp_pictures(s, figures); }, for_people);
    return good && !figures.empty() ? 0 : 1;
}

} // namespace

std::string last_line(const std::string &text)
{
    const auto end = text.find_last_not_of('\n');
    if (end == std::string::npos) return "no message";
    const auto begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

std::uint32_t mmp_session::tuned_fragment(const std::string &path) const
{
    return tuned.of(path == "net" ? onesea::path_kind::loopback : onesea::path_kind::ethernet).fragment;
}

command mmp_session::job(const std::string &path, int ranks) const
{
    command c{{onesea, "run", "-n", std::to_string(ranks), "--secure", opts.secure, "--timeout", "120", "--quiet"}, {}};
    if (const cable *along = wire_for(path)) {
        append(c,
               {"--iface", cable::device, "--host", along->from + "," + along->to, "--ppn", std::to_string(ranks / 2)});
        c.environment = {{"ONESEA_RSH", along->remote_shell()}};
    } else {
        append(c, {"--nodes", is_net(path) ? "2" : "1"});
    }
    return c;
}

bool mmp_session::measure(const std::string &who, const command &what, const budget &time)
{
    const auto result = run(what, std::min(step_seconds, std::max(0.1, time.left())));
    series.add_lines(who, result.out);
    if (result.good()) return true;
    progress(fmt::format("  {}: {} {}", who,
                         result.timed_out ? "did not end in time" : fmt::format("exit code {}", result.exit_code),
                         last_line(result.err)));
    return false;
}

} // namespace bench

int main(int argc, char **argv)
{
    return bench::run_benchmark(argc, argv, {"mmp", bench::help_text, bench::mmp_case_names(), {"shm", "net", "cable"}},
                                bench::mmp);
}
