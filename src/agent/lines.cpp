// SPDX-License-Identifier: Apache-2.0
// A rank's bytes wait until their line is complete. A last line without an end goes out when the rank has closed its
// stream; its end of line is added only if somebody else writes after it, so the output of one rank stays exact.
// A line longer than longest_line is cut: memory must be bounded, and that is not text for people.
#include "agent/lines.hpp"

#include <utility>

namespace onesea::agent {

void line_merger::emit(int rank, std::string_view bytes, std::string_view tag)
{
    while (!bytes.empty()) {
        if (open_rank_ >= 0 && open_rank_ != rank) {
            ready_ += '\n';
            open_rank_ = -1;
        }
        if (open_rank_ < 0) ready_ += tag;
        std::string_view line = bytes.substr(0, bytes.find('\n'));
        bool ended = line.size() < bytes.size();
        ready_ += line;
        if (ended) ready_ += '\n';
        open_rank_ = ended ? -1 : rank;
        bytes.remove_prefix(line.size() + ended);
    }
}

void line_merger::add(int rank, std::string_view bytes, std::string_view tag)
{
    if (!whole_lines_) return emit(rank, bytes, tag);
    auto end = bytes.rfind('\n');
    std::string &kept = partial_[rank];
    if (end != bytes.npos) {
        kept += bytes.substr(0, end + 1);
        emit(rank, std::exchange(kept, {}), tag);
        bytes.remove_prefix(end + 1);
    }
    kept += bytes;
    if (kept.size() > longest_line) {
        kept += '\n';
        emit(rank, std::exchange(kept, {}), tag);
    }
}

void line_merger::finish(int rank, std::string_view tag)
{
    auto kept = partial_.find(rank);
    if (kept == partial_.end()) return;
    emit(rank, kept->second, tag);
    partial_.erase(kept);
}

std::string line_merger::take() { return std::exchange(ready_, {}); }

} // namespace onesea::agent
