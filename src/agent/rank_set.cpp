// SPDX-License-Identifier: Apache-2.0
// A rank's pipes outlive it as long as a process that it has started holds them. When a rank ends, what its pipes hold
// is passed on before its end is told, so output never comes after the news; the rest comes as it is written, and
// drain() takes what remains after everything has been killed.
#include "agent/rank_set.hpp"

#include "agent/binding.hpp"
#include "agent/descriptors.hpp"
#include "agent/environment.hpp"
#include "agent/hosts.hpp"
#include "agent/start.hpp"
#include "base/birth.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace onesea::agent {
namespace {

constexpr std::size_t most_at_end = 4u << 20; // bytes read from a pipe before its rank's end is told

void close_if(int fd)
{
    if (fd >= 0) close(fd);
}

// Closed at the end of its owner's life, unless it was released.
struct descriptor {
    explicit descriptor(int n = -1) : fd(n) {}
    ~descriptor() { close_if(fd); }
    descriptor(const descriptor &) = delete;
    descriptor &operator=(const descriptor &) = delete;
    int release() { return std::exchange(fd, -1); }
    int fd;
};

struct pipe_ends {
    descriptor read, write;
};

void open_pipe(pipe_ends &ends, unsigned rank, const char *what)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        throw request_error(fmt::format("there is no pipe for the {} of rank {}: {}{}", what, rank, strerror(errno),
                                        errno == EMFILE ? " (raise the limit of open files: ulimit -n)" : ""));
    ends.read.fd = fds[0];
    ends.write.fd = fds[1];
}

// Leaves it to be waited for.
bool has_ended(idtype_t type, pid_t pid, siginfo_t *told)
{
    told->si_pid = 0;
    int failed;
    do failed = waitid(type, id_t(pid), told, WEXITED | WNOHANG | WNOWAIT);
    while (failed && errno == EINTR);
    return !failed && told->si_pid != 0;
}

struct found_end {
    unsigned slot;
    rank_end end;
};

// "" if a process can start in it.
std::string lacks_directory(const std::string &path)
{
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return strerror(errno);
    if (!S_ISDIR(info.st_mode)) return strerror(ENOTDIR);
    return access(path.c_str(), X_OK) == 0 ? "" : strerror(errno);
}

} // namespace

rank_set::rank_set(event_loop &loop, const node_job &job, node_memory &memory, listener &to)
    : loop_(loop), job_(job), memory_(memory), to_(to), processes_(job.ranks.size())
{
}

rank_set::~rank_set()
{
    for (process &p : processes_) {
        for (int fd : {p.out[0].fd, p.out[1].fd, p.in}) {
            if (fd >= 0) loop_.forget(fd);
            close_if(fd);
        }
    }
}

void rank_set::prepare(const on_warning &warn)
{
    std::vector<bool> used(job_.programs.size());
    for (const node_rank &r : job_.ranks) used[r.program] = true;
    for (std::size_t i = 0; i < job_.programs.size(); ++i) programs_.push_back(find(job_.programs[i], used[i], warn));
}

void rank_set::prepare_program(const node_program &program, const on_warning &warn)
{
    programs_.assign(1, find(program, true, warn));
}

rank_set::prepared rank_set::find(const node_program &program, bool used, const on_warning &warn) const
{
    prepared ready;
    const variables *changes[] = {&program.environment};
    ready.environment = merge_environment(environ, changes);
    ready.directory = program.directory;
    ready.argv = program.argv;
    if (const std::string wrong = used && !ready.directory.empty() ? lacks_directory(ready.directory) : "";
        !wrong.empty()) {
        const std::string text = fmt::format("nothing can start in the directory '{}': {}", ready.directory, wrong);
        if (program.directory_required) throw request_error(text);
        warn(text + "; the ranks start in the login directory");
        ready.directory.clear();
    }
    const std::string &name = program.argv[0];
    std::string search_path = value_of(ready.environment, "PATH");
    if (search_path.empty()) search_path = usual_search_path;
    int status = used ? find_program(name, search_path, ready.directory, &ready.path) : 0;
    if (status == 127) throw request_error(fmt::format("program '{}' not found", name), 127);
    if (status) throw request_error(fmt::format("program '{}' is not executable", name), status);
    return ready;
}

void rank_set::start(const sigset_t &mask)
{
    const descriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (unsigned s = 0; s < processes_.size(); ++s) start_one(s, programs_[job_.ranks[s].program], mask, null.fd);
    programs_.clear();
    for (unsigned s = 0; s < processes_.size(); ++s) watch_streams(s);
}

