// SPDX-License-Identifier: Apache-2.0
// What the user asked for, as the command line and the host file say it. Plain data, no behaviour.
#pragma once

#include "onesea.h"
#include "shm/arena.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace onesea::agent {

// What addresses can name; and with how many a job may start, for which tables are made. More may come later.
inline constexpr std::uint64_t most_rank_numbers = std::uint64_t(1) << (64 - SEA_OFFSET_BITS);
inline constexpr unsigned most_ranks = 1u << 20;

enum class stdin_mode { first, all, none };
enum class bind_mode { automatic, none, core, numa };

using variables = std::vector<std::pair<std::string, std::string>>;

struct host_slots {
    std::string name;
    unsigned slots = 0; // 0: the user gave no number
};

// One part of a command line "PROG ARGS : PROG ARGS".
struct program {
    std::vector<std::string> argv;
    unsigned count = 0;    // ranks; 0: not given
    variables environment; // set for its ranks, in this order
    std::string directory; // of its ranks; "": where the launcher was started
};

struct tag_choice {
    bool rank = false, host = false, time = false;
    bool any() const { return rank || host || time; }
};

struct job_request {
    std::vector<program> programs;
    std::vector<host_slots> hosts; // empty: this machine
    unsigned nodes = 0;            // 0: not given
    unsigned per_node = 0;         // --ppn; 0: not given
    tag_choice tag;
    std::string output_directory;
    bool quiet = false;
    stdin_mode input = stdin_mode::first;
    double timeout_s = 0;           // 0: none
    unsigned agent_timeout_s = 120; // without a word from a node's agent while ranks of it live; 0: any time
    shm::transport_choice transport = shm::transport_choice::automatic;
    shm::secure_mode secure = shm::secure_mode::auth;
    std::string interface;
    std::uint64_t heap_bytes = 0; // 0: default
    unsigned spare = 16;          // ranks that sea_spawn() may add to each node
    bool continue_on_death = false;
    bind_mode bind = bind_mode::automatic;
    std::vector<std::string> profiles; // --profile: of the nodes in order, the last for the rest; empty: the usual
    bool export_all = false;           // --env-all
    bool show_map = false;
    bool stats = false;     // --stats: tell at the end what the ranks counted
    std::string stats_file; // as JSON there; "": as a table on stderr
    bool dry_run = false;
    std::string prefix; // of the installation on other hosts; "": as here
};

} // namespace onesea::agent
