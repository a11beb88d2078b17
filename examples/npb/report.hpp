// SPDX-License-Identifier: Apache-2.0
// What a person sees of a run: progress, verdict, tables.
#pragma once

#include "kernel.hpp"

#include <string>

namespace npb {

enum class progress_style { automatic, live, lines, each, none };

// Writes progress to stdout, so that it keeps its place among the rest: one line that is rewritten, a line for every
// iteration, or a line for about every fifth of the run.
class progress_line {
  public:
    progress_line(progress_style style, int iterations);
    void show(int iteration, double zeta, double seconds);
    void end(); // leaves the rewritten line

  private:
    bool live_;
    int iterations_, every_; // every_ 0: never
};

// "CG class A on 4 ranks ..."; what is about to run.
std::string headline(const problem &given, int ranks, int nodes, const std::string &backend);

// The verdict, with the value and the published one; true if verified.
bool print_verdict(const problem &given, const outcome &result);

// Time, speed and traffic between pairs of ranks (a summary by transport if there are many).
void print_tables(const problem &given, const outcome &result, const std::vector<pair_traffic> &traffic);

// Writes "name value" lines for a script. False, with errno, if the file cannot be written.
bool write_report(const std::string &path, const problem &given, const outcome &result, int ranks);

} // namespace npb