void rank_set::start_last(const sigset_t &mask)
{
    const descriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    processes_.resize(job_.ranks.size());
    const unsigned slot = unsigned(processes_.size()) - 1;
    const std::vector<prepared> program = std::exchange(programs_, {});
    start_one(slot, program.front(), mask, null.fd);
    watch_streams(slot);
}

variables rank_set::own_variables(unsigned slot) const
{
    return {{birth_variable, memory_.birth_of(slot)},          {"ONESEA_RANK", std::to_string(job_.ranks[slot].rank)},
            {"ONESEA_SIZE", std::to_string(job_.total_ranks)}, {"ONESEA_NODE", std::to_string(job_.node)},
            {"ONESEA_NODES", std::to_string(job_.nodes)},      {"ONESEA_LOCAL_RANK", std::to_string(slot)}};
}

void rank_set::start_one(unsigned slot, const prepared &program, const sigset_t &mask, int null_fd)
{
    static const std::vector<int> allowed = allowed_cpus();
    static const std::vector<std::vector<int>> numa = numa_groups();
    const node_rank &rank = job_.ranks[slot];
    process &p = processes_[slot];

    pipe_ends out, err, in;
    open_pipe(out, rank.rank, "stdout");
    open_pipe(err, rank.rank, "stderr");
    if (rank.has_input) open_pipe(in, rank.rank, "stdin");
    for (int fd : {out.read.fd, err.read.fd, in.write.fd}) // before any is read: others may hold the far end for long
        if (fd >= 0) no_wait(fd);

    start_request request;
    request.path = program.path;
    request.argv = program.argv;
    request.environment = program.environment;
    for (auto &[name, value] : own_variables(slot)) request.environment.push_back(name + "=" + value);
    request.directory = program.directory;
    request.in = rank.has_input ? in.read.fd : null_fd;
    request.out = out.write.fd;
    request.err = err.write.fd;
    request.keep = memory_.own_descriptors(slot);
    const unsigned place = (job_.first_on_machine + slot) % job_.ranks_on_machine; // who comes later shares one
    auto cpus = choose_cpus(job_.bind, place, job_.ranks_on_machine, allowed, numa);
    request.cpus = cpus ? &*cpus : nullptr;
    request.mask = &mask;
    const char *step = "";
    if (int error = start_process(request, &p.pid, &step)) {
        const bool in_execve = strcmp(step, "execve") == 0;
        throw request_error(fmt::format("program '{}' cannot be started: {}: {}{}", request.argv[0], step,
                                        strerror(error),
                                        in_execve && error == ENOENT ? " (the interpreter that it names)" : ""),
                            in_execve ? 126 : status_launcher);
    }
    p.out[0].fd = out.read.release();
    p.out[1].fd = err.read.release();
    p.in = in.write.release();
    memory_.has_started(slot);
    p.alive = true;
    ++running_;
}

void rank_set::watch_streams(unsigned slot)
{
    process &p = processes_[slot];
    for (int i = 0; i < 2; ++i) {
        loop_.watch(p.out[i].fd, paused_ ? 0u : std::uint32_t(EPOLLIN),
                    [this, slot, i](std::uint32_t) { read_stream(slot, i, 1); });
    }
    if (p.in < 0) return;
    loop_.watch(p.in, 0, [this, slot](std::uint32_t events) {
        if (events & EPOLLOUT)
            write_input(slot);
        else
            close_input(slot); // nobody reads it any more
    });
}

void rank_set::read_stream(unsigned slot, int index, std::size_t most)
{
    static std::array<char, 1 << 16> bytes;
    stream &from = processes_[slot].out[index];
    for (std::size_t got = 0; from.fd >= 0 && got < most;) {
        ssize_t n = read(from.fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) return close_stream(slot, index);
        got += std::size_t(n);
        to_.wrote(slot, index + 1, {bytes.data(), std::size_t(n)});
    }
}

void rank_set::close_stream(unsigned slot, int index)
{
    stream &from = processes_[slot].out[index];
    if (from.fd < 0) return;
    loop_.forget(from.fd);
    close(std::exchange(from.fd, -1));
    to_.wrote(slot, index + 1, {});
}

void rank_set::pause_output(bool paused)
{
    paused_ = paused;
    for (process &p : processes_)
        for (stream &s : p.out)
            if (s.fd >= 0) loop_.change(s.fd, paused ? 0u : std::uint32_t(EPOLLIN));
}

