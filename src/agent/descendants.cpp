// SPDX-License-Identifier: Apache-2.0
// The kernel tells a task's children in /proc where it is built to; otherwise the parents of all processes are read.
#include "agent/descendants.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dirent.h>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

constexpr std::size_t most_listed = 10'000; // processes

// The number after the command's name, which is in parentheses and may hold anything.
pid_t parent_of(const char *pid_text)
{
    std::ifstream file(fmt::format("/proc/{}/stat", pid_text));
    std::string line;
    if (!std::getline(file, line)) return -1;
    auto close = line.rfind(')');
    int parent = -1;
    if (close == line.npos || std::sscanf(line.c_str() + close + 1, " %*c %d", &parent) != 1) return -1;
    return parent;
}

std::vector<pid_t> children_by_scan(pid_t pid)
{
    std::vector<pid_t> found;
    DIR *proc = opendir("/proc");
    if (!proc) return found;
    while (dirent *entry = readdir(proc))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == pid)
            found.push_back(atoi(entry->d_name));
    closedir(proc);
    return found;
}

// In a /proc of another pid namespace (`unshare --pid` without --mount-proc) our numbers mean other processes.
bool numbers_are_ours()
{
    char self[16] = "";
    return readlink("/proc/self", self, sizeof self - 1) > 0 && atoi(self) == getpid();
}

// True if there are no children; those that have ended are taken in.
bool all_have_ended()
{
    pid_t child;
    while ((child = waitpid(-1, nullptr, WNOHANG)) > 0) continue;
    return child < 0;
}

void kill_tree(pid_t pid, unsigned depth)
{
    if (depth < 64) // deeper ones come up to us when those above have gone
        for (pid_t child : children_of(pid)) kill_tree(child, depth + 1);
    kill(pid, SIGKILL);
}

void nap()
{
    timespec t{0, 1'000'000};
    nanosleep(&t, nullptr);
}

} // namespace

void become_reaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> children_of(pid_t pid)
{
    std::vector<pid_t> found;
    if (!numbers_are_ours()) return found;
    DIR *tasks = opendir(fmt::format("/proc/{}/task", pid).c_str());
    if (!tasks) return found;
    bool told = true;
    while (dirent *entry = readdir(tasks)) {
        if (entry->d_name[0] == '.') continue;
        std::ifstream file(fmt::format("/proc/{}/task/{}/children", pid, entry->d_name));
        if (!file) told = false;
        for (pid_t child; file >> child;) found.push_back(child);
    }
    closedir(tasks);
    return told ? found : children_by_scan(pid);
}

std::vector<pid_t> descendants_of(pid_t pid)
{
    std::vector<pid_t> found = children_of(pid);
    for (std::size_t i = 0; i < found.size() && i < most_listed; ++i) {
        const std::vector<pid_t> below = children_of(found[i]);
        found.insert(found.end(), below.begin(), below.end());
    }
    return found;
}

bool kill_descendants(double seconds, const std::vector<pid_t> &spared)
{
    if (!numbers_are_ours()) return spared.empty() && all_have_ended();
    std::uint64_t until = now_ns() + std::uint64_t(seconds * 1e9);
    for (;;) {
        bool any = false;
        for (pid_t child : children_of(getpid())) {
            if (std::find(spared.begin(), spared.end(), child) != spared.end()) continue;
            any = true;
            if (waitpid(child, nullptr, WNOHANG) == 0)
                kill_tree(child, 0); // of one that is gone others have the number
        }
        if (!any) return true;
        if (now_ns() > until) return false;
        nap();
    }
}

} // namespace onesea::agent
