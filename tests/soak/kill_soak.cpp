// SPDX-License-Identifier: Apache-2.0
// kill_soak ROUNDS SEED ONESEA TRAFFIC: starts a job on 1..4 nodes, kills one of its processes (-9) - a rank, an agent,
// the launcher - at a random moment from the first on, and looks. By default everything of the job has to end within a
// second; with --on-death continue the others go on, and each of them reports that its operations on the dead failed
// within a second and those on the living did not (survivors.hpp). Status and message have to be right, and nothing may
// be left (traces.hpp). What the machine withheld from this process while it only slept does not count. At the end the
// distributions of these times are printed.
//
// This process is the subreaper of the job's, so that none escapes by losing its parent.
#include "fair_clock.hpp"
#include "processes.hpp"
#include "survivors.hpp"
#include "traces.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using proof::death_limit;
using proof::now;

namespace {

constexpr int ranks_per_job = 4;
constexpr double survivors_limit = 5 * death_limit; // they notice, go on a while, meet, and end

// Ends what is left and tells how many there were.
int clear_up()
{
    int living = 0;
    for (int pid : descendants_of(getpid())) {
        if (waitpid(pid, nullptr, WNOHANG) > 0) continue;
        std::fprintf(stderr, "    still there: %d (%s)\n", pid, name_of(pid).c_str());
        kill(pid, SIGKILL);
        ++living;
    }
    while (waitpid(-1, nullptr, 0) > 0) {
    }
    return living;
}

struct pipes {
    int out = -1, err = -1;
};

// In that folder, which is also where it is told to put what is temporary.
int start(const std::vector<std::string> &command, const pipes &to, const std::string &mark, const std::string &folder)
{
    int pid = fork();
    if (pid != 0) return pid;
    dup2(to.out, 1);
    dup2(to.err, 2);
    setenv(traces::variable, mark.c_str(), 1);
    for (const char *name : {"TMPDIR", "XDG_RUNTIME_DIR", "HOME"}) setenv(name, folder.c_str(), 1);
    if (chdir(folder.c_str()) != 0) _exit(126);
    std::vector<char *> words;
    for (const std::string &w : command) words.push_back(const_cast<char *>(w.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
}

struct ending {
    int status = -1;               // of the launcher as from wait(); -1: not all has ended
    double took = 0, withheld = 0; // since the kill; of it the machine withheld
};

// Waits until no descendant is left, or for the limit.
ending wait_for_the_end(int launcher, double killed, double limit)
{
    ending e;
    int launchers = -1, status = 0;
    for (;;) {
        e.took = now() - killed;
        int pid = waitpid(-1, &status, WNOHANG);
        if (pid == launcher) launchers = status;
        if (pid < 0) {
            e.status = launchers;
            return e;
        }
        if (pid > 0) continue;
        if (e.took - e.withheld > limit) return e;
        e.withheld += proof::nap();
    }
}

std::string text_of(int fd)
{
    std::string text(std::size_t(lseek(fd, 0, SEEK_END)), ' ');
    [[maybe_unused]] auto n = pread(fd, text.data(), text.size(), 0);
    close(fd);
    return text;
}

bool contains(const std::string &text, const char *words) { return text.find(words) != text.npos; }

enum class kind { rank, agent, launcher };
constexpr const char *kind_names[] = {"rank", "agent", "launcher"};

struct victim {
    kind what = kind::launcher;
    int pid = -1;
    bool started = false; // ranks ran already
};

// Of the kind that the dice say; before there is any, the next above it. Where others go on it is seldom the launcher,
// whose death nobody survives.
victim choose(int launcher, bool goes_on)
{
    constexpr kind kinds[] = {kind::rank, kind::agent, kind::launcher, kind::rank, kind::agent, kind::rank};
    const kind wanted = kinds[std::rand() % (goes_on ? 6 : 3)];
    std::vector<int> agents = children_of(launcher), ranks;
    for (int agent : agents)
        for (int rank : children_of(agent)) ranks.push_back(rank);
    auto any = [](const std::vector<int> &all) { return all[std::size_t(std::rand()) % all.size()]; };
    if (wanted == kind::rank && !ranks.empty()) return {kind::rank, any(ranks), true};
    if (wanted != kind::launcher && !agents.empty()) return {kind::agent, any(agents), !ranks.empty()};
    return {kind::launcher, launcher, !ranks.empty()};
}

// Times from kills to what they lead to.
struct delays {
    std::vector<double> ends, ends_of_others; // of jobs that end at once, that go on for a while
    std::vector<double> refusals;             // of operations on the dead, at each survivor
    std::size_t survivors = 0, sockets = 0, memories = 0;
};

struct round_of_it {
    int number = 0, nodes = 1;
    bool goes_on = false;
    victim v;
    int rank = -1; // of the victim
    double killed = 0;
    ending end;
    std::string out, err;
    int code() const { return WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status); }
    bool ends_at_once() const { return !goes_on || v.what == kind::launcher; }
};

std::string wrong_words(const round_of_it &r)
{
    // An agent that dies before any rank ran may end the start, and then says so.
    const bool survived = r.goes_on && (r.v.started || contains(r.err, "its ranks are dead"));
    const bool killed = r.v.what != kind::agent || survived;
    if (r.code() != (killed ? 137 : 125)) return "the status is wrong";
    if (r.v.what == kind::agent && !contains(r.err, "agent")) return "nothing was said of the agent";
    if (r.v.what == kind::rank && !contains(r.err, "was killed by signal 9")) return "nothing was said of the rank";
    if (contains(r.err, "soak:")) return "an operation on a dead rank took too long, or one on the living failed";
    return "";
}

std::string wrong_survivors(const round_of_it &r, delays *all)
{
    const std::vector<survivor> reports = survivors_in(r.out);
    killing k;
    k.at = r.killed;
    k.limit = death_limit + r.end.withheld;
    k.ranks = ranks_per_job;
    k.agent = r.v.what == kind::agent;
    k.rank = r.rank;
    k.nobody = r.ends_at_once() || (k.agent && (r.nodes == 1 || r.code() == 125));
    all->survivors += reports.size();
    return judge(reports, k, &all->refusals);
}

std::string complaint(const round_of_it &r, delays *all)
{
    std::string wrong = wrong_words(r);
    return wrong.empty() ? wrong_survivors(r, all) : wrong;
}

// Kills at a random moment and waits.
void run_round(round_of_it *r, int launcher, traces *seen)
{
    constexpr int longest_ms[] = {1, 10, 50, 200, 50, 400}; // who is to survive must have been started
    usleep(useconds_t(std::rand() % (1000 * longest_ms[std::rand() % 4 + (r->goes_on ? 2 : 0)])));
    seen->collect(descendants_of(getpid()));
    r->v = choose(launcher, r->goes_on);
    if (std::string number = variable_of(r->v.pid, "ONESEA_RANK"); r->v.what == kind::rank && !number.empty())
        r->rank = std::atoi(number.c_str());
    r->killed = now();
    kill(r->v.pid, SIGKILL);
    seen->collect(descendants_of(getpid()));
    r->end = wait_for_the_end(launcher, r->killed, r->ends_at_once() ? death_limit : survivors_limit);
}

bool one_round(const std::string &onesea, const std::string &traffic, int number, const std::string &folder,
               delays *all)
{
    round_of_it r;
    r.number = number;
    r.nodes = 1 + std::rand() % 4;
    r.goes_on = std::rand() % 2;
    std::vector<std::string> command{
        onesea, "run", "-n", std::to_string(ranks_per_job), "--nodes", std::to_string(r.nodes)};
    if (r.goes_on) command.insert(command.end(), {"--on-death", "continue"});
    command.push_back(traffic);
    if (r.goes_on) command.push_back("survive");
    pipes to{memfd_create("out", MFD_CLOEXEC), memfd_create("err", MFD_CLOEXEC)};
    const std::string mark = std::to_string(getpid()) + "." + std::to_string(number);
    traces seen(mark, folder);
    const int launcher = start(command, to, mark, folder);
    run_round(&r, launcher, &seen);
    const int left = clear_up();
    r.out = text_of(to.out);
    r.err = text_of(to.err);
    const std::vector<std::string> remains = seen.left();
    std::string wrong = left || r.end.status == -1 ? "not all had ended in time" : complaint(r, all);
    if (wrong.empty() && !remains.empty()) wrong = "something is left";
    (r.ends_at_once() ? all->ends : all->ends_of_others).push_back(r.end.took);
    all->sockets += seen.sockets();
    all->memories += seen.memories();
    if (wrong.empty()) return true;
    std::fprintf(stderr, "FAILED round %d: %s; %s killed, %d nodes, %s, status %d after %.2f s (%.2f s withheld)\n%s%s",
                 number, wrong.c_str(), kind_names[int(r.v.what)], r.nodes, r.goes_on ? "continue" : "kill", r.code(),
                 r.end.took, r.end.withheld, r.out.c_str(), r.err.c_str());
    for (const std::string &one : remains) std::fprintf(stderr, "    left: %s\n", one.c_str());
    return false;
}

void print(const char *what, std::vector<double> times)
{
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    auto at = [&](double share) { return 1e3 * times[std::size_t(share * double(times.size() - 1))]; };
    std::printf("%-60s %5zu: p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, longest %.1f ms\n", what, times.size(), at(0.5),
                at(0.9), at(0.99), at(1));
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s ROUNDS SEED ONESEA TRAFFIC\n", argv[0]);
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int rounds = std::atoi(argv[1]), failures = 0;
    std::srand(unsigned(std::atoi(argv[2])));
    char folder[] = "/tmp/kill_soak.XXXXXX";
    if (mkdtemp(folder) == nullptr) {
        std::fprintf(stderr, "a folder cannot be made: %s\n", std::strerror(errno));
        return 2;
    }
    delays all;
    const std::string onesea = std::filesystem::absolute(argv[3]), traffic = std::filesystem::absolute(argv[4]);
    for (int i = 0; i < rounds; ++i) failures += one_round(onesea, traffic, i, folder, &all) ? 0 : 1;
    std::filesystem::remove_all(folder);
    print("from a kill to the end of the whole job", all.ends);
    print("from a kill to the first SEA_ERR_DEAD, by survivor and rank", all.refusals);
    print("from a kill to the end of a job that goes on", all.ends_of_others);
    std::printf("%zu survivors reported; %zu sockets and %zu pieces of memory were watched\n", all.survivors,
                all.sockets, all.memories);
    std::printf("%d rounds, %d failed\n", rounds, failures);
    return failures == 0 ? 0 : 1;
}
