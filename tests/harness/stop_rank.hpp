// SPDX-License-Identifier: Apache-2.0
// Ranks that do not run for a while.
#pragma once

#include "harness.hpp"

namespace proof {

// Stops the process of a rank; when this returns none of its threads runs, so that it answers nothing more. And the
// contrary. Whoever is stopped while it opens the board's gate would wake nobody.
void stop_rank(const run &t, int rank);
void let_go_on(const run &t, int rank);

// For a process that is to be killed in time: the kernel may need seconds to end threads that were looked at in /proc.
// So this waits for far longer than it takes the thread that gets the signal to be scheduled and stop the others, which
// until then answer.
void stop_soon_killed(int pid);

// Of a job of two. Rank 1 never comes back from here; for rank 0 it is stopped then: its process, to be killed.
int stopped_victim(const run &t);

} // namespace proof
