// SPDX-License-Identifier: Apache-2.0
#include "agent/start.hpp"
#include "agent/urgency.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace onesea::agent;

namespace {

int own_priority()
{
    sched_param now{};
    sched_getparam(0, &now);
    return now.sched_priority;
}

// The real-time priority of a program that this process starts.
int priority_of_started_program()
{
    int answer[2];
    if (pipe(answer) != 0) return -1;
    start_request request;
    request.path = "/bin/sh";
    request.argv = {"sh", "-c", "cut -d' ' -f40 /proc/self/stat"}; // proc(5): rt_priority
    request.environment = {"PATH=/usr/bin:/bin"};
    request.out = answer[1];
    pid_t pid = -1;
    const char *step = "";
    if (start_process(request, &pid, &step) != 0) return -1;
    close(answer[1]);
    char text[16] = {};
    const bool told = read(answer[0], text, sizeof text - 1) > 0;
    close(answer[0]);
    waitpid(pid, nullptr, 0);
    return told ? std::atoi(text) : -1;
}

// What a process at that real-time priority (0: an ordinary one) does; its exit status. 77: it may not have one.
int in_process_with_priority(int priority, int (*what)())
{
    const pid_t child = fork();
    if (child == 0) {
        sched_param wanted{};
        wanted.sched_priority = priority;
        _exit(sched_setscheduler(0, priority ? SCHED_RR : SCHED_OTHER, &wanted) == 0 ? what() : 77);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST(urgency, a_real_time_launcher_runs_above_what_it_starts)
{
    const int status = in_process_with_priority(5, [] {
        rise_above_ranks();
        if (own_priority() != 6) return 1;
        if (priority_of_started_program() != 5) return 2;
        rise_above_ranks(); // once
        return own_priority() == 6 ? 0 : 3;
    });
    if (status == 77) GTEST_SKIP() << "this user may not run anything in real time";
    EXPECT_EQ(status, 0);
}

TEST(urgency, the_highest_priority_stays)
{
    const int status = in_process_with_priority(sched_get_priority_max(SCHED_RR), [] {
        rise_above_ranks();
        if (own_priority() != sched_get_priority_max(SCHED_RR)) return 1;
        return priority_of_started_program() == own_priority() ? 0 : 2;
    });
    if (status == 77) GTEST_SKIP() << "this user may not run anything in real time";
    EXPECT_EQ(status, 0);
}

TEST(urgency, an_ordinary_process_stays_as_it_is)
{
    EXPECT_EQ(in_process_with_priority(0,
                                       [] {
                                           rise_above_ranks();
                                           if (own_priority() != 0) return 1;
                                           return priority_of_started_program() == 0 ? 0 : 2;
                                       }),
              0);
}
