// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/pages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <sys/mman.h>

namespace onesea {
namespace {

constexpr std::size_t areas_known = 512;         // 1 GB of what is used in turn
constexpr nanoseconds too_long = 20 * 1'000'000; // the kernel makes room for huge pages, with much work
#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25; // Linux 6.1
#endif

} // namespace

int huge_pages::gather_by_kernel(void *area, std::size_t bytes)
{
    std::array<unsigned char, area_bytes / page_bytes> there;
    if (mincore(area, bytes, there.data()) != 0) return errno == ENOMEM ? ENODATA : errno;
    if (!std::ranges::all_of(there, [](unsigned char page) { return page & 1; })) return ENODATA;
    return madvise(area, bytes, MADV_COLLAPSE) == 0 ? 0 : errno;
}

template <class Use>
void huge_pages::each_area(const void *at, std::size_t bytes, Use &&use)
{
    if (given_up()) return;
    if (!areas_) areas_.reset(new (std::nothrow) area[areas_known]);
    if (!areas_) return; // it can do without
    const auto first = reinterpret_cast<std::uintptr_t>(at), end = first + bytes;
    for (std::uintptr_t n = first / area_bytes; n * area_bytes < end; ++n) {
        const std::uintptr_t begin = n * area_bytes;
        area &a = areas_[n % areas_known];
        if (a.number != n) {
            a = {};
            a.number = n;
        }
        use(a, std::uint32_t(std::max(first, begin) - begin), std::uint32_t(std::min(end - begin, area_bytes)));
    }
}

void huge_pages::copied(const void *at, std::size_t bytes)
{
    each_area(at, bytes, [this](area &a, std::uint32_t from, std::uint32_t to) {
        if (a.due()) attempt(a);
        a.use(to - from);
    });
}

bool huge_pages::may_lend(const void *at, std::size_t bytes, bool alone)
{
    bool may = true;
    each_area(at, bytes, [&](area &a, std::uint32_t from, std::uint32_t to) { may &= lend(a, from, to, alone); });
    return may;
}

bool huge_pages::lend(area &a, std::uint32_t from, std::uint32_t to, bool alone)
{
    const bool another_pass = from == 0 && a.reached > area_bytes - most_left_out;
    if (another_pass) a.use(area_bytes - a.reached);
    if (a.due() && (a.let_go || (another_pass && !alone)))
        attempt(a);
    else if (a.due())
        a.let_go = alone;
    a.use(to - from);
    if (from == 0 || from == a.reached) a.reached = to;
    return !a.let_go;
}

// Of an area that is in huge pages already it costs some microseconds.
void huge_pages::attempt(area &a)
{
    const nanoseconds begin = now_ns();
    const int error = gather_(reinterpret_cast<void *>(a.number * area_bytes), area_bytes);
    a.used = 0;
    a.wanted = std::clamp<std::uint32_t>(2 * a.wanted, again * area_bytes, seldom * area_bytes);
    a.let_go = false;
    if (now_ns() - begin >= too_long)
        failures_ += slow_counts;
    else if (error != ENODATA)
        failures_ = error ? failures_ + 1 : 0;
    if (given_up()) log(level::info, "what is sent is gathered in huge pages no more: it fails or takes long");
}

} // namespace onesea
