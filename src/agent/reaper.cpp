// SPDX-License-Identifier: Apache-2.0
#include "agent/reaper.hpp"

#include "agent/descriptors.hpp"

#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace onesea::agent {
namespace {

void take_away(pid_t child) { waitpid(child, nullptr, WNOHANG); }

} // namespace

reaper::~reaper()
{
    if (pipe_[1] >= 0) close(pipe_[1]);
    if (thread_.joinable()) thread_.join();
    if (pipe_[0] >= 0) close(pipe_[0]);
}

void reaper::take(pid_t child)
{
    if (thread_.joinable() || start()) {
        ++left_;
        if (write(pipe_[1], &child, sizeof child) == ssize_t(sizeof child)) return;
        --left_; // there are thousands already
    }
    take_away(child);
    kill(getpid(), SIGCHLD);
}

// The thread takes no signals: they are the loop's.
bool reaper::start()
{
    if (pipe_[0] < 0 && pipe2(pipe_, O_CLOEXEC) != 0) return false;
    no_wait(pipe_[1]);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { work(); });
    } catch (const std::system_error &) { // a limit of processes
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread_.joinable();
}

void reaper::work()
{
    pid_t child;
    while (read(pipe_[0], &child, sizeof child) == ssize_t(sizeof child)) {
        take_away(child);
        --left_;
        kill(getpid(), SIGCHLD);
    }
}

} // namespace onesea::agent
