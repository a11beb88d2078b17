// SPDX-License-Identifier: Apache-2.0
// A node's part of a job, as the launcher tells it to the agent on the control line.
#pragma once

#include "agent/job.hpp"
#include "agent/message.hpp"
#include "base/profile.hpp"

namespace onesea::agent {

struct node_rank {
    unsigned rank = 0;
    unsigned program = 0;
    bool has_input = false; // a pipe as stdin; else nothing to read
};

struct node_program {
    std::vector<std::string> argv;
    variables environment;
    std::string directory;           // "": the agent's
    bool directory_required = false; // given by the user; else the launcher's own, which another host may lack
};

struct node_job {
    unsigned node = 0;
    unsigned nodes = 1;
    unsigned total_ranks = 1;
    unsigned ranks_on_machine = 1;
    unsigned first_on_machine = 0;
    unsigned spare = 0;                 // ranks that may come while the job runs, on each node
    std::vector<node_rank> ranks;       // of this node, in order of their slots
    std::vector<node_program> programs; // of the ranks that start with the job
    std::string key, job_id;            // hexadecimal
    shm::secure_mode secure = shm::secure_mode::auth;
    shm::transport_choice transport = shm::transport_choice::automatic;
    std::uint64_t heap_bytes = 0;
    bool stats = false; // tell what the ranks counted
    bind_mode bind = bind_mode::automatic;
    profile tuning;
    std::string interface; // --iface
    std::string address;   // numeric, what others reach this node by if there is no --iface; "": the agent finds out

    bool needs_network() const { return nodes > 1 || transport == shm::transport_choice::net; }
};

// Where every rank of the job is; sent once all agents have opened their sockets. Ranks are numbered node by node, so a
// rank costs the two bytes of its port.
struct job_table {
    struct node {
        std::string address;
        unsigned mtu = 0;
        unsigned ranks = 0;
        unsigned ranks_on_machine = 1, first_on_machine = 0; // as the agents have told; replaces the job's
    };
    std::vector<node> nodes;
    std::vector<std::uint16_t> ports; // by rank
};

// A rank that comes while the job runs.
struct joining_rank {
    unsigned rank = 0, node = 0, port = 0;
};

nlohmann::json to_json(const node_program &program);
node_program node_program_from(const nlohmann::json &j); // throws nlohmann::json::exception or request_error

nlohmann::json to_json(const joining_rank &more); // without a type
joining_rank joining_rank_from(const nlohmann::json &j);

nlohmann::json to_json(const node_job &job);
node_job node_job_from(const nlohmann::json &j); // throws nlohmann::json::exception or request_error

message to_message(const job_table &table);
job_table job_table_from(const message &m); // throws nlohmann::json::exception or request_error

std::string to_hex(const std::uint8_t *bytes, std::size_t n);
bool from_hex(const std::string &text, std::uint8_t *bytes, std::size_t n);

} // namespace onesea::agent
