// SPDX-License-Identifier: Apache-2.0
// What `onesea tune` tries on each path, in this order: each number is measured with those chosen before.
#pragma once

#include "base/profile.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

struct tune_case { // of the worker
    std::string name;
    std::size_t number = 0; // bytes, or puts
    std::string argument() const { return name + ":" + std::to_string(number); }
    std::string metric() const
    {
        return name == "burst" || name == "am" || name == "message" ? "latency_us" : "bandwidth_gbs";
    }
};

struct experiment {
    const onesea::parameter *what = nullptr;
    std::vector<std::uint32_t> values; // ascending, the usual one among them; of a crossing the two ends
    std::vector<tune_case> cases;
    bool crossing = false; // measured at both ends, by size; chosen is the size from which the other one is better
};

// `only`: names of parameters; empty: all.
std::vector<experiment> experiments_for(onesea::path_kind kind, bool quick, const std::vector<std::string> &only);

// Throughput by size of a message, as a fragment length shows in it.
std::vector<tune_case> sizes_of_figure(onesea::path_kind kind, bool quick);

} // namespace bench
