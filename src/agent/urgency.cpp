// SPDX-License-Identifier: Apache-2.0
#include "agent/urgency.hpp"

#include <sched.h>

namespace onesea::agent {
namespace {

sched_param given{};
bool risen = false; // here or in the process that this one was forked from

} // namespace

void rise_above_ranks()
{
    const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    if (risen || (policy != SCHED_FIFO && policy != SCHED_RR) || sched_getparam(0, &given) != 0) return;
    sched_param above = given;
    risen = ++above.sched_priority <= sched_get_priority_max(policy) && sched_setparam(0, &above) == 0;
}

void return_to_given_priority()
{
    if (risen) sched_setparam(0, &given);
}

} // namespace onesea::agent
