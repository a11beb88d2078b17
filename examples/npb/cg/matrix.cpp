// SPDX-License-Identifier: Apache-2.0
// The matrix is the sum of n outer products w_i x_i x_i^T of sparse random vectors, with weights that fall from 1 to
// rcond, plus (rcond - shift) on the diagonal. Each x_i has its element i set to 1/2.
//
// The order in which random numbers are drawn is part of the specification: one is thrown away first; then for each
// vector pairs (value, place) until it has enough different places; a place beyond n, or drawn before, costs its pair.
//
// Assembly in three passes, each linear but for sorting short rows: count what every row of the block gets, with
// duplicates; place it; then sort each row by column and add the duplicates up. The sort is stable, so sums are taken
// in the order of the vectors and a block has the same bits whatever the grid.
#include "matrix.hpp"

#include "../random.hpp"

#include <algorithm>
#include <cmath>

namespace npb::cg {
namespace {

struct element {
    std::uint32_t place;
    double value;
};
using sparse_vector = std::vector<element>;

sparse_vector random_vector(random_stream &random, std::size_t order, int count)
{
    const auto range_of_places = static_cast<double>(std::bit_ceil(order));
    sparse_vector result;
    while (result.size() < static_cast<std::size_t>(count)) {
        double value = random.next();
        auto place = static_cast<std::uint32_t>(range_of_places * random.next());
        bool seen = std::any_of(result.begin(), result.end(), [&](const element &e) { return e.place == place; });
        if (place < order && !seen) result.push_back({place, value});
    }
    return result;
}

void set_element(sparse_vector &vector, std::uint32_t place, double value)
{
    auto found = std::find_if(vector.begin(), vector.end(), [&](const element &e) { return e.place == place; });
    if (found != vector.end())
        found->value = value;
    else
        vector.push_back({place, value});
}

std::vector<sparse_vector> make_vectors(const problem &given)
{
    random_stream random(seed);
    random.next();
    std::vector<sparse_vector> vectors(given.order);
    for (std::size_t i = 0; i < given.order; ++i) {
        vectors[i] = random_vector(random, given.order, given.nonzeros);
        set_element(vectors[i], static_cast<std::uint32_t>(i), 0.5);
    }
    return vectors;
}

bool inside(const range &r, std::size_t place) { return place >= r.first && place < r.last; }

// Calls visit(row, column, value) for every product that falls into the block, vector by vector.
template <typename Visit>
void each_product(const problem &given, const std::vector<sparse_vector> &vectors, range rows, range columns,
                  Visit &&visit)
{
    const double ratio = std::pow(condition, 1.0 / static_cast<double>(given.order));
    double weight = 1.0;
    for (std::size_t i = 0; i < vectors.size(); ++i, weight *= ratio)
        for (const auto &left : vectors[i]) {
            if (!inside(rows, left.place)) continue;
            for (const auto &right : vectors[i]) {
                if (!inside(columns, right.place)) continue;
                double value = right.value * (weight * left.value);
                if (left.place == i && right.place == i) value += condition - given.shift;
                visit(left.place - rows.first, static_cast<std::uint32_t>(right.place - columns.first), value);
            }
        }
}

// Sorts the row by column and adds duplicates up; how many are left.
std::size_t merge_row(std::vector<element> &row)
{
    std::stable_sort(row.begin(), row.end(), [](const element &a, const element &b) { return a.place < b.place; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (kept > 0 && row[kept - 1].place == row[i].place)
            row[kept - 1].value += row[i].value;
        else
            row[kept++] = row[i];
    }
    return kept;
}

} // namespace

matrix_block::matrix_block(const problem &given, range rows, range columns) : starts_(rows.size() + 1)
{
    const auto vectors = make_vectors(given);
    std::vector<std::size_t> ends(rows.size() + 1);
    each_product(given, vectors, rows, columns, [&](std::size_t row, std::uint32_t, double) { ++ends[row + 1]; });
    for (std::size_t row = 0; row < rows.size(); ++row) ends[row + 1] += ends[row];

    std::vector<element> products(ends.back());
    std::vector<std::size_t> next(ends.begin(), ends.end() - 1);
    each_product(given, vectors, rows, columns, [&](std::size_t row, std::uint32_t column, double value) {
        products[next[row]++] = {column, value};
    });

    std::vector<element> row_elements;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        auto first = products.begin() + static_cast<std::ptrdiff_t>(ends[row]);
        row_elements.assign(first, products.begin() + static_cast<std::ptrdiff_t>(ends[row + 1]));
        row_elements.resize(merge_row(row_elements));
        for (const auto &e : row_elements) {
            columns_.push_back(e.place);
            values_.push_back(e.value);
        }
        starts_[row + 1] = values_.size();
    }
}

void matrix_block::multiply(const double *vector, double *result) const
{
    const std::size_t rows = starts_.size() - 1;
    for (std::size_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (std::size_t k = starts_[row]; k < starts_[row + 1]; ++k) sum += values_[k] * vector[columns_[k]];
        result[row] = sum;
    }
}

} // namespace npb::cg
