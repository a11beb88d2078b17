// SPDX-License-Identifier: Apache-2.0
#include "agent/reaper.hpp"

#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace onesea::agent {
namespace {

constexpr int a_minute = 60'000; // ms

// SIGCHLD waits to be read as long as it lives.
class child_news {
  public:
    child_news()
    {
        sigset_t taken;
        sigemptyset(&taken);
        sigaddset(&taken, SIGCHLD);
        pthread_sigmask(SIG_BLOCK, &taken, &before_);
        fd_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    ~child_news()
    {
        while (comes(0)) continue;
        close(fd_);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    child_news(const child_news &) = delete;
    child_news &operator=(const child_news &) = delete;

    bool comes(int milliseconds) const
    {
        pollfd p{fd_, POLLIN, 0};
        if (poll(&p, 1, milliseconds) != 1) return false;
        signalfd_siginfo told;
        return read(fd_, &told, sizeof told) == ssize_t(sizeof told);
    }

  private:
    sigset_t before_;
    int fd_;
};

pid_t child_that_ends_with(int status)
{
    const pid_t child = fork();
    if (child == 0) _exit(status);
    siginfo_t told;
    EXPECT_EQ(waitid(P_PID, id_t(child), &told, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(told.si_status, status);
    return child;
}

bool is_gone(pid_t child)
{
    siginfo_t told;
    return waitid(P_PID, id_t(child), &told, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

TEST(reaper, tells_by_a_signal_that_a_child_is_gone)
{
    const child_news news;
    const pid_t child = child_that_ends_with(3);
    while (news.comes(0)) continue; // its own
    reaper takes;
    EXPECT_FALSE(news.comes(0));
    EXPECT_TRUE(takes.idle());
    takes.take(child);
    EXPECT_TRUE(news.comes(a_minute));
    EXPECT_TRUE(is_gone(child));
    EXPECT_TRUE(takes.idle());
}

TEST(reaper, all_that_were_given_are_gone_at_its_end)
{
    const child_news news;
    std::vector<pid_t> children;
    for (int i = 0; i < 50; ++i) children.push_back(child_that_ends_with(i));
    {
        reaper takes;
        for (pid_t child : children) takes.take(child);
    }
    for (pid_t child : children) EXPECT_TRUE(is_gone(child));
}

TEST(reaper, one_that_lives_is_not_waited_for)
{
    const child_news news;
    const pid_t lives = fork();
    if (lives == 0)
        for (;;) pause();
    {
        reaper takes;
        takes.take(lives);
    }
    EXPECT_FALSE(is_gone(lives));
    kill(lives, SIGKILL);
    waitpid(lives, nullptr, 0);
}

} // namespace
} // namespace onesea::agent
