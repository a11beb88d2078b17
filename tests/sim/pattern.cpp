// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"

#include <algorithm>
#include <cstring>

namespace onesea::sim {
namespace {

constexpr std::uint64_t word_bytes = 8;

std::uint64_t pattern_word(std::uint64_t key, std::uint64_t index)
{
    const std::uint64_t x = (key * 0x9e3779b97f4a7c15u + index + 1) * 0xbf58476d1ce4e5b9u;
    return key ? (x ^ x >> 29) * 0x94d049bb133111ebu : 0;
}

// Calls use(position, word, bytes of it) until that says false; whether it never did.
template <class Use>
bool each_word(std::uint64_t key, std::uint64_t from, std::uint64_t bytes, Use &&use)
{
    for (std::uint64_t i = 0, n; i < bytes; i += n) {
        const std::uint64_t skip = (from + i) % word_bytes, word = pattern_word(key, (from + i) / word_bytes);
        n = std::min(word_bytes - skip, bytes - i);
        if (!use(i, word >> skip * 8, n)) return false;
    }
    return true;
}

} // namespace

std::byte pattern(std::uint64_t key, std::uint64_t at)
{
    return std::byte(pattern_word(key, at / word_bytes) >> at % word_bytes * 8);
}

void set_pattern(std::byte *memory, std::uint64_t key, std::uint64_t from, std::uint64_t bytes)
{
    each_word(key, from, bytes, [&](std::uint64_t i, std::uint64_t word, std::uint64_t n) {
        std::memcpy(memory + i, &word, n);
        return true;
    });
}

bool holds_pattern(const std::byte *memory, std::uint64_t key, std::uint64_t from, std::uint64_t bytes)
{
    return each_word(key, from, bytes, [&](std::uint64_t i, std::uint64_t word, std::uint64_t n) {
        if (n < word_bytes) return std::memcmp(memory + i, &word, n) == 0;
        std::uint64_t there;
        std::memcpy(&there, memory + i, word_bytes);
        return there == word;
    });
}

} // namespace onesea::sim
