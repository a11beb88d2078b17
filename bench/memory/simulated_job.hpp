// SPDX-License-Identifier: Apache-2.0
// A job of any number of ranks of which only a few exist. It plays the launcher: two real agents get the part of a node
// and the table of the whole job on their control lines, as from `onesea run`, build the node's tables and start real
// processes. Rank 0 is alone on node 0 and is measured; ranks 1 .. peers are on node 1 and answer; all others are on
// nodes with addresses at which nobody is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace bench {

struct simulation {
    unsigned ranks = 1'000'000, peers = 64, per_node = 1;
    std::string secure = "auth", onesea, worker;
    double seconds = 60; // for all of it
};

// What the measured process said at one step, in bytes.
struct memory_of_step {
    double anonymous = 0, shared = 0, page_tables = 0;
    double seconds = 0; // of what the process did to get there
    double own() const { return anonymous + shared + page_tables; }
};

struct simulation_result {
    std::map<std::string, memory_of_step> steps; // before, init, talked, ended
    double table_bytes = 0;                      // of the measured node, given by the kernel for the job's table
    double setup_seconds = 0;                    // from the start of the agents until their ranks run
    double ends_seconds = 0;                     // from telling the agents until the process has taken in all ends
};

// Throws std::runtime_error that says what went wrong. Nothing is left behind.
simulation_result run_simulation(const simulation &what);

} // namespace bench
