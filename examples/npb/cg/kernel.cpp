// SPDX-License-Identifier: Apache-2.0
// One product A v on the grid: every rank multiplies its block with its piece of v, which gives its share of its rows.
// The shares are summed along the grid row by recursive doubling (log2(columns) exchanges). On a grid that is not
// square the first exchange is with the direct neighbour and splits the rows: each keeps the half of its parity, and
// all later exchanges have half the length. Then each rank sends what it has to the one that needs it as a piece of a
// vector: the transposed place. Scalars are summed along the grid row alone: every grid row has all pieces.
//
// In the sum both partners add the same two numbers, so all members of a grid row end with the same bits, and all
// copies of a piece stay equal without ever being compared.
#include "kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace npb::cg {

kernel::kernel(const problem &given, comm &peers)
    : given_(given), peers_(peers), grid_(peers.size(), peers.rank(), given.order),
      block_(given, grid_.my_rows(), grid_.my_columns()), partial_(grid_.my_rows().size())
{
    for (vector *each : {&x_, &z_, &p_, &q_, &r_}) each->resize(grid_.my_columns().size());
    open_channels();
}

void kernel::open_channels()
{
    for (int step = 0; step < grid_.row_steps(); ++step) {
        vector_channels_.push_back(peers_.open(grid_.row_partner(step), grid_.longest()));
        scalar_channels_.push_back(peers_.open(grid_.row_partner(step), 2));
    }
    transpose_channel_ = peers_.open(grid_.transpose_partner(), grid_.longest());
    peers_.connect();
}

void kernel::sum_along_row()
{
    const range kept = grid_.kept_rows();
    std::span<double> all(partial_), mine = all.subspan(kept.first, kept.size());
    std::span<double> others = kept.first == 0 ? all.subspan(kept.last) : all.first(kept.first);
    for (std::size_t step = 0; step < vector_channels_.size(); ++step) {
        bool splits = step == 0 && !grid_.square();
        auto arrived = peers_.exchange(vector_channels_[step], splits ? others : mine, mine.size());
        for (std::size_t i = 0; i < mine.size(); ++i) mine[i] += arrived[i];
    }
}

void kernel::multiply(const vector &in, vector &out)
{
    block_.multiply(in.data(), partial_.data());
    sum_along_row();
    const range kept = grid_.kept_rows();
    auto mine = std::span<const double>(partial_).subspan(kept.first, kept.size());
    auto arrived = peers_.exchange(transpose_channel_, mine, out.size());
    std::copy(arrived.begin(), arrived.end(), out.begin());
}

void kernel::add_over_row(std::span<double> few)
{
    for (int channel : scalar_channels_) {
        auto arrived = peers_.exchange(channel, few, few.size());
        for (std::size_t i = 0; i < few.size(); ++i) few[i] += arrived[i];
    }
}

double kernel::dot(const vector &a, const vector &b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    add_over_row({&sum, 1});
    return sum;
}

double kernel::solve()
{
    std::fill(z_.begin(), z_.end(), 0.0);
    r_ = x_;
    p_ = x_;
    double rho = dot(r_, r_);
    for (int step = 0; step < steps_of_cg; ++step) {
        multiply(p_, q_);
        const double alpha = rho / dot(p_, q_);
        for (std::size_t i = 0; i < z_.size(); ++i) {
            z_[i] += alpha * p_[i];
            r_[i] -= alpha * q_[i];
        }
        const double before = rho;
        rho = dot(r_, r_);
        const double beta = rho / before;
        for (std::size_t i = 0; i < p_.size(); ++i) p_[i] = r_[i] + beta * p_[i];
    }
    multiply(z_, r_);
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] = x_[i] - r_[i];
    return std::sqrt(dot(r_, r_));
}

double kernel::iterate(double &residual)
{
    residual = solve();
    std::array<double, 2> sums{}; // x z, z z
    for (std::size_t i = 0; i < x_.size(); ++i) {
        sums[0] += x_[i] * z_[i];
        sums[1] += z_[i] * z_[i];
    }
    add_over_row(sums);
    const double scale = 1.0 / std::sqrt(sums[1]);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = scale * z_[i];
    return given_.shift + 1.0 / sums[0];
}

outcome kernel::run(const progress_fn &progress)
{
    outcome result;
    std::fill(x_.begin(), x_.end(), 1.0);
    iterate(result.residual);
    std::fill(x_.begin(), x_.end(), 1.0);

    peers_.barrier();
    peers_.start_counting();
    const double start = peers_.seconds();
    for (int iteration = 1; iteration <= given_.iterations; ++iteration) {
        result.zeta = iterate(result.residual);
        if (progress) progress(iteration, result.zeta);
    }
    result.seconds = peers_.seconds() - start;
    peers_.stop_counting();
    result.seconds = peers_.maximum(result.seconds);
    return result;
}

} // namespace npb::cg
