// SPDX-License-Identifier: Apache-2.0
// NAS IS over the back end that it is linked with.
#include "../program.hpp"
#include "kernel.hpp"

namespace {

using namespace npb;

constexpr int most_ranks = 256; // a process then has at least 256 keys, and each a few buckets

plan prepare(char name, int ranks)
{
    const is::problem &given = known(is::find_problem(name), name);
    if (ranks > most_ranks)
        throw bad_call("IS runs on up to " + std::to_string(most_ranks) + " ranks, not on " + std::to_string(ranks));
    return {std::to_string(given.keys()) + " keys from 0 to " + std::to_string(given.range() - 1) + ", " +
                std::to_string(is::iterations) + " iterations",
            is::iterations};
}

result run(char name, comm &peers, const std::function<void(int, const std::string &)> &show)
{
    const is::problem &given = known(is::find_problem(name), name);
    is::kernel kernel(given, peers);
    const auto found = kernel.run([&](int iteration) { show(iteration, {}); });
    const int all = is::tests * is::iterations;
    return {found.tests_passed == all && found.sorted,
            found.seconds,
            is::million_operations(given) / found.seconds,
            {"partial: " + std::to_string(found.tests_passed) + " of " + std::to_string(all) +
                 " test keys have the published rank",
             std::string("full: the ranks ") + (found.sorted ? "put" : "do not put") + " all keys in order"},
            {{"tests_passed", std::to_string(found.tests_passed)}, {"sorted", found.sorted ? "yes" : "no"}}};
}

} // namespace

int main(int argc, char **argv)
{
    const benchmark is{
        "IS",
        "NAS Parallel Benchmark IS on any number of ranks up to 256, verified with the published ranks and "
        "in full.",
        prepare, run};
    return run_program(is, argc, argv);
}
