// SPDX-License-Identifier: Apache-2.0
// Host lists: the value of --host and the lines of a host file.
#pragma once

#include "agent/job.hpp"
#include "agent/printable.hpp"

#include <stdexcept>
#include <string_view>

namespace onesea::agent {

// A request that cannot be carried out. The text names the thing; `code` is the launcher's exit status.
struct request_error : std::runtime_error {
    // It may name what stands in a file or was said by an agent.
    explicit request_error(const std::string &text, int exit_code = 125)
        : std::runtime_error(printable(text)), code(exit_code)
    {
    }
    int code;
};

// "a:2,b,[fe80::1]:4". Throws request_error.
std::vector<host_slots> parse_host_list(std::string_view text);

// Lines "host", "host:N" or "host slots=N"; "#" starts a comment; a host may come again. `name` is for messages.
std::vector<host_slots> parse_hostfile(std::string_view text, std::string_view name);
std::vector<host_slots> read_hostfile(const std::string &path);

} // namespace onesea::agent
