// SPDX-License-Identifier: Apache-2.0
// kill_soak ROUNDS SEED COMMAND...: starts the job, kills one of its processes (-9) at a random moment, and looks:
// everything of the job has ended within a second, the launcher's status and a line of text say what happened, nothing
// is left behind. Half of the moments lie in the first 20 ms, while the job comes into being.
//
// The job's processes are found as descendants: this process is their subreaper, so that none escapes by losing its
// parent. The victim is chosen among all of them: a rank, an agent, the launcher itself.
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

// What the job writes to stderr goes to `errors`.
int start(char **command, int errors)
{
    int pid = fork();
    if (pid == 0) {
        if (dup2(errors, STDERR_FILENO) < 0) _exit(126);
        execvp(command[0], command);
        _exit(127);
    }
    return pid;
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

std::string text_of(int file)
{
    std::string text(65536, '\0');
    ssize_t n = pread(file, text.data(), text.size(), 0);
    text.resize(n > 0 ? std::size_t(n) : 0);
    return text;
}

bool one_round(char **command, int round)
{
    int errors = memfd_create("errors", MFD_CLOEXEC);
    int launcher = start(command, errors);
    usleep(useconds_t(std::rand() % 2 ? std::rand() % 20'000 : std::rand() % 300'000));
    std::vector<int> all;
    children_of(getpid(), all);
    if (all.empty()) return false;
    int victim = all[std::size_t(std::rand()) % all.size()];
    std::string name = name_of(victim);
    kill(victim, SIGKILL);
    double killed = now();
    int status = wait_for_the_end(launcher, killed + limit);
    double took = now() - killed;
    bool rank_died = victim != launcher && name.rfind("soak_", 0) == 0;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    int left = clear_up();
    std::string text = text_of(errors);
    close(errors);
    bool told = victim == launcher || text.find("onesea") != std::string::npos; // who was killed tells nothing
    bool good = left == 0 && status != -1 && code != 0 && told && (!rank_died || code == 137);
    if (!good || std::getenv("SOAK_LOUD"))
        std::fprintf(stderr, "%s round %d: killed %s%s, status %d after %.2f s, %d processes left, text: %s\n",
                     good ? "good" : "FAILED", round, name.c_str(), victim == launcher ? " (the launcher)" : "", code,
                     took, left, text.c_str());
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 4) {
        std::fprintf(stderr, "usage: %s ROUNDS SEED COMMAND...\n", argv[0]);
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int rounds = std::atoi(argv[1]), failures = 0, names = shared_names();
    std::srand(unsigned(std::atoi(argv[2])));
    for (int i = 0; i < rounds; ++i) failures += one_round(argv + 3, i) ? 0 : 1;
    if (shared_names() > names) {
        std::fprintf(stderr, "FAILED: names are left in /dev/shm\n");
        ++failures;
    }
    std::printf("%d rounds, %d failed\n", rounds, failures);
    return failures == 0 ? 0 : 1;
}
