// SPDX-License-Identifier: Apache-2.0
// The launcher's side of one node: the process that is, or leads to, its agent, and the control line.
#pragma once

#include "agent/channel.hpp"
#include "agent/placement.hpp"
#include "agent/silence.hpp"

#include <memory>

namespace onesea::agent {

struct agent_command {
    std::string own_program;  // the file of this very command, for this machine
    std::string remote_shell; // words, split at blanks; "": ssh
    std::string prefix;       // of the installation on other hosts
};

// The words that start an agent on another host. Pure.
std::vector<std::string> remote_words(const agent_command &command, const std::string &host);

class node_link {
  public:
    // Starts the process. Throws request_error.
    node_link(event_loop &loop, const agent_command &command, const placed_node &node, const sigset_t &mask,
              channel::on_message received, channel::on_end ended);
    ~node_link();

    void send(const nlohmann::json &head, std::string_view body = {})
    {
        if (line_) line_->send(head, body);
    }
    void hang_up() { line_.reset(); } // the agent then kills its ranks and ends
    pid_t pid() const { return pid_; }
    void stop_connecting() const;   // ssh would wait for its own limits; nothing runs at the other end yet
    void kill_now() const;          // the process and what it has started to reach the agent
    std::string error_text() const; // what ssh said, without the last end of line

    // Filled in by the launcher as the conversation goes on.
    bool said_hello = false, ready = false, failed = false, done = false, ended = false, reaped = false;
    bool cleared = false; // it has died, and what it left has been killed
    silence quiet;        // while a word from it is awaited
    int wait_status = 0;
    std::string machine, own_address, launcher_address, address;
    unsigned mtu = 0;
    std::vector<unsigned> ports;

  private:
    void read_errors();

    event_loop &loop_;
    pid_t pid_ = -1;
    bool local_;
    int errors_ = -1;
    std::string error_text_;
    std::unique_ptr<channel> line_;

  public:
    void collect_errors(); // what is still in ssh's stderr
};

} // namespace onesea::agent
