// SPDX-License-Identifier: Apache-2.0
// Every process below this one, so that nothing is left behind. Needs become_reaper() to be called early: orphans then
// come to this process and not to init.
#pragma once

#include <sys/types.h>
#include <vector>

namespace onesea::agent {

void become_reaper();

// Direct children only. None where /proc is of another pid namespace: nobody has a number there by which we could name
// him.
std::vector<pid_t> children_of(pid_t pid);
// And what is below them.
std::vector<pid_t> descendants_of(pid_t pid);

// Kills all descendants but those below `spared` (children), again and again until none is left or the time is over.
// True if none is left. Where /proc is of another pid namespace nobody is killed.
bool kill_descendants(double seconds, const std::vector<pid_t> &spared = {});

} // namespace onesea::agent
