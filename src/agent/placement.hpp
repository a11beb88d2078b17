// SPDX-License-Identifier: Apache-2.0
// Which rank runs where: a pure function of the request.
#pragma once

#include "agent/job.hpp"

#include <functional>
#include <string>
#include <vector>

namespace onesea::agent {

struct placed_node {
    std::string host;
    bool local = true; // on the launcher's machine
    std::vector<unsigned> ranks;
    unsigned ranks_on_machine = 0; // of all nodes of that machine
    unsigned first_on_machine = 0; // how many ranks the earlier nodes of that machine have
};

struct placed_rank {
    unsigned node = 0;
    unsigned slot = 0;    // on its node
    unsigned program = 0; // in job_request::programs
};

struct placement {
    std::vector<placed_node> nodes;
    std::vector<placed_rank> ranks;
};

// Throws request_error if the ranks do not fit. `is_local` tells whether a host's name means this machine.
placement place(const job_request &request, const std::function<bool(const std::string &)> &is_local);

// Counts ranks_on_machine and first_on_machine again when the agents have told what machine they are on: hosts may be
// namespaces or containers of one. A name for each node; "": not known, so the host counts.
void count_machines(placement &placed, const std::vector<std::string> &machines);

// The map as --dry-run prints it: a line per node and program.
std::string describe(const placement &placed, const job_request &request);

// "0-3,7": runs of consecutive numbers.
std::string ranges(const std::vector<unsigned> &numbers);

} // namespace onesea::agent
