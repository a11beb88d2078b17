// SPDX-License-Identifier: Apache-2.0
// What `onesea run --stats` tells at the end of a job: a table for people, or everything as JSON.
#pragma once

#include "observe/page_copy.hpp"

namespace onesea::observe {

struct rank_report {
    int rank = -1;
    unsigned node = 0;
    std::string host;
    std::optional<page_copy> page; // nullopt: its agent was lost, and the page with it, or could not read it
    bool agent_lost = true;
};

struct job_report {
    std::vector<rank_report> ranks; // by rank
};

inline constexpr std::size_t most_pairs_shown = 20, most_ranks_shown = 16;

// Lines of text. Of more pairs than most_pairs_shown those that moved most bytes are shown, and the sum of the others;
// of more ranks than most_ranks_shown those that waited longest.
std::string table(const job_report &job);

nlohmann::json to_json(const job_report &job);

} // namespace onesea::observe
