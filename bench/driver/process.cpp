// SPDX-License-Identifier: Apache-2.0
// Design. A child gets a process group of its own and dies with us (PR_SET_PDEATHSIG). We are a child subreaper, so
// what it leaves behind becomes our child, is found in /proc and is ended too. The end of the program is seen through a
// pidfd, not through the end of its pipes, which orphans may hold open. At the time limit the group gets SIGTERM and,
// one second later, SIGKILL: a launcher that hears the first can end its ranks in good order.
#include "driver/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr double grace_seconds = 1;
constexpr double last_seconds = 5; // that a program gets to end when all that is wanted is there

volatile std::sig_atomic_t caught_signal = 0;

std::set<pid_t> in_background; // not orphans

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class descriptor {
  public:
    explicit descriptor(int fd = -1) : fd_(fd) {}
    ~descriptor() { close(); }
    descriptor(const descriptor &) = delete;
    descriptor &operator=(const descriptor &) = delete;
    int get() const { return fd_; }
    bool open() const { return fd_ >= 0; }
    void reset(int fd)
    {
        close();
        fd_ = fd;
    }
    void close()
    {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

  private:
    int fd_;
};

void make_pipe(descriptor &read_end, descriptor &write_end)
{
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
}

std::vector<std::string> environment_of(const command &what)
{
    std::vector<std::string> all;
    for (char **e = environ; *e; e++) {
        std::string entry = *e;
        if (!what.environment.contains(entry.substr(0, entry.find('=')))) all.push_back(entry);
    }
    for (const auto &[name, value] : what.environment) all.push_back(name + "=" + value);
    return all;
}

std::vector<char *> pointers(std::vector<std::string> &strings)
{
    std::vector<char *> all;
    for (auto &s : strings) all.push_back(s.data());
    all.push_back(nullptr);
    return all;
}

// -1: /dev/null.
pid_t start(const command &what, int out, int err)
{
    auto strings = what.argv;
    auto environment = environment_of(what);
    auto argv = pointers(strings), envp = pointers(environment);
    const pid_t parent = getpid(), pid = fork();
    if (pid < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (pid > 0) {
        setpgid(pid, pid);
        return pid;
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    const int null = ::open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(out >= 0 ? out : null, 1);
    dup2(err >= 0 ? err : null, 2);
    execvpe(argv[0], argv.data(), envp.data());
    dprintf(2, "%s: %s\n", argv[0], std::strerror(errno));
    _exit(127);
}

// Ends and reaps all children that we have; called when none is wanted any more.
void end_orphans()
{
    for (int round = 0; round < 200; round++) {
        while (waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
        int pid = 0, found = 0;
        while (children >> pid) {
            if (in_background.contains(pid)) continue;
            found++;
            // Launchers end their ranks within moments; what still is there after half a second is ended by force.
            if (round >= 50) kill(pid, round % 2 ? SIGKILL : SIGTERM);
        }
        if (found == 0) return;
        usleep(10000);
    }
}

void drain(descriptor &pipe, std::string &into)
{
    std::array<char, 4096> chunk{};
    const ssize_t n = read(pipe.get(), chunk.data(), chunk.size());
    if (n > 0)
        into.append(chunk.data(), static_cast<std::size_t>(n));
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        pipe.close();
}

struct watched {
    pid_t pid = -1;
    descriptor pidfd, out, err;
    outcome result;

    // Waits up to `seconds` for output or the end of the program; true if it has ended.
    bool look(double seconds)
    {
        std::array<pollfd, 3> fds{{{pidfd.get(), POLLIN, 0}, {out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}}};
        if (poll(fds.data(), fds.size(), std::max(0, static_cast<int>(seconds * 1e3))) < 0) return false;
        if (fds[1].revents) drain(out, result.out);
        if (fds[2].revents) drain(err, result.err);
        return (fds[0].revents & POLLIN) != 0;
    }

    void drain_rest()
    {
        for (descriptor *pipe : {&out, &err})
            for (pollfd fd{pipe->get(), POLLIN, 0}; pipe->open() && poll(&fd, 1, 0) > 0;)
                drain(*pipe, pipe == &out ? result.out : result.err);
    }
};

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

void on_signal(int s) { caught_signal = s; }

} // namespace

void prepare_to_run()
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct sigaction action = {};
    action.sa_handler = on_signal; // no SA_RESTART: poll() is to return
    for (int s : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) sigaction(s, &action, nullptr);
}

namespace {

outcome run_to_end(const command &what, double seconds, const volatile std::sig_atomic_t &signal,
                   const std::function<bool()> &enough = {})
{
    watched w;
    descriptor out, err;
    make_pipe(w.out, out);
    make_pipe(w.err, err);
    const double begin = now();
    w.pid = start(what, out.get(), err.get());
    out.close();
    err.close();
    w.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, w.pid, 0)));
    double deadline = begin + seconds;
    bool asked = false, complete = !enough;
    while (!w.look(std::min(deadline - now(), 0.2))) {
        if (!complete && enough()) {
            complete = true;
            deadline = std::min(deadline, now() + last_seconds);
        }
        const bool over = now() >= deadline;
        if (!over && (!signal || asked)) continue;
        w.result.timed_out = w.result.timed_out || !signal;
        kill(-w.pid, asked ? SIGKILL : SIGTERM);
        asked = true;
        deadline = now() + grace_seconds;
    }
    w.result.seconds = now() - begin;
    int status = 0;
    waitpid(w.pid, &status, 0);
    w.result.exit_code = exit_code_of(status);
    kill(-w.pid, SIGKILL);
    end_orphans();
    w.drain_rest();
    if (signal) throw interrupted(signal);
    return w.result;
}

} // namespace

outcome run(const command &what, double seconds) { return run_to_end(what, seconds, caught_signal); }

outcome run(const command &what, double seconds, const std::function<bool()> &enough)
{
    return run_to_end(what, seconds, caught_signal, enough);
}

void throw_if_interrupted()
{
    if (caught_signal) throw interrupted(caught_signal);
}

outcome run_undisturbed(const command &what, double seconds)
{
    const volatile std::sig_atomic_t none = 0;
    return run_to_end(what, seconds, none);
}

background::background(const command &what) : pid_(start(what, -1, -1)) { in_background.insert(pid_); }

background::~background()
{
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    in_background.erase(pid_);
}

} // namespace bench
