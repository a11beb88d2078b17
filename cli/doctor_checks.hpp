// SPDX-License-Identifier: Apache-2.0
// What `onesea doctor` looks at.
#pragma once

#include <string>
#include <vector>

namespace onesea::cli {

enum class health { ok, warn, bad };

struct finding {
    std::string name;
    health state = health::ok;
    std::string text;   // what is, and why it matters
    std::string change; // what to do; "" if nothing
};

std::vector<finding> examine_machine(); // cores, memory, kernel, clock, limits, memfd, userfaultfd, process_vm
std::vector<finding> examine_network(); // interfaces, offload, buffers, ssh
std::vector<finding> examine_choices(); // what ranks would use, and misspelt variables

} // namespace onesea::cli
