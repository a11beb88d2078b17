// SPDX-License-Identifier: Apache-2.0
#include "data_reference.hpp"

#include <algorithm>

std::vector<int> owners(const proof::run &t)
{
    if (t.size == 1) return {0};
    return {0, t.size - 1};
}

std::uint64_t element_of(int maker, int number) { return std::uint64_t(maker) << 32 | std::uint32_t(number); }

bool in_order_of_each_rank(const std::vector<std::uint64_t> &all, int makers, int n)
{
    std::vector<int> next(std::size_t(makers), 0);
    if (all.size() != std::size_t(makers) * std::size_t(n)) return false;
    for (std::uint64_t element : all) {
        const std::uint64_t maker = element >> 32;
        if (maker >= next.size() || int(element & 0xffffffffu) != next[maker]++) return false;
    }
    return true;
}

bool each_once(proof::run &t, const std::vector<std::uint64_t> &got, int n)
{
    // sums of elements, of their number and of a mixture of their bits: a lost or doubled one changes them
    auto mix = [](std::uint64_t x) { return proof::dice{x}.next(); };
    std::uint64_t count = got.size(), mixed = 0, all = 0, expected = 0;
    for (std::uint64_t element : got) mixed += mix(element);
    for (int r = 0; r < t.size; ++r)
        for (int i = 0; i < n; ++i) expected += mix(element_of(r, i));
    std::uint64_t whole = 0;
    for (std::uint64_t c : t.exchange(count)) whole += c;
    for (std::uint64_t m : t.exchange(mixed)) all += m;
    return whole == std::uint64_t(t.size) * std::uint64_t(n) && all == expected;
}

bool comes_true(const std::atomic<std::uint64_t> &word, std::uint64_t wanted)
{
    for (double until = proof::now() + 150; proof::now() < until; proof::pause_for(0.01))
        if (word == wanted) return true;
    return false;
}
