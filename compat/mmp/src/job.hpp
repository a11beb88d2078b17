// SPDX-License-Identifier: Apache-2.0
// What this process is in the job.
#pragma once

#include <atomic>
#include <onesea.h>

namespace mmp {

struct job {
    enum state_t { before, running, after };
    std::atomic<int> state = before;
    bool owns_onesea = false; // MP_init() called sea_init()
    int rank = -1, size = 0;
};

job &here();

// MP_OK, or MP_ERR_STATE with its text.
int running(const char *call);

// This thread's limit for calls that wait.
double timeout();

} // namespace mmp
