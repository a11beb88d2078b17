// SPDX-License-Identifier: Apache-2.0
// The agent of a node: one process that carries out what the launcher says on the control line.
#pragma once

namespace onesea::agent {

// At its end it says nothing for so long while it kills what the ranks have left, and then empties their pipes.
inline constexpr double kill_seconds = 5, drain_seconds = 1;

// Runs until the job has ended or the launcher is gone. `guard`: the caller cannot look after what the ranks leave
// behind if the agent is killed (it came over ssh), so a second process does. Returns the exit status.
int run_agent(int control_in, int control_out, bool guard);

} // namespace onesea::agent
