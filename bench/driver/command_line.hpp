// SPDX-License-Identifier: Apache-2.0
// The command line of a benchmark: the options that all share, and those of one alone.
#pragma once

#include "driver/options.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace bench {

// The exit code of the command `onesea` for wrong options, also for one that names a place that cannot be written.
constexpr int wrong_options = 125;

struct number_option { // of one benchmark alone
    std::string name;  // as it is typed: "--ranks"
    unsigned *value;   // holds the default
    unsigned least, most;
    std::string help;
};

struct benchmark {
    std::string name; // as in `onesea bench NAME`
    std::string help;
    std::vector<std::string> cases;
    std::vector<std::string> paths = {"shm", "net"}; // empty: nothing is sent, so that --path and --secure mean nothing
    std::vector<number_option> numbers = {};
};

// Reads the command line. An exit code if the program is to end now: 0 when the help was wanted (throws if that could
// not be printed), or wrong_options, which are told on stderr.
std::optional<int> parse(CLI::App &app, int argc, char **argv);

// A benchmark's main: gives the exit code. Exceptions of `body` become a message and a code.
int run_benchmark(int argc, char **argv, const benchmark &what, const std::function<int(const options &)> &body);

} // namespace bench
