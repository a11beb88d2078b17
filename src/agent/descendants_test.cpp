// SPDX-License-Identifier: Apache-2.0
#include "agent/descendants.hpp"

#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

constexpr int passed = 0, names_strangers = 1, tells_wrongly = 2, not_allowed = 77;

int exit_code_of(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The first process of a pid namespace, with the /proc of the one around it: there number 1 has many children.
int first_of_a_namespace()
{
    become_reaper();
    if (!children_of(getpid()).empty()) return names_strangers;
    if (!kill_descendants(0.05)) return tells_wrongly; // there are none
    const pid_t child = fork();
    if (child == 0) pause();
    const bool told = !kill_descendants(0.05); // nobody can know its number here
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return told ? passed : tells_wrongly;
}

int in_a_namespace()
{
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return not_allowed;
    const pid_t first = fork();
    if (first == 0) _exit(first_of_a_namespace());
    return exit_code_of(first);
}

} // namespace

TEST(descendants, children_are_found)
{
    const pid_t child = fork();
    if (child == 0) pause();
    const std::vector<pid_t> found = children_of(getpid());
    EXPECT_EQ(std::count(found.begin(), found.end(), child), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST(descendants, those_of_children_are_found_too)
{
    const pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) execlp("sleep", "sleep", "60", nullptr);
        pause();
    }
    std::vector<pid_t> below;
    while ((below = children_of(child)).empty()) usleep(1000);
    const std::vector<pid_t> found = descendants_of(getpid());
    EXPECT_EQ(std::count(found.begin(), found.end(), child), 1);
    EXPECT_EQ(std::count(found.begin(), found.end(), below[0]), 1);
    kill(below[0], SIGKILL);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST(descendants, numbers_of_another_pid_namespace_are_not_taken_for_ours)
{
    const pid_t child = fork();
    if (child == 0) _exit(in_a_namespace());
    const int code = exit_code_of(child);
    if (code == not_allowed) GTEST_SKIP() << "no pid namespace of its own for this user";
    EXPECT_EQ(code, passed);
}

} // namespace onesea::agent
