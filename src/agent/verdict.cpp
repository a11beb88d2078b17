// SPDX-License-Identifier: Apache-2.0
#include "agent/verdict.hpp"

#include <cstring>
#include <fmt/format.h>

namespace onesea::agent {

rank_end end_from_wait(int rank, const siginfo_t &told)
{
    rank_end end;
    end.rank = rank;
    (told.si_code == CLD_EXITED ? end.code : end.signal) = told.si_status;
    end.core = told.si_code == CLD_DUMPED;
    return end;
}

int shell_status(const rank_end &end)
{
    if (end.signal) return 128 + end.signal;
    if (end.unfinished && end.code == 0) return 1;
    return end.code;
}

int order_of_causes(const rank_end &end)
{
    const bool often_a_consequence = end.signal == SIGABRT || end.signal == SIGPIPE;
    if (end.signal && !often_a_consequence && !end.asked) return 0;
    return shell_status(end) != 0 ? 1 : 2;
}

std::string describe(const rank_end &end, const std::string &host)
{
    std::string who = fmt::format("rank {} on {}", end.rank, host);
    if (end.signal)
        return fmt::format("{} was killed by signal {} ({}{})", who, end.signal, strsignal(end.signal),
                           end.core ? ", core dumped" : "");
    if (end.unfinished && end.code == 0) return fmt::format("{} ended without sea_finalize", who);
    return fmt::format("{} exited with status {}", who, end.code);
}

void verdict::add(const rank_end &end, bool ended_by_launcher)
{
    if (shell_status(end) == 0) return;
    if (ended_by_launcher)
        ++ended_;
    else if (!first_)
        first_ = end;
}

} // namespace onesea::agent
