// SPDX-License-Identifier: Apache-2.0
// --via COMMAND...: this process makes the board, runs `COMMAND... <this program> <its options> --board PATH`, waits
// for it and looks at what is left: a job that failed, ranks that failed checks without failing the job, and processes
// that outlived their launcher all make the status 1. Orphans come to this process, which is their subreaper.
#include "harness.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace proof {
namespace {

[[noreturn]] void become(std::vector<std::string> words)
{
    std::vector<char *> argv;
    for (std::string &w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    std::fprintf(stderr, "cannot run %s: %s\n", argv[0], std::strerror(errno));
    _exit(127);
}

// Processes of the job that still run although its launcher has ended; they have two seconds to go.
int reap_orphans()
{
    int status;
    for (double until = now() + 2; now() < until; pause_for(0.01))
        if (waitpid(-1, &status, WNOHANG) < 0) return 0;
    std::fprintf(stderr, "FAILED: the launcher has ended, but processes of its job still run\n");
    while (true) {
        siginfo_t info{};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0) return 1;
        std::string children = "/proc/self/task/" + std::to_string(getpid()) + "/children";
        if (FILE *f = std::fopen(children.c_str(), "r")) {
            for (int pid; std::fscanf(f, "%d", &pid) == 1;) kill(pid, SIGKILL);
            std::fclose(f);
        }
        pause_for(0.01);
    }
}

int exit_code(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

} // namespace

// PROOF_STATUS in the environment: the status that the launcher must end with (a battery that kills ranks).
int launch(const std::vector<std::string> &command, const std::vector<std::string> &own)
{
    int fd = memfd_create("board", 0);
    if (fd < 0 || ftruncate(fd, sizeof(board)) != 0) {
        std::perror("memfd_create");
        return 2;
    }
    std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd);
    board *b = open_board(path.c_str());
    if (b == nullptr) return 2;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::vector<std::string> words = command;
    words.push_back("/proc/self/exe");
    words.back() = [] {
        char name[4096] = {};
        return readlink("/proc/self/exe", name, sizeof name - 1) > 0 ? std::string(name) : std::string();
    }();
    words.insert(words.end(), own.begin() + 1, own.end());
    words.insert(words.end(), {"--board", path});
    pid_t child = fork();
    if (child == 0) become(words);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    const char *wanted = std::getenv("PROOF_STATUS");
    int code = exit_code(status), expected = wanted ? std::atoi(wanted) : 0;
    if (code != expected) std::fprintf(stderr, "FAILED: the launcher ended with %d, not %d\n", code, expected);
    if (b->failures > 0) std::fprintf(stderr, "%d checks failed\n", b->failures.load());
    int orphans = reap_orphans();
    return code == expected && b->failures == 0 && orphans == 0 ? 0 : 1;
}

} // namespace proof