void rank_set::give_input(unsigned slot, std::string_view bytes)
{
    if (slot >= processes_.size()) return;
    if (processes_[slot].in < 0) return to_.took_input(slot, bytes.size()); // nobody reads: it is gone, as with a pipe
    processes_[slot].input.emplace_back(bytes);
    write_input(slot);
}

void rank_set::end_input(unsigned slot)
{
    if (slot >= processes_.size()) return;
    processes_[slot].input_ends = true;
    if (processes_[slot].in >= 0) write_input(slot);
}

void rank_set::write_input(unsigned slot)
{
    process &p = processes_[slot];
    while (!p.input.empty()) {
        std::string &front = p.input.front();
        ssize_t n = write(p.in, front.data(), front.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return loop_.change(p.in, EPOLLOUT);
        if (n < 0) return close_input(slot);
        to_.took_input(slot, std::size_t(n));
        front.erase(0, std::size_t(n));
        if (front.empty()) p.input.pop_front();
    }
    loop_.change(p.in, 0);
    if (p.input_ends) close_input(slot);
}

void rank_set::close_input(unsigned slot)
{
    process &p = processes_[slot];
    if (p.in < 0) return;
    loop_.forget(p.in);
    close(std::exchange(p.in, -1));
    for (const std::string &rest : p.input) to_.took_input(slot, rest.size());
    p.input.clear();
}

void rank_set::signal_all(int number)
{
    for (process &p : processes_) {
        if (!p.alive) continue;
        siginfo_t told;
        if (number == SIGTERM || number == SIGKILL) p.asked |= !has_ended(P_PID, p.pid, &told);
        const bool left_its_group = kill(-p.pid, number) != 0;
        if (left_its_group || number == SIGKILL) kill(p.pid, number);
    }
}

// All ends are told, likely causes first, before the first of the dead is taken away: the kernel may need seconds for
// that while somebody looks at it in /proc and gets no turn on a busy machine.
void rank_set::reap()
{
    std::vector<found_end> found;
    siginfo_t told;
    for (unsigned slot = 0; slot < processes_.size(); ++slot)
        if (processes_[slot].alive && has_ended(P_PID, processes_[slot].pid, &told))
            found.push_back({slot, end_of(slot, told)});
    std::stable_sort(found.begin(), found.end(), [](const found_end &a, const found_end &b) {
        return order_of_causes(a.end) < order_of_causes(b.end);
    });
    for (const found_end &f : found) tell_end(f.slot, f.end);
    if (!found.empty()) memory_.tell_ranks();
    for (const found_end &f : found) reaper_.take(processes_[f.slot].pid);
    reap_orphan();
}

// One at a time: the kernel names no other one until this is gone, and then the reaper's SIGCHLD leads back here. So
// does that of a rank that has ended since reap() looked. While the reaper has some, what is named may be gone at once,
// and its number another's.
void rank_set::reap_orphan()
{
    siginfo_t told;
    if (!reaper_.idle() || !has_ended(P_ALL, 0, &told)) return;
    const bool untold = std::any_of(processes_.begin(), processes_.end(),
                                    [&](const process &p) { return p.alive && p.pid == told.si_pid; });
    if (!untold) reaper_.take(told.si_pid);
}

rank_end rank_set::end_of(unsigned slot, const siginfo_t &told) const
{
    rank_end end = end_from_wait(int(job_.ranks[slot].rank), told);
    end.unfinished = end.signal == 0 && end.code == 0 && memory_.progress_of(slot) == 1;
    end.asked = processes_[slot].asked;
    return end;
}

void rank_set::tell_end(unsigned slot, const rank_end &end)
{
    processes_[slot].alive = false;
    --running_;
    for (int i = 0; i < 2; ++i) read_stream(slot, i, most_at_end);
    close_input(slot);
    to_.ended(slot, end);
}

void rank_set::drain(double seconds)
{
    std::uint64_t until = now_ns() + std::uint64_t(seconds * 1e9);
    for (unsigned s = 0; s < processes_.size(); ++s)
        for (int i = 0; i < 2; ++i) {
            while (processes_[s].out[i].fd >= 0 && now_ns() < until) {
                pollfd p{processes_[s].out[i].fd, POLLIN, 0};
                poll(&p, 1, 20);
                read_stream(s, i, 1);
            }
            close_stream(s, i);
        }
}

} // namespace onesea::agent
