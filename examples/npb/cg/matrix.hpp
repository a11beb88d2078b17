// SPDX-License-Identifier: Apache-2.0
// The sparse matrix of CG: a block of it, in compressed rows.
#pragma once

#include "grid.hpp"
#include "problem.hpp"

#include <cstdint>
#include <vector>

namespace npb::cg {

class matrix_block {
  public:
    // Makes the rows and columns given of the matrix of that problem. Every rank makes the same random vectors and
    // keeps what falls into its block, so nothing is sent.
    matrix_block(const problem &given, range rows, range columns);

    // result[i] = sum over j of block[i][j] * vector[j]; indices count from the block's corner.
    void multiply(const double *vector, double *result) const;

    std::size_t entries() const { return values_.size(); }

  private:
    std::vector<std::size_t> starts_; // of each row in the other two, and the end
    std::vector<std::uint32_t> columns_;
    std::vector<double> values_;
};

} // namespace npb::cg
