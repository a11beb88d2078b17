// SPDX-License-Identifier: Apache-2.0
// What `onesea bench rma` measures: groups of cases that share a path and a state of the target, and beside each case
// the floors that it is compared with.
#pragma once

#include "driver/options.hpp"

#include <string>
#include <vector>

namespace bench {

struct rma_floor {
    std::string name;
    std::size_t bytes;
    std::string argument() const { return name + ":" + std::to_string(bytes); }
};

struct rma_case {
    std::string name;     // as printed: "put"
    std::string measured; // as the worker and the programs of the peers call it: "put", "put_rate", "put_bw"
    std::string metric;
    std::size_t bytes;
    std::vector<rma_floor> floors; // the first is the one that the table shows
    std::string ucx;               // a test of ucx_perftest, or nothing
    double ucx_factor = 1;         // times what it prints
    bool by_peers = false;         // the MPIs and libfabric have it
    std::string argument() const { return measured + ":" + std::to_string(bytes); }
};

struct rma_group {
    std::string path, target;
    std::vector<rma_case> cases;
    std::string id; // different for each group
    bool is_stream = false;
};

// The names for --case.
std::vector<std::string> rma_case_names();

// The groups that the options ask for, the most telling first.
std::vector<rma_group> plan_of(const options &o);

} // namespace bench
