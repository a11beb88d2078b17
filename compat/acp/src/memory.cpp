// SPDX-License-Identifier: Apache-2.0
// Registrations, addresses, and the global heap. A key is the global address of the registration's first byte, so that
// nothing is kept for a registration but one bit, which tells acp_reset() that there is something to end: onesea.h
// gives registrations the slices of 1 MiB from the middle of the window on.
#include "errors.hpp"
#include "job.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace acp {
namespace {

using word = unsigned long long; // for printf

constexpr std::uint64_t first_slice = std::uint64_t(1) << 39;
constexpr int slice_shift = 20;

struct slices {
    std::mutex mutex;
    std::vector<bool> taken; // a registration starts at this one
};

slices &registrations()
{
    static auto &all = *new slices;
    return all;
}

std::size_t slice_of(sea_addr a) { return std::size_t((sea_addr_offset(a) - first_slice) >> slice_shift); }

void mark(sea_addr a)
{
    slices &all = registrations();
    std::lock_guard lock(all.mutex);
    const std::size_t slice = slice_of(a);
    if (slice >= all.taken.size()) all.taken.resize(std::max<std::size_t>(1024, 2 * slice));
    all.taken[slice] = true;
}

// True: there was one.
bool unmark(sea_addr a)
{
    constexpr std::uint64_t inside = (std::uint64_t(1) << slice_shift) - 1;
    if (sea_addr_rank(a) != job().me || sea_addr_offset(a) < first_slice || (a & inside)) return false;
    slices &all = registrations();
    std::lock_guard lock(all.mutex);
    const std::size_t slice = slice_of(a);
    if (slice >= all.taken.size() || !all.taken[slice]) return false;
    all.taken[slice] = false;
    return true;
}

} // namespace

void forget_registrations()
{
    slices &all = registrations();
    std::lock_guard lock(all.mutex);
    for (std::size_t slice = 0; slice < all.taken.size(); ++slice)
        if (all.taken[slice])
            sea_unregister(sea_addr(job().me) << SEA_OFFSET_BITS |
                           (first_slice + (std::uint64_t(slice) << slice_shift)));
    all.taken = {};
}

} // namespace acp

using namespace acp;

acp_ga_t acp_query_starter_ga(int rank)
{
    const int r = job().running.load(std::memory_order_acquire) ? rank_from_acp(rank) : -1;
    return r < 0 ? ACP_GA_NULL : sea_addr(r) << SEA_OFFSET_BITS | sea_addr_offset(job().starter);
}

acp_atkey_t acp_register_memory(void *addr, size_t size, int color)
{
    if (!ready("acp_register_memory")) return ACP_ATKEY_NULL;
    if (!addr || size == 0) {
        report("acp_register_memory", "%zu bytes at %p", size, addr);
        return ACP_ATKEY_NULL;
    }
    if (color < 0 || color >= colours) {
        report("acp_register_memory", "there is no colour %d; there are %d", color, colours);
        return ACP_ATKEY_NULL;
    }
    // windows start aligned; so addresses in them are aligned as the memory is
    const std::size_t before = reinterpret_cast<std::uintptr_t>(addr) % 8;
    sea_addr address;
    char *const start = static_cast<char *>(addr) - before;
    int status = sea_register(start, size + before, 0, &address);
    if (status == SEA_ERR_ACCESS) status = sea_register(start, size + before, SEA_READ_ONLY, &address); // constants
    if (status != SEA_OK) {
        report_sea("acp_register_memory");
        return ACP_ATKEY_NULL;
    }
    mark(address);
    return address | acp_ga_t(color) << colour_shift;
}

int acp_unregister_memory(acp_atkey_t atkey)
{
    if (!ready("acp_unregister_memory")) return -1;
    const sea_addr start = address_of(atkey);
    const bool was_marked = unmark(start); // before another thread may be given the same slice
    if (sea_unregister(start) == SEA_OK) return 0;
    report_sea("acp_unregister_memory");
    if (was_marked) mark(start);
    return -1;
}

acp_ga_t acp_query_ga(acp_atkey_t atkey, void *addr)
{
    if (!ready("acp_query_ga")) return ACP_GA_NULL;
    const sea_addr start = address_of(atkey);
    auto *memory = static_cast<char *>(sea_addr_rank(start) == job().me && atkey ? sea_local(start) : nullptr);
    if (!memory) {
        report("acp_query_ga", "%#llx is no registration of this process", word(atkey));
        return ACP_GA_NULL;
    }
    const auto into = std::uint64_t(static_cast<char *>(addr) - memory);
    if (into < first_slice && sea_local_range(start, into)) return atkey + into; // `into` bytes lie before it
    report("acp_query_ga", "%p is not inside the registration %#llx, which starts at %p", addr, word(atkey), memory);
    return ACP_GA_NULL;
}

void *acp_query_address(acp_ga_t ga)
{
    if (ga == ACP_GA_NULL || !job().running.load(std::memory_order_acquire)) return nullptr;
    return own_memory(address_of(ga), 1);
}

int acp_query_rank(acp_ga_t ga)
{
    if (ga == ACP_GA_NULL || !job().running.load(std::memory_order_acquire)) return -1;
    return rank_to_acp(sea_addr_rank(address_of(ga)));
}

int acp_query_color(acp_ga_t ga) { return acp_query_rank(ga) < 0 ? -1 : colour_of(ga); }

int acp_colors(void) { return colours; }

uint64_t acp_onesea_address(acp_ga_t ga) { return address_of(ga); }

acp_ga_t acp_malloc(size_t size, int rank)
{
    if (!ready("acp_malloc")) return ACP_GA_NULL;
    const int r = checked_rank("acp_malloc", rank);
    if (r < 0) return ACP_GA_NULL;
    sea_addr address;
    if (sea_heap_alloc(r, std::max<std::size_t>(size, 1), &address) == SEA_OK) return address;
    report_sea("acp_malloc");
    return ACP_GA_NULL;
}

void acp_free(acp_ga_t ga)
{
    if (!ready("acp_free")) return;
    const sea_addr a = address_of(ga);
    if (a == job().control || (a >= job().starter && a - job().starter < job().starter_bytes)) {
        report("acp_free", "%#llx lies in the starter memory", word(ga));
        return;
    }
    if (sea_heap_free(a) != SEA_OK) report_sea("acp_free");
}
