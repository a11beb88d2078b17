// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#define UNSEEN __attribute__((no_sanitize("thread")))

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

// The pattern from that byte on, as far as its word goes.
std::uint64_t pattern_at(std::uint64_t seed, std::size_t at) { return pattern_word(seed, at / 8) >> at % 8 * 8; }

// Words where they are whole: a sanitizer sees each access.
std::size_t at_once(std::size_t at, std::size_t left) { return at % 8 == 0 && left >= 8 ? 8 : 1; }

constexpr std::uint64_t every_byte = 0x0101010101010101u;

// That are equal before the first that differs.
std::size_t equal_bytes(std::uint64_t a, std::uint64_t b)
{
    return a == b ? 8 : std::size_t(std::countr_zero(a ^ b)) / 8;
}

// Eight bytes anywhere, which others may change meanwhile.
struct [[gnu::packed, gnu::may_alias]] loose_word { std::uint64_t value; };

// One byte or eight.
UNSEEN std::uint64_t load(const unsigned char *p, std::size_t n)
{
    if (n == 8) return reinterpret_cast<const volatile loose_word *>(p)->value;
    return *static_cast<const volatile unsigned char *>(p);
}

UNSEEN void store(unsigned char *p, std::size_t n, std::uint64_t value)
{
    if (n == 8)
        reinterpret_cast<volatile loose_word *>(p)->value = value;
    else
        *static_cast<volatile unsigned char *>(p) = static_cast<unsigned char>(value);
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

UNSEEN void fill(void *memory, std::size_t bytes, std::uint64_t seed, std::size_t from)
{
    auto *p = static_cast<unsigned char *>(memory);
    for (std::size_t i = 0, n; i < bytes; i += n) {
        n = at_once(from + i, bytes - i);
        store(p + i, n, pattern_at(seed, from + i));
    }
}

UNSEEN std::size_t differs(const void *memory, std::size_t bytes, std::uint64_t seed, std::size_t from)
{
    auto *p = static_cast<const unsigned char *>(memory);
    for (std::size_t i = 0, n; i < bytes; i += n) {
        n = at_once(from + i, bytes - i);
        const std::size_t good = equal_bytes(load(p + i, n), pattern_at(seed, from + i));
        if (good < n) return i + good;
    }
    return bytes;
}

UNSEEN void set_bytes(void *memory, std::size_t bytes, unsigned char value)
{
    auto *p = static_cast<unsigned char *>(memory);
    for (std::size_t i = 0, n; i < bytes; i += n) {
        n = at_once(i, bytes - i);
        store(p + i, n, value * every_byte);
    }
}

UNSEEN std::size_t not_all(const void *memory, std::size_t bytes, unsigned char value)
{
    auto *p = static_cast<const unsigned char *>(memory);
    for (std::size_t i = 0, n; i < bytes; i += n) {
        n = at_once(i, bytes - i);
        const std::size_t good = equal_bytes(load(p + i, n), value * every_byte);
        if (good < n) return i + good;
    }
    return bytes;
}

UNSEEN std::uint64_t peek8(const volatile void *memory) { return *static_cast<const volatile std::uint64_t *>(memory); }

UNSEEN void poke8(volatile void *memory, std::uint64_t value)
{
    *static_cast<volatile std::uint64_t *>(memory) = value;
}

std::uint64_t dice::next()
{
    state += 0x9e3779b97f4a7c15u;
    return mix(state);
}

} // namespace proof
