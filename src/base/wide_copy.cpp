// SPDX-License-Identifier: Apache-2.0
#include "base/wide_copy.hpp"
#include "base/copy.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <unistd.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace onesea {
namespace {

constexpr std::uint64_t mib = 1 << 20;

// The C library asks the processor, and takes that of a Zen 4 for ten times what it is (glibc 2.36: 320 MB).
std::uint64_t last_cache()
{
    if (const std::uint64_t told = cache_size_in("/sys/devices/system/cpu/cpu0/cache/index3/size")) return told;
    return std::uint64_t(std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
}

// What is copied inside the machine goes through the caches twice, from its source and to its target. No more than
// `most`, whatever the processor has: a virtual machine has only a share of what it is told. Measured by a put of 2 to
// 64 MB again and again, where 32 MB were told: cached, 6 MB took three quarters of the time, 8 MB 1.2 times as long,
// from 12 MB on 1.5 to 2.
constexpr std::uint64_t least_long = 4 * mib, most_long = 48 * mib;

std::uint64_t longest_cached_copy()
{
    const std::uint64_t cache = last_cache();
    return cache > 0 ? std::clamp(cache / 4, least_long, most_long) : most_long;
}

// Between nodes the kernel's buffers go through them, too. Measured with `onesea bench rma --secure off` where 480 MB
// were told: 32 MB were better cached, 64 MB were not. And where 32 MB were told, with others on the same processor: 4
// MB were as fast either way, 8 MB 60 % faster past the caches (with nobody else there the same), 16 and 32 MB a third.
std::uint16_t longest_cached_transfer()
{
    const std::uint64_t cache = last_cache();
    return transfer_scale(cache > 0 ? std::clamp(cache / 8, least_long, most_long) : most_long);
}

bool are_apart(const void *a, const void *b, std::size_t bytes)
{
    const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return (x > y ? x - y : y - x) >= bytes;
}

} // namespace

std::uint64_t cache_size_in(const char *file)
{
    std::ifstream in(file);
    std::uint64_t size = 0;
    char unit = 0;
    if (!(in >> size)) return 0;
    in >> unit;
    return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

std::uint16_t transfer_scale(std::uint64_t bytes)
{
    return std::uint16_t(std::min<std::uint64_t>(bytes / mib, UINT16_MAX));
}

bool passes_caches(std::uint16_t scale)
{
    static const std::uint16_t limit = longest_cached_transfer();
    return scale > limit;
}

void copy_of(std::uint64_t whole, void *to, const void *from, std::size_t bytes)
{
    if (whole > least_long) {
        static const std::uint64_t limit = longest_cached_copy();
        if (whole > limit && are_apart(to, from, bytes)) return copy_past_caches(to, from, bytes);
    }
    if (copies_slowly(to, from) && are_apart(to, from, bytes)) return copy_bytes(to, from, bytes);
    std::memmove(to, from, bytes);
}

#if defined(__SSE2__)

void copy_past_caches(void *to, const void *from, std::size_t bytes)
{
    constexpr std::size_t line = 64, word = sizeof(__m128i);
    auto *target = static_cast<std::byte *>(to);
    auto *source = static_cast<const std::byte *>(from);
    const std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(target) % line);
    std::memcpy(target, source, head);
    std::size_t at = head;
    for (; bytes - at >= line; at += line) {
        __m128i words[line / word]; // a line at a time: only whole lines leave without being read
        for (std::size_t i = 0; i < line / word; ++i)
            words[i] = _mm_loadu_si128(reinterpret_cast<const __m128i *>(source + at) + i);
        for (std::size_t i = 0; i < line / word; ++i)
            _mm_stream_si128(reinterpret_cast<__m128i *>(target + at) + i, words[i]);
    }
    std::memcpy(target + at, source + at, bytes - at);
    _mm_sfence();
}

#else

void copy_past_caches(void *to, const void *from, std::size_t bytes) { std::memcpy(to, from, bytes); }

#endif

} // namespace onesea
