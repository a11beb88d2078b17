// SPDX-License-Identifier: Apache-2.0
// What a launched process inherits from its agent: open descriptors, named by one environment variable.
//
//   ONESEA_BIRTH="3:<rank>:<slot>:<arena fd>:<udp fd>:<lifeline fd>:<counts fd>:<wishes fd>"
//
// udp fd: bound UDP socket of this rank, -1 if the job has one node and no network. lifeline: readable (end of file)
// when the agent has died; the rank then ends itself. wishes: what the rank asks of its agent (spawn_wish.hpp), -1 if
// there is none. Every doorbell eventfd of the node (slot::doorbell) is inherited
// as well. None of them is close-on-exec at exec of the rank's program, so they survive wrappers like sh or env;
// sea_init() makes them close-on-exec.
#pragma once

#include <optional>
#include <string>

namespace onesea {

inline constexpr const char *birth_variable = "ONESEA_BIRTH";

struct birth {
    int rank = 0;
    unsigned slot = 0;
    int arena_fd = -1;
    int udp_fd = -1;
    int lifeline_fd = -1;
    int counts_fd = -1; // see counts_page.hpp
    int wishes_fd = -1;
};

std::string format(const birth &b);

// nullopt if the text is not one.
std::optional<birth> parse_birth(const char *text);

} // namespace onesea
