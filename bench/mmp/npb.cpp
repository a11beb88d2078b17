// SPDX-License-Identifier: Apache-2.0
// IS and CG of examples/npb: the same kernels over mmp.h, over one-sided puts and over MPI. A program writes its own
// time and its own verification to a file; a time without verification is an error. A program of MPICH 4.0 may hang
// when all is done: in MPI_Finalize a rank that still closes its connections needs the others to make progress, and
// those wait for it in a barrier of the launcher. It is ended then, and its time counts.
#include "driver/process.hpp"
#include "mmp/session.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>

namespace bench {
namespace {

constexpr double program_seconds = 120, quick_program_seconds = 5;

std::string source_of(const std::string &who, const npb_group &group, int ranks)
{
    return fmt::format("{}@{}@{}@{}", who, group.name, group.path, ranks);
}

std::vector<std::string> program_for(const mmp_session &s, const npb_group &group, const std::string &program)
{
    return {program, "--class", group.problem(), "--progress", "none", "--report", s.folder + "/report"};
}

// The time in the file; negative if the program did not verify its result.
double reported(const std::string &file)
{
    std::ifstream lines(file);
    double seconds = -1;
    bool verified = false;
    for (std::string name, value; lines >> name >> value;) {
        if (name == "seconds") seconds = std::stod(value);
        if (name == "verified") verified = value == "yes";
    }
    return verified ? seconds : -1;
}

bool run_one(mmp_session &s, const std::string &who, const npb_group &group, int ranks, const command &what,
             const budget &time)
{
    const std::string file = s.folder + "/report";
    std::remove(file.c_str());
    const double most = s.opts.quick ? quick_program_seconds : program_seconds;
    const auto limit = std::min(most, std::max(0.1, time.left()));
    const auto result = run(what, limit, [&] { return reported(file) > 0; });
    const bool own = who == "mmp" || who == "one_sided", ended = result.good() || (result.timed_out && !own);
    const double seconds = ended ? reported(file) : -1;
    if (seconds > 0) {
        if (!result.good())
            progress(fmt::format("  {} {} on {}, {}: its time counts, but it does not end", who, group.name,
                                 ranks_text(ranks), group.path));
        s.series.add({source_of(who, group, ranks), group.name, "time_s", 0}, {seconds, seconds});
        return true;
    }
    progress(fmt::format("  {} {} on {}, {}: {} {}", who, group.name, ranks_text(ranks), group.path,
                         result.timed_out ? "did not end in time"
                         : result.good()  ? "did not verify its result"
                                          : fmt::format("exit code {}", result.exit_code),
                         last_line(result.err)));
    return false;
}

command mpi_job(const mmp_session &s, const peer &p, const npb_group &group, int ranks, const std::string &program)
{
    const auto words = program_for(s, group, program);
    const cable *along = s.wire_for(group.path);
    return along ? p.launch(*along, words, ranks) : p.launch(ranks, group.path, words);
}

} // namespace

bool measure_npb(mmp_session &s, const npb_group &group, const budget &time)
{
    bool good = true;
    for (int ranks : group.ranks) {
        const auto ours = [&](const std::string &who, const std::string &suffix) {
            const auto program = find_own_program("examples-" + group.kernel() + suffix);
            if (!program || time.spent()) return;
            command c = s.job(group.path, ranks);
            const auto words = program_for(s, group, *program);
            c.argv.insert(c.argv.end(), words.begin(), words.end());
            good = (run_one(s, who, group, ranks, c, time) || time.spent()) && good;
        };
        ours("mmp", "-mmp");
        ours("one_sided", "");
        for (const auto &p : s.peers) {
            const auto program = find_own_program("examples-" + group.kernel() + "-" + p.name);
            if (program && !time.spent()) run_one(s, p.name, group, ranks, mpi_job(s, p, group, ranks, *program), time);
        }
    }
    return good;
}

std::vector<figure> npb_figures(const mmp_session &s, const std::vector<npb_group> &groups)
{
    std::vector<figure> all;
    for (const auto &group : groups)
        for (int ranks : group.ranks) {
            const auto found = [&](const std::string &who) {
                return s.series.find({source_of(who, group, ranks), group.name, "time_s", 0});
            };
            const auto *runs = found("mmp");
            if (!runs) continue;
            figure f{"mmp", group.name, group.path, "none", s.opts.secure, 0, ranks, "time_s"};
            summarise(f, *runs);
            compare(f, {"one_sided", "own", ""}, found("one_sided"));
            for (const auto &p : s.peers) compare(f, {p.name, "peer", p.version}, found(p.name));
            all.push_back(f);
        }
    return all;
}

} // namespace bench
