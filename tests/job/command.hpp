// SPDX-License-Identifier: Apache-2.0
// Runs `onesea` as a user does, with a limit on everything, and sees what it leaves behind.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace job_test {

struct outcome {
    int status = -1;     // of a shell: exit status, or 128 + signal
    bool killed = false; // by a signal
    bool timed_out = false;
    std::string out, err;
    double seconds = 0;
};

// A running command. Every process that comes from it carries a variable of its own in its environment.
class command {
  public:
    // The words after `onesea`. `input` is its stdin; `variables` are NAME=value.
    explicit command(const std::vector<std::string> &words, const std::string &input = {},
                     const std::vector<std::string> &variables = {});
    ~command(); // kills what is left
    command(const command &) = delete;
    command &operator=(const command &) = delete;

    pid_t pid() const { return pid_; }
    void send(int signal) const;

    // Until its output has that text; false after `seconds`.
    bool wait_for(const std::string &text, double seconds = 20);
    void stop_reading() { reads_ = false; } // what it writes, until read_on(), or its end in wait()
    void read_on() { reads_ = true; }
    outcome wait(double seconds = 60);

    // Processes that carry the mark, except those whose /proc entry goes away meanwhile. Zombies count.
    std::vector<pid_t> marked() const;
    std::vector<pid_t> agents() const { return running("onesea agent"); } // that of node 0 first, if all is quick
    std::vector<pid_t> running(const std::string &words) const;           // marked ones whose words begin so
    bool nothing_left(double seconds = 5) const { return at_most_left(0, seconds); }
    bool at_most_left(std::size_t processes, double seconds) const;

  private:
    void read_some(int wait_ms);

    std::string mark_;
    pid_t pid_ = -1;
    int out_ = -1, err_ = -1;
    bool reads_ = true;
    double started_ = 0;
    outcome result_;
};

outcome onesea(const std::vector<std::string> &words, const std::string &input = {},
               const std::vector<std::string> &variables = {});

// A directory for one test, removed at its end.
class scratch {
  public:
    scratch();
    ~scratch();
    std::string path(const std::string &name) const { return folder_ + "/" + name; }
    std::string write(const std::string &name, const std::string &text, bool executable = false) const;
    std::string read(const std::string &name) const;

  private:
    std::string folder_;
};

} // namespace job_test
