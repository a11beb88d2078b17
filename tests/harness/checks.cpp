// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace proof {
namespace {

std::uint64_t mix(std::uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

std::uint64_t pattern_word(std::uint64_t seed, std::size_t index)
{
    return mix(seed * 0x9e3779b97f4a7c15u + index + 1);
}

} // namespace

std::string show_status(int status)
{
    return std::string(sea_status_name(status)) + " (" + std::to_string(status) + ")";
}

bool check_status(const char *file, int line, const char *what, int expected, int got)
{
    at(file, line);
    if (expected == got) return true;
    failed(file, line, what, show_status(expected),
           show_status(got) + (got < 0 ? std::string(": ") + sea_last_error() : std::string()));
    return false;
}

bool check_equal(const char *file, int line, const char *what, std::uint64_t expected, std::uint64_t got)
{
    at(file, line);
    if (expected == got) return true;
    auto show = [](std::uint64_t v) {
        char text[64];
        std::snprintf(text, sizeof text, "%lld (0x%llx)", static_cast<long long>(v),
                      static_cast<unsigned long long>(v));
        return std::string(text);
    };
    failed(file, line, what, show(expected), show(got));
    return false;
}

bool check_true(const char *file, int line, const char *what, bool got)
{
    at(file, line);
    if (!got) failed(file, line, what, "true", std::string("false; last error: ") + sea_last_error());
    return got;
}

bool check_data(const char *file, int line, const void *memory, std::size_t bytes, std::uint64_t seed, std::size_t from)
{
    at(file, line);
    std::size_t where = differs(memory, bytes, seed, from);
    if (where == bytes) return true;
    std::size_t wrong = 0;
    for (std::size_t i = where; i < bytes; ++i)
        wrong += differs(static_cast<const char *>(memory) + i, 1, seed, from + i) == 0;
    failed(file, line, "data", "the pattern in " + std::to_string(bytes) + " bytes",
           std::to_string(wrong) + " bytes differ, the first is number " + std::to_string(where));
    return false;
}

__attribute__((no_sanitize("thread"))) void fill(void *memory, std::size_t bytes, std::uint64_t seed, std::size_t from)
{
    auto *p = static_cast<volatile unsigned char *>(memory);
    std::uint64_t word = pattern_word(seed, from / 8);
    for (std::size_t i = 0; i < bytes; ++i) {
        if ((from + i) % 8 == 0) word = pattern_word(seed, (from + i) / 8);
        p[i] = static_cast<unsigned char>(word >> (from + i) % 8 * 8);
    }
}

__attribute__((no_sanitize("thread"))) std::size_t differs(const void *memory, std::size_t bytes, std::uint64_t seed,
                                                           std::size_t from)
{
    auto *p = static_cast<const volatile unsigned char *>(memory);
    std::uint64_t word = pattern_word(seed, from / 8);
    for (std::size_t i = 0; i < bytes; ++i) {
        if ((from + i) % 8 == 0) word = pattern_word(seed, (from + i) / 8);
        if (p[i] != static_cast<unsigned char>(word >> (from + i) % 8 * 8)) return i;
    }
    return bytes;
}

__attribute__((no_sanitize("thread"))) void set_bytes(void *memory, std::size_t bytes, unsigned char value)
{
    auto *p = static_cast<volatile unsigned char *>(memory);
    for (std::size_t i = 0; i < bytes; ++i) p[i] = value;
}

__attribute__((no_sanitize("thread"))) std::size_t not_all(const void *memory, std::size_t bytes, unsigned char value)
{
    auto *p = static_cast<const volatile unsigned char *>(memory);
    for (std::size_t i = 0; i < bytes; ++i)
        if (p[i] != value) return i;
    return bytes;
}

__attribute__((no_sanitize("thread"))) std::uint64_t peek8(const volatile void *memory)
{
    return *static_cast<const volatile std::uint64_t *>(memory);
}

__attribute__((no_sanitize("thread"))) void poke8(volatile void *memory, std::uint64_t value)
{
    *static_cast<volatile std::uint64_t *>(memory) = value;
}

std::uint64_t dice::next()
{
    state += 0x9e3779b97f4a7c15u;
    return mix(state);
}

} // namespace proof
