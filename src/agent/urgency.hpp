// SPDX-License-Identifier: Apache-2.0
// Real-time jobs (`chrt -f 10 onesea run ..`). Ranks that wait in the library use a processor each, and at the
// launcher's own real-time priority nothing would ever take it from them: neither messages between launcher and agents
// nor the end of the job would get through. So launcher and agents run one step above, and what they start at the
// priority that they were given.
#pragma once

namespace onesea::agent {

// Takes the step if the calling thread, the only one, has a real-time policy and may. Best effort; once a process.
void rise_above_ranks();

// In a child, before its program: back to what was given. Only a system call.
void return_to_given_priority();

} // namespace onesea::agent
