// SPDX-License-Identifier: Apache-2.0
// Words of a set of numbers against the slow way: bit by bit.
#include "net/numbers.hpp"

#include <gtest/gtest.h>
#include <random>

namespace {

using namespace onesea::net;

template <unsigned Bits>
std::uint64_t bit_by_bit(const number_window<Bits> &numbers, std::uint64_t last)
{
    std::uint64_t word = 0;
    for (unsigned i = 0; i < 64 && i <= last; ++i)
        if (numbers.seen(last - i)) word |= std::uint64_t(1) << i;
    return word;
}

template <unsigned Bits>
void expect_same_words(const number_window<Bits> &numbers, std::uint64_t last)
{
    ASSERT_EQ(numbers.seen_down_from(last), bit_by_bit(numbers, last))
        << "last " << last << " floor " << numbers.floor();
}

// Numbers come in order, with gaps, late, and now and then from far away; each time all words that meet the window.
template <unsigned Bits>
void compare_at_random(unsigned seed)
{
    std::mt19937_64 random(seed);
    number_window<Bits> numbers;
    const unsigned missing = unsigned(random() % 100);
    std::uint64_t next = 0;
    for (int step = 0; step < 2000; ++step) {
        const bool far = random() % 500 == 0, late = random() % 8 == 0;
        if (far) next += random() % (4 * Bits);
        const std::uint64_t n = late ? next - std::min<std::uint64_t>(next, random() % (Bits + 64)) : next++;
        if (random() % 100 >= missing) numbers.mark(n);
        if (random() % 50 == 0) numbers.advance();
        for (std::uint64_t behind : {std::uint64_t(0), random() % 64, random() % (2 * Bits)}) {
            expect_same_words(numbers, next - std::min(next, behind));
            expect_same_words(numbers, next + behind);
        }
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(number_window, gives_in_a_word_what_it_says_of_each_number)
{
    for (unsigned seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        compare_at_random<64>(seed);
        compare_at_random<128>(seed);
        compare_at_random<2048>(seed);
        if (HasFatalFailure()) return;
    }
}

TEST(number_window, word_knows_nothing_below_zero)
{
    number_window<128> numbers;
    for (std::uint64_t n = 0; n < 64; ++n) {
        numbers.mark(n);
        EXPECT_EQ(numbers.seen_down_from(n), ~std::uint64_t(0) >> (63 - n)) << n;
    }
}

TEST(number_window, knows_exactly_its_bits_wherever_it_is)
{
    for (const std::uint64_t last :
         {std::uint64_t(127), std::uint64_t(128), std::uint64_t(300), std::uint64_t(100'000)}) {
        number_window<128> numbers;
        numbers.mark(last);
        const std::uint64_t floor = last - 127;
        EXPECT_EQ(numbers.floor(), floor);
        EXPECT_FALSE(numbers.seen(floor));
        EXPECT_TRUE(floor == 0 || numbers.seen(floor - 1));
        EXPECT_FALSE(numbers.too_far(last));
        EXPECT_TRUE(numbers.too_far(last + 1));
    }
}

} // namespace
