// SPDX-License-Identifier: Apache-2.0
// Merges the output of many ranks into one stream, line by line.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace onesea::agent {

inline constexpr std::size_t longest_line = 1u << 20; // bytes kept back for a missing end of line

class line_merger {
  public:
    // whole_lines false: bytes go on as they come (a job of one rank, or a program's prompt would not show).
    explicit line_merger(bool whole_lines) : whole_lines_(whole_lines) {}

    void keep_lines_whole() { whole_lines_ = true; } // from now on

    // Takes what a rank has written; `tag` goes before each line.
    void add(int rank, std::string_view bytes, std::string_view tag);
    // The rank writes no more: what is left of its last line goes out.
    void finish(int rank, std::string_view tag);

    // What can be written now, and forgets it.
    std::string take();

  private:
    void emit(int rank, std::string_view bytes, std::string_view tag);

    bool whole_lines_;
    std::unordered_map<int, std::string> partial_;
    std::string ready_;
    int open_rank_ = -1; // who left the stream within a line; -1: at the start of a line
};

} // namespace onesea::agent
