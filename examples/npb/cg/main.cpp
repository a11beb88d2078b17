// SPDX-License-Identifier: Apache-2.0
// NAS CG over the back end that it is linked with.
#include "../program.hpp"
#include "kernel.hpp"

#include <cstdio>

namespace {

using namespace npb;

plan prepare(char name, int ranks)
{
    const cg::problem &given = known(cg::find_problem(name), name);
    if (!cg::grid::fits(ranks)) throw bad_call("CG runs on a power of two of ranks, not on " + std::to_string(ranks));
    return {"matrix of order " + std::to_string(given.order) + ", " + std::to_string(given.iterations) + " iterations",
            given.iterations};
}

template <typename... Values>
std::string text(const char *format, Values... values)
{
    char buffer[128];
    std::snprintf(buffer, sizeof buffer, format, values...);
    return buffer;
}

result run(char name, comm &peers, const std::function<void(int, const std::string &)> &show)
{
    const cg::problem &given = known(cg::find_problem(name), name);
    cg::kernel kernel(given, peers);
    const auto found = kernel.run([&](int iteration, double zeta) { show(iteration, text("zeta %17.13f   ", zeta)); });
    const double error = cg::error_of(given, found.zeta);
    return {error <= cg::tolerance,
            found.seconds,
            cg::million_operations(given) / found.seconds,
            {text("zeta      %18.13f", found.zeta),
             text("reference %18.13f   relative error %.1e, allowed %.0e", given.zeta, error, cg::tolerance)},
            {{"zeta", text("%.13f", found.zeta)}}};
}

} // namespace

int main(int argc, char **argv)
{
    const benchmark cg{
        "CG",
        "NAS Parallel Benchmark CG on a power of two of ranks, verified with the published value. Class B "
        "has about 36\ntimes the work of A.",
        prepare, run};
    return run_program(cg, argc, argv);
}
