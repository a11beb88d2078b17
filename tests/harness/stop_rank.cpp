// SPDX-License-Identifier: Apache-2.0
#include "stop_rank.hpp"
#include "board.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace proof {
namespace {

bool all_threads_stopped(int pid)
{
    for (const auto &thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
        std::string stat;
        std::getline(std::ifstream(thread.path() / "stat"), stat);
        if (stat.compare(std::min(stat.rfind(')'), stat.size() - 1), 3, ") T") != 0) return false;
    }
    return true;
}

int pid_of(const run &t, int rank) { return t.shared->seats[rank].pid.load(); }

} // namespace

void stop_rank(const run &t, int rank)
{
    const int pid = pid_of(t, rank);
    REQUIRE(pid > 0);
    REQUIRE(kill(pid, SIGSTOP) == 0);
    while (!all_threads_stopped(pid)) pause_for(0.01);
}

void let_go_on(const run &t, int rank) { CHECK_EQ(0, kill(pid_of(t, rank), SIGCONT)); }

void stop_soon_killed(int pid)
{
    REQUIRE(kill(pid, SIGSTOP) == 0);
    pause_for(0.3);
}

int stopped_victim(const run &t)
{
    std::atomic<std::uint64_t> &may_be_stopped = t.shared->flags[2]; // not before it is through the board's gate
    if (t.rank == 1) {
        leave(*t.shared);
        may_be_stopped = 1;
        for (;;) pause_for(30);
    }
    while (may_be_stopped == 0) pause_for(0.001);
    const int victim = pid_of(t, 1);
    stop_soon_killed(victim);
    return victim;
}

} // namespace proof
