// SPDX-License-Identifier: Apache-2.0
// The official problem classes of CG and how a result is judged (NPB 3.x).
#pragma once

#include <cstddef>

namespace npb::cg {

struct problem {
    char name;         // S, W, A or B
    std::size_t order; // rows and columns of the matrix
    int nonzeros;      // in each of the vectors that the matrix is made of
    int iterations;    // of the power method
    double shift;
    double zeta; // the published result
};

inline constexpr double condition = 0.1;   // rcond: bound of the smallest eigenvalue
inline constexpr int steps_of_cg = 25;     // of conjugate gradients in each iteration
inline constexpr double tolerance = 1e-10; // of zeta, relative

// The class of that letter, NULL if there is none.
const problem *find_problem(char name);

// Relative error of a result; it is verified if at most `tolerance`. A result that is no number has error infinity.
double error_of(const problem &given, double zeta);

// Million floating-point operations of the timed part, by the official formula.
double million_operations(const problem &given);

} // namespace npb::cg
