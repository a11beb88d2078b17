// SPDX-License-Identifier: Apache-2.0
// What the ranks counted, told at the end (--stats). Each agent reads the pages of its ranks when all of them have
// ended, however they ended. Pairs of ranks come in several messages, since there may be many of them.
#include "agent/launcher_state.hpp"

#include "agent/hosts.hpp"

#include <cstring>
#include <fmt/format.h>

namespace onesea::agent {

// At the start, so that a file that cannot be written is not found out after hours.
void launcher::open_stats_file()
{
    if (request_.stats_file.empty()) return;
    std::string why;
    stats_file_ = output_file::open(loop_, request_.stats_file, &why);
    if (!stats_file_) throw request_error(fmt::format("--stats: '{}' cannot be written: {}", request_.stats_file, why));
}

void launcher::take_counts(unsigned node, const message &m)
{
    observe::page_copy part = observe::page_from_json(m.head);
    part.rank = int(rank_told_of(node, m.head.at("rank")));
    auto [place, first] = counts_.try_emplace(part.rank);
    observe::rank_report &report = place->second;
    if (first) {
        report = {part.rank, node, placed_.nodes[node].host, std::move(part), false};
    } else if (report.node == node) { // a rank is of one node
        auto &pairs = report.page->pairs;
        pairs.insert(pairs.end(), part.pairs.begin(), part.pairs.end());
    }
}

void launcher::tell_counts()
{
    observe::job_report job;
    for (unsigned r = 0; r < placed_.ranks.size(); ++r) {
        const unsigned node = placed_.ranks[r].node;
        counts_.try_emplace(int(r), observe::rank_report{int(r), node, host_of(r), std::nullopt, !nodes_[node]->done});
    }
    for (auto &[rank, report] : counts_) job.ranks.push_back(std::move(report));
    if (!stats_file_) {
        output_.show(observe::table(job));
        return;
    }
    stats_file_->write(observe::to_json(job).dump(1) + "\n");
}

} // namespace onesea::agent
