// SPDX-License-Identifier: Apache-2.0
// Runs a job from this process: `onesea run`.
#pragma once

#include "agent/job.hpp"

namespace onesea::agent {

// Returns the exit status for the shell. Throws request_error if the request cannot be carried out as it is written.
int run_job(const job_request &request);

} // namespace onesea::agent
