// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace job_test {
namespace {

double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

std::string contents(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<char *> pointers(std::vector<std::string> &words)
{
    std::vector<char *> p;
    for (std::string &w : words) p.push_back(w.data());
    p.push_back(nullptr);
    return p;
}

// A file, so that no writer can be held up, already unlinked.
int input_file(const std::string &text)
{
    char name[] = "/tmp/onesea-test-input-XXXXXX";
    int fd = mkostemp(name, O_CLOEXEC);
    unlink(name);
    if (write(fd, text.data(), text.size()) != ssize_t(text.size())) abort();
    lseek(fd, 0, SEEK_SET);
    return fd;
}

} // namespace

command::command(const std::vector<std::string> &words, const std::string &input,
                 const std::vector<std::string> &variables)
{
    static int count = 0;
    mark_ = fmt::format("JOB_TEST_MARK={}.{}.{}", getpid(), ++count, now());
    std::vector<std::string> argv{ONESEA_COMMAND}, envp = variables;
    argv.insert(argv.end(), words.begin(), words.end());
    envp.push_back(mark_);
    for (char **e = environ; *e; ++e) envp.emplace_back(*e);
    auto args = pointers(argv), env = pointers(envp);
    int out[2], err[2], in = input_file(input);
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) abort();
    started_ = now();
    pid_ = fork();
    if (pid_ == 0) {
        setpgid(0, 0);
        dup2(in, 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        execve(args[0], args.data(), env.data());
        _exit(127);
    }
    for (int fd : {in, out[1], err[1]}) close(fd);
    out_ = out[0];
    err_ = err[0];
    for (int fd : {out_, err_}) fcntl(fd, F_SETFL, O_NONBLOCK);
}

command::~command()
{
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    for (pid_t p : marked()) kill(p, SIGKILL);
    for (int fd : {out_, err_})
        if (fd >= 0) close(fd);
}

void command::send(int signal) const { kill(pid_, signal); }

void command::read_some(int wait_ms)
{
    pollfd p[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    poll(p, reads_ ? 2 : 0, wait_ms);
    if (!reads_) return;
    std::array<char, 1 << 16> bytes;
    for (auto [fd, text] : {std::pair{&out_, &result_.out}, std::pair{&err_, &result_.err}}) {
        for (ssize_t n = 1; *fd >= 0 && n > 0;) {
            n = read(*fd, bytes.data(), bytes.size());
            if (n > 0) text->append(bytes.data(), std::size_t(n));
            if (n == 0) close(std::exchange(*fd, -1));
        }
    }
}

bool command::wait_for(const std::string &text, double seconds)
{
    for (double until = now() + seconds; now() < until;) {
        if ((result_.out + result_.err).find(text) != std::string::npos) return true;
        read_some(10);
    }
    return false;
}

outcome command::wait(double seconds)
{
    double until = now() + seconds;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
        read_some(5);
        if (now() < until) continue;
        result_.timed_out = true;
        kill(pid_, SIGKILL);
        waitpid(pid_, &status, 0);
        break;
    }
    pid_ = -1;
    result_.seconds = now() - started_;
    read_on();
    for (double end = now() + 2; (out_ >= 0 || err_ >= 0) && now() < end;) read_some(10);
    result_.killed = WIFSIGNALED(status);
    result_.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return result_;
}

std::vector<pid_t> command::marked() const
{
    std::vector<pid_t> found;
    DIR *proc = opendir("/proc");
    while (dirent *entry = proc ? readdir(proc) : nullptr) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        std::string text = '\0' + contents(fmt::format("/proc/{}/environ", entry->d_name));
        if (text.find('\0' + mark_ + '\0') != text.npos) found.push_back(atoi(entry->d_name));
    }
    if (proc) closedir(proc);
    return found;
}

std::vector<pid_t> command::running(const std::string &words) const
{
    std::vector<pid_t> found;
    for (pid_t p : marked()) {
        std::string theirs = contents(fmt::format("/proc/{}/cmdline", p));
        std::replace(theirs.begin(), theirs.end(), '\0', ' ');
        if (theirs.starts_with(words)) found.push_back(p);
    }
    return found;
}

bool command::at_most_left(std::size_t processes, double seconds) const
{
    for (double until = now() + seconds; now() < until; usleep(10'000))
        if (marked().size() <= processes) return true;
    return false;
}

outcome onesea(const std::vector<std::string> &words, const std::string &input,
               const std::vector<std::string> &variables)
{
    command c(words, input, variables);
    outcome o = c.wait();
    if (!c.nothing_left()) {
        o.err += "\n(processes were left behind)";
        o.status = -2;
    }
    return o;
}

scratch::scratch()
{
    char name[] = "/tmp/onesea-test-XXXXXX";
    folder_ = mkdtemp(name);
}

scratch::~scratch()
{
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
}

std::string scratch::write(const std::string &name, const std::string &text, bool executable) const
{
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    chmod(path(name).c_str(), executable ? 0755 : 0644);
    return path(name);
}

std::string scratch::read(const std::string &name) const { return contents(path(name)); }

} // namespace job_test
