// SPDX-License-Identifier: Apache-2.0
#include "agent/reaper.hpp"

#include <csignal>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace onesea::agent {

reaper::~reaper()
{
    if (!thread_.joinable()) return;
    {
        const std::lock_guard held(lock_);
        ends_ = true;
    }
    news_.notify_one();
    thread_.join();
}

void reaper::take(pid_t child)
{
    if (!thread_.joinable() && !start_thread()) {
        waitpid(child, nullptr, WNOHANG);
        kill(getpid(), SIGCHLD);
        return;
    }
    {
        const std::lock_guard held(lock_);
        given_.push_back(child);
    }
    news_.notify_one();
}

bool reaper::idle()
{
    const std::lock_guard held(lock_);
    return given_.empty();
}

// It takes no signals: they are the loop's.
bool reaper::start_thread()
{
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
    std::unique_lock held(lock_);
    for (;;) {
        news_.wait(held, [this] { return ends_ || !given_.empty(); });
        if (given_.empty()) return;
        const pid_t child = given_.front();
        held.unlock();
        waitpid(child, nullptr, WNOHANG);
        held.lock();
        given_.pop_front();
        kill(getpid(), SIGCHLD);
    }
}

} // namespace onesea::agent
