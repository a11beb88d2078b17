// SPDX-License-Identifier: Apache-2.0
#include "problem.hpp"

#include "../random.hpp"

namespace npb::is {
namespace {

// In every iteration key `i` becomes i and key `i + iterations` the range less i, so the ranks of the tests drift:
// those of small keys up, those of large ones down.
constexpr std::array problems{
    problem{'S', 16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, 0b00111, 0, 0},
    problem{
        'W', 20, 16, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018}, 0b00011, 2, 0},
    problem{'A',
            23,
            19,
            {2112377, 662041, 5336171, 3642833, 4250760},
            {104, 17523, 123928, 8288932, 8388264},
            0b00111,
            1,
            1},
    problem{'B',
            25,
            21,
            {41869, 812306, 5102857, 18232239, 26860214},
            {33422937, 10244, 59149, 33135281, 99},
            0b10110,
            0,
            0},
};

constexpr int numbers_of_a_key = 4; // their mean is its share of the range

} // namespace

const problem *find_problem(char name)
{
    for (const auto &each : problems)
        if (each.name == name) return &each;
    return nullptr;
}

std::uint32_t problem::rank_in(int test, int iteration) const
{
    const std::uint32_t published = rank[static_cast<std::size_t>(test)];
    if ((rising >> test & 1) != 0) return published + static_cast<std::uint32_t>(iteration - rising_from);
    return published - static_cast<std::uint32_t>(iteration - falling_from);
}

double million_operations(const problem &given) { return iterations * static_cast<double>(given.keys()) * 1e-6; }

void make_keys(const problem &given, std::size_t first, std::span<std::uint32_t> keys)
{
    random_stream random(seed);
    random.skip(numbers_of_a_key * first);
    const double scale = given.range() / numbers_of_a_key;
    for (auto &each : keys) {
        double sum = 0;
        for (int i = 0; i < numbers_of_a_key; ++i) sum += random.next();
        each = static_cast<std::uint32_t>(scale * sum);
    }
}

} // namespace npb::is
