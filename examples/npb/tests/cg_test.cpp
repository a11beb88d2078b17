// SPDX-License-Identifier: Apache-2.0
// The parts of CG that need no communication, and its kernel on threads.
#include "../cg/kernel.hpp"
#include "../random.hpp"
#include "threads.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace npb::cg {
namespace {

// By doubling, so that no product is longer than 64 bits: shares nothing with random_stream.
std::uint64_t product_mod_2_46(std::uint64_t a, std::uint64_t b)
{
    const std::uint64_t modulus = std::uint64_t(1) << 46;
    std::uint64_t sum = 0;
    for (; b > 0; b /= 2, a = a * 2 % modulus)
        if (b % 2 == 1) sum = (sum + a) % modulus;
    return sum;
}

TEST(npb_random, follows_the_recurrence_of_the_specification)
{
    random_stream random(seed);
    std::uint64_t x = seed;
    for (int i = 0; i < 1000; ++i) {
        x = product_mod_2_46(1220703125, x);
        ASSERT_EQ(random.next(), static_cast<double>(x) / static_cast<double>(std::uint64_t(1) << 46)) << i;
    }
}

TEST(npb_cg_problem, a_result_is_verified_within_the_tolerance_only)
{
    for (char name : {'S', 'W', 'A', 'B'}) {
        const problem *given = find_problem(name);
        ASSERT_NE(given, nullptr);
        EXPECT_LE(error_of(*given, given->zeta * (1 + 0.9e-10)), tolerance);
        EXPECT_GT(error_of(*given, given->zeta * (1 + 1.1e-10)), tolerance);
        EXPECT_GT(error_of(*given, std::numeric_limits<double>::quiet_NaN()), tolerance);
    }
    EXPECT_EQ(find_problem('C'), nullptr);
}

TEST(npb_cg_grid, fits_powers_of_two_only)
{
    for (int ranks : {1, 2, 4, 8, 64, 256}) EXPECT_TRUE(grid::fits(ranks)) << ranks;
    for (int ranks : {-4, 0, 3, 6, 12}) EXPECT_FALSE(grid::fits(ranks)) << ranks;
}

TEST(npb_cg_grid, partners_are_mutual_and_agree_on_lengths)
{
    for (std::size_t order : {std::size_t(1400), std::size_t(1403)})
        for (int ranks = 1; ranks <= 256; ranks *= 2)
            for (int rank = 0; rank < ranks; ++rank) {
                const grid mine(ranks, rank, order);
                for (int step = 0; step < mine.row_steps(); ++step) {
                    const grid other(ranks, mine.row_partner(step), order);
                    ASSERT_EQ(other.row_partner(step), rank);
                    ASSERT_EQ(other.my_rows().first, mine.my_rows().first);
                }
                const grid other(ranks, mine.transpose_partner(), order);
                ASSERT_EQ(other.transpose_partner(), rank);
                const std::size_t sent = other.my_rows().first + other.kept_rows().first;
                ASSERT_EQ(sent, mine.my_columns().first) << ranks << " ranks, rank " << rank;
                ASSERT_EQ(other.kept_rows().size(), mine.my_columns().size());
                ASSERT_LE(mine.my_rows().size(), mine.longest());
            }
}

TEST(npb_cg_matrix, blocks_together_are_the_whole)
{
    const problem given{'T', 101, 5, 1, 10.0, 1.0};
    std::vector<double> vector(given.order), whole(given.order), sum(given.order);
    std::iota(vector.begin(), vector.end(), 1.0);
    const matrix_block all(given, {0, given.order}, {0, given.order});
    all.multiply(vector.data(), whole.data());

    std::size_t entries = 0;
    for (int rank = 0; rank < 8; ++rank) {
        const grid place(8, rank, given.order);
        const range rows = place.my_rows(), columns = place.my_columns();
        const matrix_block block(given, rows, columns);
        std::vector<double> part(rows.size());
        block.multiply(vector.data() + columns.first, part.data());
        for (std::size_t i = 0; i < part.size(); ++i) sum[rows.first + i] += part[i];
        entries += block.entries();
    }
    EXPECT_EQ(entries, all.entries());
    for (std::size_t i = 0; i < given.order; ++i) EXPECT_NEAR(sum[i], whole[i], 1e-9) << i;
}

TEST(npb_cg_kernel, gives_the_published_value_of_class_s_without_any_library)
{
    for (int ranks : {1, 2, 4})
        thread_job(ranks).run([&](comm &peers) {
            const problem &given = *find_problem('S');
            kernel cg(given, peers);
            int calls = 0;
            const outcome result = cg.run([&](int iteration, double) { EXPECT_EQ(iteration, ++calls); });
            EXPECT_LE(error_of(given, result.zeta), tolerance) << ranks;
            EXPECT_LT(result.residual, 1e-10) << ranks;
            EXPECT_EQ(calls, given.iterations);
        });
}

TEST(npb_cg_kernel, a_changed_problem_is_not_verified)
{
    thread_job(1).run([](comm &alone) {
        problem given = *find_problem('S');
        given.nonzeros += 1; // a changed shift would not do: it is subtracted from the matrix and added to the result
        kernel cg(given, alone);
        EXPECT_GT(error_of(given, cg.run({}).zeta), tolerance);
    });
}

} // namespace
} // namespace npb::cg
