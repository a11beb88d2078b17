// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

namespace npb {
namespace {

const char *const usage =
    "  --class     problem class; default S, the smallest. A is the usual one\n"
    "  --progress  live: one line that is rewritten; lines: some lines; each: one for every iteration; none;\n"
    "              auto (default): live on a terminal, else lines\n"
    "  --report    also write the result to FILE, one `name value` a line\n";

struct options {
    char problem_class = 'S';
    progress_style progress = progress_style::automatic;
    std::string report;
    bool help = false;
};

char parse_class(const std::string &value)
{
    if (value.size() != 1) throw bad_call("class '" + value + "' is unknown; use S, W, A or B");
    return value[0];
}

progress_style parse_progress(const std::string &value)
{
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
            result.problem_class = parse_class(value);
        else if (name == "--progress")
            result.progress = parse_progress(value);
        else if (name == "--report")
            result.report = value;
        else
            throw bad_call("option '" + name + "' is unknown");
    }
    return result;
}

std::string program_name(char **argv)
{
    const char *slash = std::strrchr(argv[0], '/');
    return slash != nullptr ? slash + 1 : argv[0];
}

[[noreturn]] void cannot_write(const std::string &file)
{
    throw std::runtime_error("cannot write " + file + ": " + std::strerror(errno));
}

// Before a run that may take minutes; the report of an earlier one stays until there is a new one.
void must_be_writable(const std::string &file)
{
    FILE *opened = std::fopen(file.c_str(), "a");
    if (opened == nullptr) cannot_write(file);
    std::fclose(opened);
}

bool run(const benchmark &what, const options &chosen, measured_comm &peers)
{
    const bool talks = peers.rank() == 0, reports = talks && !chosen.report.empty();
    const auto [text, iterations] = what.prepare(chosen.problem_class, peers.size());
    if (reports) must_be_writable(chosen.report);
    if (talks) {
        std::printf("NAS %s class %c: %s\n%d %s, %s\n", what.name.c_str(), chosen.problem_class, text.c_str(),
                    peers.size(), peers.size() == 1 ? "rank" : "ranks", peers.describe().c_str());
        std::fflush(stdout);
    }
    progress_line line(talks ? chosen.progress : progress_style::none, iterations);
    const double start = peers.seconds();
    const result found = what.run(chosen.problem_class, peers, [&](int iteration, const std::string &note) {
        line.show(iteration, peers.seconds() - start, note);
    });
    const spending spent = peers.spent();
    const auto traffic = peers.traffic();
    if (talks) {
        line.end();
        print(found, spent, traffic);
        std::fflush(stdout);
    }
    if (reports && !write_report(chosen.report, found, spent, peers.size())) cannot_write(chosen.report);
    peers.barrier(); // nobody frees memory that others still write to
    return found.verified;
}

// What was printed may not have reached its file.
int written(int code)
{
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fputs("stdout cannot be written\n", stderr);
    return code != 0 ? code : 1;
}

int call(const benchmark &what, int argc, char **argv, measured_comm &peers)
{
    const std::string name = program_name(argv);
    try {
        const options chosen = parse(argc, argv);
        if (!chosen.help) return run(what, chosen, peers) ? 0 : 1;
        if (peers.rank() == 0)
            std::printf("usage: %s [--class S|W|A|B] [--progress auto|live|lines|each|none] [--report FILE]\n\n%s\n%s",
                        name.c_str(), what.about.c_str(), usage);
        return 0;
    } catch (const bad_call &error) {
        if (peers.rank() == 0)
            std::fprintf(stderr, "%s: %s (see %s --help)\n", name.c_str(), error.what(), name.c_str());
        return 2;
    }
}

} // namespace

int run_program(const benchmark &what, int argc, char **argv)
{
    try {
        auto peers = std::make_unique<measured_comm>(join(argc, argv));
        const int code = written(call(what, argc, argv, *peers));
        peers.reset();
        leave();
        return code;
    } catch (const std::exception &error) {
        give_up(program_name(argv) + ": " + error.what());
    }
}

} // namespace npb
