// SPDX-License-Identifier: Apache-2.0
// Calls that wait for the end of what they start. A counter that has added does not tell whether the operation went
// well: an error is told by another thread, later. Here the operation itself is asked.
#pragma once

#include "fence.hpp"
#include "message.hpp"
#include "transfer.hpp"

namespace lapi {

// Waits until ended(seconds) is true, which itself waits at most so long.
template <class Ended>
void wait_through(context &c, Ended &&ended)
{
    while (!ended(double(c.timeout))) report_silent_tasks(c, [&] { return ended(0); });
}

// issue(opts) starts an operation towards `tgt`.
template <class Issue>
int through(context &c, uint tgt, lapi_long_t tgt_cntr, Issue &&issue)
{
    in_progress here(c.handlers);
    c.waiting.drain(c.handlers);
    sea_op op = SEA_OP_NONE;
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    opts.op = &op;
    opts.target_raw_counter = tgt_cntr;
    int status = issue(&opts);
    if (status != SEA_OK) return from_sea(status);
    c.has_sent();
    bool ended = false;
    wait_through(c, [&](double seconds) {
        if (!ended) status = sea_wait(op, seconds);
        return ended = ended || status != SEA_ERR_TIMEOUT;
    });
    if (status == SEA_ERR_LINK) unreachable(tgt);
    return from_sea(status);
}

} // namespace lapi
