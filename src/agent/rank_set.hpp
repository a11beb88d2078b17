// SPDX-License-Identifier: Apache-2.0
// The processes of a node's ranks: starting, their streams, their ends.
#pragma once

#include "agent/event_loop.hpp"
#include "agent/node_job.hpp"
#include "agent/node_memory.hpp"
#include "agent/reaper.hpp"
#include "agent/verdict.hpp"

#include <deque>
#include <string_view>

namespace onesea::agent {

class rank_set {
  public:
    // What the set tells its owner.
    class listener {
      public:
        virtual void wrote(unsigned slot, int stream, std::string_view bytes) = 0; // stream 1 or 2; empty: closed
        virtual void took_input(unsigned slot, std::size_t bytes) = 0;
        virtual void ended(unsigned slot, const rank_end &end) = 0; // after what it wrote

      protected:
        ~listener() = default;
    };

    rank_set(event_loop &loop, const node_job &job, node_memory &memory, listener &to);
    ~rank_set();
    rank_set(const rank_set &) = delete;
    rank_set &operator=(const rank_set &) = delete;

    // Finds the programs and directories before anything starts. Throws request_error with a shell's status.
    using on_warning = std::function<void(const std::string &)>;
    void prepare(const on_warning &warn);
    void start(const sigset_t &mask); // throws request_error; those that run are then to be killed

    // The same for one rank more and its program. The job describes the rank when it is started.
    void prepare_program(const node_program &program, const on_warning &warn);
    void start_last(const sigset_t &mask);
    bool has_program() const { return !programs_.empty(); } // that is still to be started

    void signal_all(int number);
    void give_input(unsigned slot, std::string_view bytes);
    void end_input(unsigned slot);
    void pause_output(bool paused);
    void reap();                // on SIGCHLD: tells the ends of ranks, and has the dead children taken away
    void drain(double seconds); // reads the streams to their ends, after all writers have been killed

    unsigned running() const { return running_; }

  private:
    struct stream {
        int fd = -1;
    };
    struct process {
        pid_t pid = -1;
        bool alive = false;
        bool asked = false; // SIGTERM or SIGKILL was sent to it while it ran
        stream out[2];
        int in = -1;
        std::deque<std::string> input;
        bool input_ends = false;
    };
    struct prepared {
        std::string path, directory;
        std::vector<std::string> argv, environment;
    };
    prepared find(const node_program &program, bool used, const on_warning &warn) const;
    void start_one(unsigned slot, const prepared &program, const sigset_t &mask, int null_fd);
    void watch_streams(unsigned slot);
    void read_stream(unsigned slot, int index, std::size_t most);
    void close_stream(unsigned slot, int index);
    void write_input(unsigned slot);
    void close_input(unsigned slot);
    void reap_orphan();
    rank_end end_of(unsigned slot, const siginfo_t &told) const;
    void tell_end(unsigned slot, const rank_end &end);
    variables own_variables(unsigned slot) const;

    event_loop &loop_;
    const node_job &job_;
    node_memory &memory_;
    listener &to_;
    std::vector<prepared> programs_; // those that are still to be started
    std::vector<process> processes_;
    unsigned running_ = 0;
    bool paused_ = false;
    reaper reaper_;
};

} // namespace onesea::agent
