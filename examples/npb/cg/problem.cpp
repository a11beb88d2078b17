// SPDX-License-Identifier: Apache-2.0
#include "problem.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace npb::cg {
namespace {

constexpr std::array problems{
    problem{'S', 1400, 7, 15, 10.0, 8.5971775078648},
    problem{'W', 7000, 8, 15, 12.0, 10.362595087124},
    problem{'A', 14000, 11, 15, 20.0, 17.130235054029},
    problem{'B', 75000, 13, 75, 60.0, 22.712745482631},
};

} // namespace

const problem *find_problem(char name)
{
    for (const auto &each : problems)
        if (each.name == name) return &each;
    return nullptr;
}

double error_of(const problem &given, double zeta)
{
    if (!std::isfinite(zeta)) return std::numeric_limits<double>::infinity();
    return std::fabs(zeta - given.zeta) / given.zeta;
}

double million_operations(const problem &given)
{
    double row = given.nonzeros * (given.nonzeros + 1.0);
    double iteration = 3.0 + row + steps_of_cg * (5.0 + row) + 3.0;
    return 2.0 * given.iterations * static_cast<double>(given.order) * iteration * 1e-6;
}

} // namespace npb::cg
