// SPDX-License-Identifier: Apache-2.0
// Registrations, addresses, and the global heap. onesea.h gives a registration slices of 1 MiB from the middle of the
// window on; what lies there begins with the whole word in which the registration does, so that addresses are aligned
// as the memory is. A key is the global address of the first slice. One byte is kept for a registration: that there is
// one, and how many bytes of the word are before it.
#include "errors.hpp"
#include "job.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace acp {
namespace {

using word = unsigned long long; // for printf

constexpr std::uint64_t first_slice = std::uint64_t(1) << 39;
constexpr int slice_shift = 20;

struct slices {
    std::mutex mutex;
    std::vector<std::uint8_t> starts; // by slice: 0: none starts there; else 1 + the bytes before it in its word
};

slices &registrations()
{
    static auto &all = *new slices;
    return all;
}

std::size_t slice_of(sea_addr a) { return std::size_t((sea_addr_offset(a) - first_slice) >> slice_shift); }

void mark(sea_addr a, std::uint8_t start)
{
    slices &all = registrations();
    std::lock_guard lock(all.mutex);
    const std::size_t slice = slice_of(a);
    if (slice >= all.starts.size()) all.starts.resize(std::max<std::size_t>(1024, 2 * slice));
    all.starts[slice] = start;
}

// What is kept of the slice; nullptr: nothing, and no registration begins there. The mutex is held.
std::uint8_t *kept(slices &all, sea_addr a)
{
    constexpr std::uint64_t inside = (std::uint64_t(1) << slice_shift) - 1;
    if (sea_addr_rank(a) != job().me || sea_addr_offset(a) < first_slice || (a & inside)) return nullptr;
    const std::size_t slice = slice_of(a);
    return slice < all.starts.size() ? &all.starts[slice] : nullptr;
}

std::uint8_t marked(sea_addr a)
{
    slices &all = registrations();
    std::lock_guard lock(all.mutex);
    const std::uint8_t *start = kept(all, a);
    return start ? *start : 0;
}

std::uint8_t unmark(sea_addr a)
{
    slices &all = registrations();
    std::lock_guard lock(all.mutex);
    std::uint8_t *start = kept(all, a);
    return start ? std::exchange(*start, 0) : 0;
}

} // namespace

void forget_registrations()
{
    slices &all = registrations();
    std::lock_guard lock(all.mutex);
    for (std::size_t slice = 0; slice < all.starts.size(); ++slice)
        if (all.starts[slice])
            sea_unregister(sea_addr(job().me) << SEA_OFFSET_BITS |
                           (first_slice + (std::uint64_t(slice) << slice_shift)));
    all.starts = {};
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
    mark(address, std::uint8_t(1 + before));
    return address | acp_ga_t(color) << colour_shift;
}

int acp_unregister_memory(acp_atkey_t atkey)
{
    if (!ready("acp_unregister_memory")) return -1;
    const sea_addr start = address_of(atkey);
    const std::uint8_t was_marked = unmark(start); // before another thread may be given the same slice
    if (sea_unregister(start) == SEA_OK) return 0;
    report_sea("acp_unregister_memory");
    if (was_marked) mark(start, was_marked);
    return -1;
}

acp_ga_t acp_query_ga(acp_atkey_t atkey, void *addr)
{
    if (!ready("acp_query_ga")) return ACP_GA_NULL;
    const sea_addr start = address_of(atkey);
    const std::uint8_t begins = marked(start);
    auto *memory = static_cast<char *>(begins ? sea_local(start) : nullptr);
    if (!memory) {
        report("acp_query_ga", "%#llx is no registration of this process", word(atkey));
        return ACP_GA_NULL;
    }
    const std::uint64_t before = begins - 1u, into = std::uint64_t(static_cast<char *>(addr) - memory);
    if (into >= before && into < first_slice && sea_local_range(start, into + 1)) return atkey + into;
    report("acp_query_ga", "%p is not inside the registration %#llx, which starts at %p", addr, word(atkey),
           memory + before);
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
