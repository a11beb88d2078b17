// SPDX-License-Identifier: Apache-2.0
// Who holds which block of the matrix.
//
// The processes, a power of two, form a grid of `rows` x `columns` with columns == rows or columns == 2 rows; rank
// r stands in row r / columns. It holds the rows R[row] and columns C[column] of the matrix, where
//
//     R[i] = [ n i / rows, n (i+1) / rows )        C[j] = [ n j / columns, n (j+1) / columns )
//
// so that R[i] == C[i] on a square grid and R[i] == C[2i] + C[2i+1] on the other, also where n is no multiple. Vectors
// are cut like the columns of the matrix: each grid column holds a piece, and all its members have the same copy.
#pragma once

#include <bit>
#include <cstddef>

namespace npb::cg {

struct range {
    std::size_t first, last; // last is one past the end
    std::size_t size() const { return last - first; }
};

class grid {
  public:
    static bool fits(int ranks) { return ranks > 0 && std::has_single_bit(static_cast<unsigned>(ranks)); }

    grid(int ranks, int rank, std::size_t order) : order_(order)
    {
        int bits = std::bit_width(static_cast<unsigned>(ranks)) - 1;
        rows_ = 1 << (bits / 2);
        columns_ = ranks / rows_;
        row_ = rank / columns_;
        column_ = rank % columns_;
    }

    int rows() const { return rows_; }
    int columns() const { return columns_; }
    bool square() const { return rows_ == columns_; }
    range my_rows() const { return cut(row_, rows_); }
    range my_columns() const { return cut(column_, columns_); }

    // The part of my rows that I have after the sum along my grid row: all, or the half of my column's parity.
    range kept_rows() const
    {
        range mine = my_rows();
        range half = square() ? mine : cut(2 * row_ + column_ % 2, columns_);
        return {half.first - mine.first, half.last - mine.first};
    }

    // The members of my grid row that I meet in the sum by recursive doubling: neighbours first.
    int row_partner(int step) const { return row_ * columns_ + (column_ ^ (1 << step)); }
    int row_steps() const { return std::bit_width(static_cast<unsigned>(columns_)) - 1; }

    // Who has the piece of the row sums that I need as a piece of a vector. It needs mine; may be this rank.
    int transpose_partner() const
    {
        if (square()) return column_ * columns_ + row_;
        return column_ / 2 * columns_ + 2 * row_ + column_ % 2;
    }

    // No piece of any rank is longer.
    std::size_t longest() const { return (order_ + static_cast<std::size_t>(rows_) - 1) / rows_ + 1; }

  private:
    range cut(int part, int parts) const
    {
        auto at = [&](std::size_t i) { return order_ * i / static_cast<std::size_t>(parts); };
        return {at(static_cast<std::size_t>(part)), at(static_cast<std::size_t>(part) + 1)};
    }

    std::size_t order_;
    int rows_, columns_, row_, column_;
};

} // namespace npb::cg
