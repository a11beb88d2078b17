// SPDX-License-Identifier: Apache-2.0
// kill_soak ROUNDS SEED ONESEA TRAFFIC: starts a job on 1..4 nodes, kills one of its processes (-9) - a rank, an agent,
// the launcher - at a random moment from the first on, and looks. By default everything of the job has to end within a
// second; with --on-death continue the others go on, and no operation of theirs takes longer than a second
// (traffic.cpp). Status and message have to be right, and nothing may be left.
//
// The job's processes are found as descendants: this process is their subreaper, so that none escapes by losing its
// parent. Memory and sockets of a job have no names: they end with the last process that holds them.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double limit = 8;
#else
constexpr double limit = 1;
#endif
constexpr int ranks_per_job = 4;

double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

void children_of(int pid, std::vector<int> &all)
{
    std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    DIR *folder = opendir(tasks.c_str());
    if (folder == nullptr) return;
    while (dirent *task = readdir(folder)) {
        std::FILE *f = std::fopen((tasks + "/" + task->d_name + "/children").c_str(), "r");
        if (f == nullptr) continue;
        for (int child; std::fscanf(f, "%d", &child) == 1;) {
            all.push_back(child);
            children_of(child, all);
        }
        std::fclose(f);
    }
    closedir(folder);
}

std::string name_of(int pid)
{
    char name[64] = "?";
    if (std::FILE *f = std::fopen(("/proc/" + std::to_string(pid) + "/comm").c_str(), "r")) {
        if (std::fgets(name, sizeof name, f)) name[std::strcspn(name, "\n")] = '\0';
        std::fclose(f);
    }
    return name;
}

int shared_names()
{
    int n = 0;
    if (DIR *folder = opendir("/dev/shm")) {
        while (dirent *entry = readdir(folder)) n += std::strstr(entry->d_name, "sea") != nullptr;
        closedir(folder);
    }
    return n;
}

// Ends what is left and tells how many there were.
int clear_up()
{
    std::vector<int> left;
    children_of(getpid(), left);
    int living = 0;
    for (int pid : left) {
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

int start(const std::vector<std::string> &command, const pipes &to)
{
    int pid = fork();
    if (pid != 0) return pid;
    dup2(to.out, 1);
    dup2(to.err, 2);
    std::vector<char *> words;
    for (const std::string &w : command) words.push_back(const_cast<char *>(w.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
}

// Waits until no descendant is left, or for the limit. The launcher's wait status, or -1. What this process was kept
// from its processor while it slept for a millisecond, others were as well: it does not count.
int wait_for_the_end(int launcher, double until)
{
    int result = -1, status = 0;
    while (now() < until) {
        int pid = waitpid(-1, &status, WNOHANG);
        if (pid == launcher) result = status;
        if (pid < 0) return result;
        if (pid > 0) continue;
        double before = now();
        usleep(1000);
        until += std::max(0.0, now() - before - 0.002);
    }
    return result;
}

std::string text_of(int fd)
{
    std::string text(std::size_t(lseek(fd, 0, SEEK_END)), ' ');
    [[maybe_unused]] auto n = pread(fd, text.data(), text.size(), 0);
    return text;
}

int count_of(const std::string &text, const std::string &word)
{
    int n = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += word.size()) ++n;
    return n;
}

std::vector<int> direct_children(int pid)
{
    std::vector<int> all;
    std::string path = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children";
    if (std::FILE *f = std::fopen(path.c_str(), "r")) {
        for (int child; std::fscanf(f, "%d", &child) == 1;) all.push_back(child);
        std::fclose(f);
    }
    return all;
}

enum class kind { rank, agent, launcher };
constexpr const char *kind_names[] = {"rank", "agent", "launcher"};

struct victim {
    kind what = kind::launcher;
    int pid = -1;
    bool started = false; // ranks ran already
};

// Of the kind that the dice say; before there is any, the next above it.
victim choose(int launcher)
{
    kind wanted = kind(std::rand() % 3);
    std::vector<int> agents = direct_children(launcher), ranks;
    for (int agent : agents)
        for (int rank : direct_children(agent)) ranks.push_back(rank);
    auto any = [](const std::vector<int> &all) { return all[std::size_t(std::rand()) % all.size()]; };
    if (wanted == kind::rank && !ranks.empty()) return {kind::rank, any(ranks), true};
    if (wanted != kind::launcher && !agents.empty()) return {kind::agent, any(agents), !ranks.empty()};
    return {kind::launcher, launcher, !ranks.empty()};
}

// What is wrong with the end of the job, or "".
std::string complaint(const victim &v, bool goes_on, int code, const std::string &out, const std::string &err)
{
    // An agent that dies before any rank ran may end the start, and then says so.
    const bool survived = goes_on && (v.started || err.find("its ranks are dead") != err.npos);
    const bool killed = v.what != kind::agent || survived;
    if (code != (killed ? 137 : 125)) return "the status is wrong";
    if (v.what == kind::agent && err.find("agent") == err.npos) return "nothing was said of the agent";
    if (v.what == kind::rank && err.find("was killed by signal 9") == err.npos) return "nothing was said of the rank";
    if (goes_on && v.what == kind::rank && count_of(out, "fine\n") != ranks_per_job - 1)
        return "not all others went on well";
    if (count_of(err, "soak:")) return "an operation on a dead rank took too long, or one on the living failed";
    return "";
}

bool one_round(const char *onesea, const char *traffic, int round)
{
    const int nodes = 1 + std::rand() % 4;
    const bool goes_on = std::rand() % 2;
    std::vector<std::string> command{
        onesea, "run", "-n", std::to_string(ranks_per_job), "--nodes", std::to_string(nodes)};
    if (goes_on) command.insert(command.end(), {"--on-death", "continue"});
    command.push_back(traffic);
    if (goes_on) command.push_back("0.4");
    pipes to{memfd_create("out", MFD_CLOEXEC), memfd_create("err", MFD_CLOEXEC)};
    int launcher = start(command, to);
    const int longest_ms[] = {1, 10, 50, 200};
    usleep(useconds_t(std::rand() % (1000 * longest_ms[std::rand() % 4])));
    victim v = choose(launcher);
    kill(v.pid, SIGKILL);
    double killed = now();
    const bool ends_now = !goes_on || v.what == kind::launcher;
    int status = wait_for_the_end(launcher, killed + limit + (ends_now ? 0 : 2));
    double took = now() - killed;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    int left = clear_up();
    std::string out = text_of(to.out), err = text_of(to.err);
    close(to.out);
    close(to.err);
    std::string wrong = left || status == -1 ? "not all had ended in time" : complaint(v, goes_on, code, out, err);
    if (!wrong.empty())
        std::fprintf(stderr, "FAILED round %d: %s; %s killed, %d nodes, %s, status %d after %.2f s, %d left\n%s%s",
                     round, wrong.c_str(), kind_names[int(v.what)], nodes, goes_on ? "continue" : "kill", code, took,
                     left, out.c_str(), err.c_str());
    return wrong.empty();
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s ROUNDS SEED ONESEA TRAFFIC\n", argv[0]);
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int rounds = std::atoi(argv[1]), failures = 0, names = shared_names();
    std::srand(unsigned(std::atoi(argv[2])));
    for (int i = 0; i < rounds; ++i) failures += one_round(argv[3], argv[4], i) ? 0 : 1;
    if (shared_names() > names) {
        std::fprintf(stderr, "FAILED: names are left in /dev/shm\n");
        ++failures;
    }
    std::printf("%d rounds, %d failed\n", rounds, failures);
    return failures == 0 ? 0 : 1;
}
