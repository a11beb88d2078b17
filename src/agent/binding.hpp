// SPDX-License-Identifier: Apache-2.0
// Which processors a rank may run on.
#pragma once

#include "agent/job.hpp"

#include <optional>
#include <sched.h>
#include <string_view>

namespace onesea::agent {

// "0-3,8" as the kernel writes lists of processors; empty if the text is none.
std::vector<int> parse_cpu_list(std::string_view text);

// The processors of each NUMA node; one group with all of them if the kernel does not tell.
std::vector<std::vector<int>> numa_groups();
std::vector<int> allowed_cpus();

// For the index-th of `total` ranks of a machine. nullopt: not bound.
std::optional<cpu_set_t> choose_cpus(bind_mode mode, unsigned index, unsigned total, const std::vector<int> &allowed,
                                     const std::vector<std::vector<int>> &numa);

} // namespace onesea::agent
