// SPDX-License-Identifier: Apache-2.0
// Waiting for all that this task has sent.
#pragma once

#include <functional>

namespace lapi {

struct context;

// Data of all earlier operations is in place at its targets. LAPI_ERR_TIMEOUT: not within TIMEOUT; the tasks that are
// behind have been reported, or the error handler still runs. It has heard of those that went wrong, but not of those
// that the tracker follows, and not if this thread holds the context's lock, for which the handler may wait.
int fence(context &c);

// Whether that is so now; without waiting. Data of messages may still wait for its header handler.
bool all_sent_has_arrived(context &c);

// Something has been waited for during TIMEOUT: reports the tasks that in another TIMEOUT do not take in what this task
// has sent. Returns soon after done().
void report_silent_tasks(context &c, const std::function<bool()> &done);

} // namespace lapi
