// SPDX-License-Identifier: Apache-2.0
// Runs one program to its end, within a time limit, and leaves nothing of it behind.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

struct command {
    std::vector<std::string> argv;
    std::map<std::string, std::string> environment; // added to ours
};

struct outcome {
    int exit_code = 0;      // 128 + signal if a signal ended it, 127 if it could not be started
    bool timed_out = false; // it was ended because its time was over
    double seconds = 0;     // from just before the fork to its death
    std::string out, err;
    bool good() const { return exit_code == 0 && !timed_out; }
};

// SIGINT or SIGTERM came; the running program has been ended.
struct interrupted : std::runtime_error {
    explicit interrupted(int s) : std::runtime_error("interrupted"), signal(s) {}
    int signal;
};

// To be called once, before run(): we become the parent of what our programs orphan, and hear SIGINT and SIGTERM.
void prepare_to_run();

outcome run(const command &what, double seconds);

// The same, but ended soon after enough(), which is asked a few times a second, has said that what is wanted is there.
outcome run(const command &what, double seconds, const std::function<bool()> &enough);

// The same for cleaning up: a signal that has come or comes meanwhile neither ends it nor throws; the next run() does.
outcome run_undisturbed(const command &what, double seconds);

// For what waits by itself: throws interrupted if a signal has come. The signal interrupts poll() and the like, but may
// also come just before them.
void throw_if_interrupted();

// A program in the background (a server of a measured pair); ended by the destructor.
class background {
  public:
    explicit background(const command &what);
    ~background();
    background(const background &) = delete;
    background &operator=(const background &) = delete;

  private:
    int pid_;
};

} // namespace bench
