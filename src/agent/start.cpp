// SPDX-License-Identifier: Apache-2.0
// clone(CLONE_VM | CLONE_VFORK): no page tables are copied, and the caller goes on once the child has run its program
// or failed, so a failure is a plain value in shared memory. The child only makes system calls. It has a stack of its
// own: the caller's frame cannot be damaged, which vfork() leaves to luck. All signals stay blocked in between, so no
// handler of the caller can run in the child.
#include "agent/start.hpp"

#include "agent/urgency.hpp"

#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024; // sanitizers want room

struct child_work {
    const start_request *request;
    const char *path;
    char *const *argv; // argv[-1] is free: a file without "#!" is run by the shell
    char *const *envp;
    pid_t parent;
    const sigset_t *mask;
    int error;
    const char *step;
};

bool fails(child_work &work, const char *step, bool ok)
{
    if (ok) return false;
    work.error = errno;
    work.step = step;
    return true;
}

int move_to(int from, int to) { return from < 0 ? to : dup2(from, to); }

bool prepare_failed(child_work &work)
{
    const start_request &r = *work.request;
    setpgid(0, 0);
    if (r.die_with_caller) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != work.parent) _exit(127); // it has died meanwhile
    }
    for (int ignored_by_us : {SIGPIPE, SIGXFSZ}) signal(ignored_by_us, SIG_DFL);
    for (int fd : r.keep)
        if (fails(work, "fcntl", fcntl(fd, F_SETFD, 0) == 0)) return true;
    if (fails(work, "dup2", move_to(r.in, 0) >= 0 && move_to(r.out, 1) >= 0 && move_to(r.err, 2) >= 0)) return true;
    return_to_given_priority();
    if (r.cpus) sched_setaffinity(0, sizeof *r.cpus, r.cpus); // best effort: cgroups may forbid it
    if (!r.directory.empty() && fails(work, "chdir", chdir(r.directory.c_str()) == 0)) return true;
    sigprocmask(SIG_SETMASK, work.mask, nullptr);
    return false;
}

int child(void *argument)
{
    child_work &work = *static_cast<child_work *>(argument);
    if (prepare_failed(work)) _exit(127);
    execve(work.path, work.argv, work.envp);
    if (errno == ENOEXEC) {
        char **shell_argv = const_cast<char **>(work.argv) - 1;
        shell_argv[0] = const_cast<char *>("sh");
        shell_argv[1] = const_cast<char *>(work.path);
        execve("/bin/sh", shell_argv, work.envp);
    }
    fails(work, "execve", false);
    _exit(127);
}

std::vector<char *> pointers(const std::vector<std::string> &texts, std::size_t in_front)
{
    std::vector<char *> p(in_front, nullptr);
    for (const std::string &s : texts) p.push_back(const_cast<char *>(s.c_str()));
    p.push_back(nullptr);
    return p;
}

} // namespace

int start_process(const start_request &request, pid_t *pid, const char **step)
{
    static const std::unique_ptr<char[]> stack(new char[stack_bytes]);
    auto argv = pointers(request.argv, 1), envp = pointers(request.environment, 0);
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    child_work work{&request,
                    request.path.c_str(),
                    argv.data() + 1,
                    envp.data(),
                    getpid(),
                    request.mask ? request.mask : &before,
                    0,
                    ""};
    *pid = clone(child, stack.get() + stack_bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &work);
    if (*pid < 0) {
        work.error = errno;
        work.step = "clone";
    } else if (work.error) {
        waitpid(*pid, nullptr, 0);
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    *step = work.step;
    return work.error;
}

int find_program(const std::string &name, const std::string &search_path, const std::string &directory,
                 std::string *path)
{
    auto check = [&](const std::string &candidate) {
        std::string seen = candidate.front() == '/' || directory.empty() ? candidate : directory + "/" + candidate;
        struct stat info;
        if (stat(seen.c_str(), &info) != 0) return errno == EACCES ? 126 : 127;
        if (!S_ISREG(info.st_mode) || access(seen.c_str(), X_OK) != 0) return 126;
        *path = candidate;
        return 0;
    };
    if (name.empty()) return 127;
    if (name.find('/') != name.npos) return check(name);
    int result = 127;
    for (std::string_view rest = search_path;;) {
        std::string_view entry = rest.substr(0, rest.find(':'));
        int status = check((entry.empty() ? "." : std::string(entry)) + "/" + name);
        if (status == 0) return 0;
        if (status == 126) result = 126;
        if (entry.size() == rest.size()) return result;
        rest.remove_prefix(entry.size() + 1);
    }
}

} // namespace onesea::agent
