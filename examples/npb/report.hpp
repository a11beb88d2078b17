// SPDX-License-Identifier: Apache-2.0
// What a person sees of a run: progress, verdict, tables; and what a script reads of it.
#pragma once

#include "measured.hpp"

#include <string>
#include <utility>
#include <vector>

namespace npb {

enum class progress_style { automatic, live, lines, each, none };

// Writes progress to stdout, so that it keeps its place among the rest: one line that is rewritten, a line for every
// iteration, or a line for about every fifth of the run.
class progress_line {
  public:
    progress_line(progress_style style, int iterations);
    void show(int iteration, double seconds, const std::string &what = {});
    void end(); // leaves the rewritten line

  private:
    bool live_;
    int iterations_, every_; // every_ 0: never
};

// How a run ended, in the words of its kernel.
struct result {
    bool verified;
    double seconds, mops;                                    // of the timed part
    std::vector<std::string> details;                        // below the verdict
    std::vector<std::pair<std::string, std::string>> values; // name and value, for scripts
};

// Verdict, time, speed, where the time went and traffic between pairs of ranks (a summary by transport if there are
// many).
void print(const result &given, const spending &spent, const std::vector<pair_traffic> &traffic);

// Writes "name value" lines for a script. False, with errno, if the file cannot be written.
bool write_report(const std::string &path, const result &given, const spending &spent, int ranks);

} // namespace npb
