// SPDX-License-Identifier: Apache-2.0
// What `onesea bench collectives` measures: one job for each path and number of ranks, with all its cases.
#pragma once

#include "driver/options.hpp"

#include <string>
#include <vector>

namespace bench {

struct collective_case {
    std::string name; // as printed, and as the worker and the programs of the peers call it
    std::size_t bytes;
    std::string floor; // of the floors program: half of its time is the least; "": none fits
    std::string argument() const { return name + ":" + std::to_string(bytes); }
    std::string floor_argument() const { return floor + ":" + std::to_string(bytes); }
};

struct collective_group {
    std::string path; // net, shm, cable
    int ranks;
    std::vector<collective_case> cases;
    std::string id() const { return path + "@" + std::to_string(ranks); }
};

// The names for --case.
std::vector<std::string> collective_case_names();

// The groups that the options ask for, few ranks first.
std::vector<collective_group> collective_groups_of(const options &o);

} // namespace bench
