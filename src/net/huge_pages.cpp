// SPDX-License-Identifier: Apache-2.0
#include "net/huge_pages.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "net/constants.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <sys/mman.h>

namespace onesea::net {
namespace {

constexpr std::size_t areas_known = 512;         // 1 GB of what is sent in turn
constexpr nanoseconds too_long = 20 * 1'000'000; // the kernel makes room for huge pages, with much work
#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25; // Linux 6.1
#endif

} // namespace

int huge_pages::gather_by_kernel(void *area, std::size_t bytes)
{
    return madvise(area, bytes, MADV_COLLAPSE) == 0 ? 0 : errno;
}

void huge_pages::about_to_lend(const void *at, std::size_t bytes)
{
    if (given_up()) return;
    const auto first = reinterpret_cast<std::uintptr_t>(at), end = first + bytes;
    for (std::uintptr_t n = first / area_bytes; n * area_bytes < end; ++n) {
        const std::uintptr_t begin = n * area_bytes;
        lend(n, std::uint32_t(std::max(first, begin) - begin), std::uint32_t(std::min(end - begin, area_bytes)));
    }
}

void huge_pages::lend(std::uintptr_t number, std::uint32_t from, std::uint32_t to)
{
    if (!areas_) {
        if (from != 0) return;
        areas_.reset(new (std::nothrow) area[areas_known]);
        if (!areas_) return; // it can do without
    }
    area &a = areas_[number % areas_known];
    if (a.number != number) {
        if (from != 0) return;
        a = {};
        a.number = number;
    }
    if (from == 0 && a.passes >= a.wanted) attempt(a);
    if (from != 0 && from != a.reached) return;
    // The end of a message may be too short to be lent.
    constexpr auto almost_all = std::uint32_t(area_bytes - least_lent);
    if (to > almost_all && (from == 0 || a.reached <= almost_all)) ++a.passes;
    a.reached = to;
}

// Of an area that is in huge pages already it costs a microsecond.
void huge_pages::attempt(area &a)
{
    const nanoseconds begin = now_ns();
    const int error = gather_(reinterpret_cast<void *>(a.number * area_bytes), area_bytes);
    a.passes = 0;
    a.wanted = again;
    const bool slow = now_ns() - begin >= too_long;
    failures_ = slow ? failures_ + slow_counts : error ? failures_ + 1 : 0;
    if (given_up()) log(level::info, "what is sent is gathered in huge pages no more: it fails or takes long");
}

} // namespace onesea::net
