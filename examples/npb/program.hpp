// SPDX-License-Identifier: Apache-2.0
// What the programs have in common: options, start, end, exit status. One kernel and one back end make a program.
#pragma once

#include "report.hpp"

#include <stdexcept>

namespace npb {

// The user's mistake: told on rank 0, exit status 2.
struct bad_call : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What find_problem() of a kernel gave for that letter, or bad_call if it gave none.
template <typename Problem>
const Problem &known(const Problem *found, char name)
{
    if (found == nullptr) throw bad_call(std::string("class '") + name + "' is unknown; use S, W, A or B");
    return *found;
}

// Told before the run, on rank 0: "matrix of order 1400, 15 iterations".
struct plan {
    std::string text;
    int iterations;
};

// A benchmark, as its main() describes it.
struct benchmark {
    std::string name;  // "CG"
    std::string about; // for --help, a line of its own

    // Fails with bad_call if the class or the number of ranks will not do. Not collective.
    plan (*prepare)(char problem_class, int ranks);
    // The run itself, collective. show() is called after every iteration.
    result (*run)(char problem_class, comm &peers, const std::function<void(int, const std::string &)> &show);
};

// Exit status: 0 verified, 1 not verified or failed, 2 called wrongly.
int run_program(const benchmark &what, int argc, char **argv);

} // namespace npb
