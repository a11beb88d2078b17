// SPDX-License-Identifier: Apache-2.0
#include "agent/verdict.hpp"

#include <cstring>
#include <fmt/format.h>
#include <sys/wait.h>

namespace onesea::agent {

rank_end end_from_wait(int rank, int wait_status)
{
    rank_end end;
    end.rank = rank;
    if (WIFSIGNALED(wait_status)) {
        end.signal = WTERMSIG(wait_status);
        end.core = WCOREDUMP(wait_status);
    } else {
        end.code = WEXITSTATUS(wait_status);
    }
    return end;
}

int shell_status(const rank_end &end)
{
    if (end.signal) return 128 + end.signal;
    if (end.unfinished && end.code == 0) return 1;
    return end.code;
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
