// SPDX-License-Identifier: Apache-2.0
// A hang becomes stacks: when a step takes longer than the limit, every thread of the process writes its backtrace to
// stderr, then the process ends with status 99. The thread looks four times a second and costs nothing else.
#include "harness.hpp"
#include "stacks.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

namespace proof {
namespace {

std::atomic<double> step_began;

void watch(board *b, int rank, int limit)
{
    while (now() - step_began < limit) pause_for(0.25);
    seat &mine = b->seats[rank];
    std::fprintf(stderr, "FAILED rank %d, step %s hangs for %d s; the last check was %s:%d; its threads:\n", rank,
                 mine.step, limit, mine.at.load() ? mine.at.load() : "none", mine.line.load());
    ++b->failures;
    write_all_stacks();
    b->abandoned = 1;
    _exit(99);
}

} // namespace

void start_watchdog(board &b, int rank, int limit_seconds)
{
    if (std::getenv("PROOF_NO_WATCHDOG") != nullptr) return; // under a debugger
    prepare_stacks();
    restart_watchdog();
    std::thread(watch, &b, rank, limit_seconds).detach();
}

void restart_watchdog() { step_began = now(); }

} // namespace proof
