// SPDX-License-Identifier: Apache-2.0
// NAS CG over Onesea's native one-sided interface. Exit status: 0 verified, 1 not verified or failed, 2 called wrongly.
#include "comm_onesea.hpp"
#include "report.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

namespace {

const char *const usage =
    "usage: examples-cg [--class S|W|A|B] [--progress auto|live|lines|each|none] [--report FILE]\n"
    "\n"
    "NAS Parallel Benchmark CG on a power of two of ranks, verified with the published value.\n"
    "  --class     problem class; default S, the smallest. A is the usual one, B about 36 times its work\n"
    "  --progress  live: one line that is rewritten; lines: some lines; each: one for every iteration;\n"
    "              auto (default): live on a terminal, else lines\n"
    "  --report    also write the result to FILE, one `name value` a line\n";

struct bad_call : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct options {
    const npb::problem *given = npb::find_problem('S');
    npb::progress_style progress = npb::progress_style::automatic;
    std::string report;
    bool help = false;
};

const npb::problem *parse_class(const std::string &value)
{
    const npb::problem *found = value.size() == 1 ? npb::find_problem(value[0]) : nullptr;
    if (found == nullptr) throw bad_call("class '" + value + "' is unknown; use S, W, A or B");
    return found;
}

npb::progress_style parse_progress(const std::string &value)
{
    using npb::progress_style;
    if (value == "auto") return progress_style::automatic;
    if (value == "live") return progress_style::live;
    if (value == "lines") return progress_style::lines;
    if (value == "each") return progress_style::each;
    if (value == "none") return progress_style::none;
    throw bad_call("progress '" + value + "' is unknown; use auto, live, lines, each or none");
}

options parse(int argc, char **argv)
{
    options result;
    for (int i = 1; i < argc; ++i) {
        std::string name = argv[i], value;
        if (name == "--help" || name == "-h") {
            result.help = true;
            return result;
        }
        if (auto equals = name.find('='); equals != std::string::npos) {
            value = name.substr(equals + 1);
            name.resize(equals);
        } else if (name == "--class" || name == "--progress" || name == "--report") {
            if (i + 1 == argc) throw bad_call("option " + name + " needs a value");
            value = argv[++i];
        }
        if (name == "--class")
            result.given = parse_class(value);
        else if (name == "--progress")
            result.progress = parse_progress(value);
        else if (name == "--report")
            result.report = value;
        else
            throw bad_call("option '" + name + "' is unknown");
    }
    return result;
}

bool run(const options &chosen)
{
    npb::comm_onesea peers;
    const bool talks = peers.rank() == 0;
    const npb::problem &given = *chosen.given;
    if (!npb::grid::fits(peers.size()))
        throw bad_call("CG runs on a power of two of ranks, not on " + std::to_string(peers.size()));
    if (talks) {
        std::printf("%s\n", npb::headline(given, peers.size(), sea_nodes(), "one-sided puts with signals").c_str());
        std::fflush(stdout);
    }
    npb::kernel kernel(given, peers);
    npb::progress_line line(talks ? chosen.progress : npb::progress_style::none, given.iterations);
    const double start = sea_time();
    const auto result = kernel.run([&](int i, double zeta) { line.show(i, zeta, sea_time() - start); });
    const auto traffic = peers.traffic();
    if (talks) {
        line.end();
        npb::print_verdict(given, result);
        npb::print_tables(given, result, traffic);
        if (!chosen.report.empty() && !npb::write_report(chosen.report, given, result, peers.size()))
            throw std::runtime_error("cannot write " + chosen.report + ": " + std::strerror(errno));
    }
    peers.barrier(); // nobody frees a slab that others still write to
    return npb::error_of(given, result.zeta) <= npb::tolerance;
}

int call(int argc, char **argv)
{
    try {
        const options chosen = parse(argc, argv);
        if (!chosen.help) return run(chosen) ? 0 : 1;
        if (sea_rank() == 0) std::fputs(usage, stdout);
        return 0;
    } catch (const bad_call &error) {
        if (sea_rank() == 0) std::fprintf(stderr, "examples-cg: %s (see examples-cg --help)\n", error.what());
        return 2;
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (int status = sea_init(nullptr); status != SEA_OK) {
        std::fprintf(stderr, "examples-cg: sea_init: %s: %s\n", sea_strerror(status), sea_last_error());
        return 1;
    }
    int code = 1;
    try {
        code = call(argc, argv);
    } catch (const std::exception &error) {
        sea_abort(1, (std::string("examples-cg: ") + error.what()).c_str());
    }
    if (int status = sea_finalize(); status != SEA_OK) {
        std::fprintf(stderr, "examples-cg: sea_finalize: %s: %s\n", sea_strerror(status), sea_last_error());
        return 1;
    }
    return code;
}
