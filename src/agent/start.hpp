// SPDX-License-Identifier: Apache-2.0
// Starting a process, fast: the caller's memory is shared with the child until it runs the program.
#pragma once

#include <csignal>
#include <sched.h>
#include <string>
#include <vector>

namespace onesea::agent {

struct start_request {
    std::string path; // of the program's file
    std::vector<std::string> argv;
    std::vector<std::string> environment; // NAME=value
    std::string directory;                // "": the caller's
    int in = -1, out = -1, err = -1;      // become 0, 1, 2; -1: the caller's
    std::vector<int> keep;                // descriptors that lose close-on-exec in the child
    const cpu_set_t *cpus = nullptr;      // nullptr: the caller's
    const sigset_t *mask = nullptr;       // of signals; nullptr: the caller's
    bool die_with_caller = true;          // SIGKILL when the calling thread ends
};

// Starts it in a process group of its own. 0, or the error of the step that failed; *step says which.
int start_process(const start_request &request, pid_t *pid, const char **step);

inline constexpr const char *usual_search_path = "/usr/bin:/bin"; // where PATH is not set

// The file that a shell would run for `name`. 0, or the shell's status for it: 127 not found, 126 found but not
// executable.
int find_program(const std::string &name, const std::string &search_path, const std::string &directory,
                 std::string *path);

} // namespace onesea::agent
