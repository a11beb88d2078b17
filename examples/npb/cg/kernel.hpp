// SPDX-License-Identifier: Apache-2.0
// CG: the smallest eigenvalue of a sparse symmetric matrix by inverse iteration, each step of it a system solved by
// 25 steps of conjugate gradients.
#pragma once

#include "../comm.hpp"
#include "matrix.hpp"

#include <functional>
#include <vector>

namespace npb::cg {

struct outcome {
    double zeta = 0;
    double residual = 0; // of the last system
    double seconds = 0;  // of the slowest rank
};

// Called after every iteration: its number from 1, its zeta.
using progress_fn = std::function<void(int, double)>;

class kernel {
  public:
    // Makes this rank's block of the matrix and opens the channels. Collective.
    kernel(const problem &given, comm &peers);

    // The benchmark: one iteration that is not timed, then all that are. Collective.
    outcome run(const progress_fn &progress);

  private:
    using vector = std::vector<double>;

    double solve();                               // A z = x; returns |x - A z|
    double iterate(double &residual);             // one step of the inverse iteration; returns zeta
    void multiply(const vector &in, vector &out); // out = A in
    void sum_along_row();                         // of partial_, over my grid row
    double dot(const vector &a, const vector &b); // over all pieces
    void add_over_row(std::span<double> few);     // element by element, over my grid row
    void open_channels();

    const problem &given_;
    comm &peers_;
    grid grid_;
    matrix_block block_;
    std::vector<int> vector_channels_, scalar_channels_; // one for each step of recursive doubling
    int transpose_channel_ = 0;
    vector partial_;           // my rows of a product, before and after the sum
    vector x_, z_, p_, q_, r_; // pieces of the vectors of the specification
};

} // namespace npb::cg
