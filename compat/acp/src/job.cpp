// SPDX-License-Identifier: Apache-2.0
// Start, end and restart of a process's part; the starter memory.
//
// The starter memory is the first allocation that each process makes in its own heap, before anybody can make another:
// the heaps are alike, so it lies at the same offset everywhere, and its address in another process is arithmetic.
#include "job.hpp"

#include "errors.hpp"
#include "flight.hpp"
#include "options.hpp"
#include "rank_map.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sys/mman.h>

namespace acp {
namespace {

constexpr std::size_t default_starter = 1 << 20;
constexpr std::size_t granule = 64; // of the heap: what it allocates begins and ends at multiples
constexpr std::size_t control_bytes = 64;

std::unique_ptr<rank_map> &map_in_use()
{
    static auto &map = *new std::unique_ptr<rank_map>; // never destroyed: programs may finalize at their exit
    return map;
}

bool near(int rank)
{
    const char *how = sea_transport(rank);
    return how && (std::strcmp(how, "self") == 0 || std::strcmp(how, "shm") == 0);
}

std::size_t starter_size(const options &given, std::size_t capacity)
{
    if (given.starter_bytes) return given.starter_bytes;
    std::size_t bytes = 0;
    const char *variable = std::getenv("ACP_STARTERMEMSIZE");
    if (variable && *variable) {
        if (parse_size(variable, &bytes)) return bytes;
        report("acp_init", "ACP_STARTERMEMSIZE is '%s', which is no number of bytes", variable);
    }
    return std::min(default_starter, capacity / 4);
}

// SEA_OK, or an error that is told. Collective.
int make_starter(const options &given)
{
    job_state &j = job();
    std::size_t capacity = 0;
    int s = sea_heap_usage(j.me, &capacity, nullptr);
    j.heap_capacity = capacity;
    j.starter_bytes = starter_size(given, capacity);
    if (s == SEA_OK) s = sea_heap_alloc(j.me, control_bytes + j.starter_bytes, &j.control);
    if (s != SEA_OK) report_sea("acp_init");
    const std::uint64_t offset = s == SEA_OK ? sea_addr_offset(j.control) : 0;
    if (s == SEA_OK) {
        j.starter = j.control + control_bytes;
        j.starter_memory = static_cast<std::byte *>(sea_local(j.starter));
        make_zero(static_cast<std::byte *>(sea_local(j.control)), control_bytes + j.starter_bytes);
    }
    std::uint64_t wanted[2] = {offset, ~offset}, largest[2];
    if (int problem = sea_allreduce(SEA_TEAM_WORLD, wanted, largest, 2, SEA_UINT64, SEA_MAX)) {
        report_sea("acp_init");
        return problem;
    }
    if (s != SEA_OK) return s;
    if (largest[0] == offset && largest[1] == ~offset) return SEA_OK;
    report("acp_init",
           "the starter memories do not lie at one offset: a process has none, or its heap was used before");
    return SEA_ERR_STATE;
}

int start(const options &given)
{
    job_state &j = job();
    j.me = sea_rank();
    j.procs = sea_team_size(SEA_TEAM_WORLD);
    j.acp_me = j.me;
    j.map = nullptr;
    if (j.procs < 0 || j.me >= j.procs) {
        report("acp_init", "rank %d came after the job had begun, and is no process of ACP", j.me);
        return SEA_ERR_STATE;
    }
    if (j.procs > 1 << (colour_shift - SEA_OFFSET_BITS)) {
        report("acp_init", "%d processes are more than global addresses can name", j.procs);
        return SEA_ERR_RANK;
    }
    for (j.first_near = j.me; j.first_near > 0 && near(j.first_near - 1);) --j.first_near;
    for (j.last_near = j.me; j.last_near + 1 < j.procs && near(j.last_near + 1);) ++j.last_near;
    if (int s = open_segment_buffers()) { // before the others leave make_starter()
        report_sea("acp_init");
        return s;
    }
    if (int s = make_starter(given)) return s;
    j.running.store(true, std::memory_order_release);
    return SEA_OK;
}

// Frees all that lies in the own heap but the starter memory and one more allocation.
void empty_heap(sea_addr kept)
{
    sea_addr from = SEA_NULL, a = SEA_NULL;
    while (sea_heap_next(from, &a) == SEA_OK && a != SEA_NULL) {
        if (a != job().control && a != kept) sea_heap_free(a);
        from = a + granule;
    }
}

} // namespace

bool tell_not_ready(const char *function)
{
    report(function, "acp_init() has not been called, or acp_finalize() has");
    return false;
}

int rank_from_acp(int rank)
{
    const job_state &j = job();
    if (rank < 0 || rank >= j.procs) return -1;
    return j.map ? j.map->from_acp(rank) : rank;
}

int rank_to_acp(int rank)
{
    const job_state &j = job();
    if (rank < 0 || rank >= j.procs) return -1;
    return j.map ? j.map->to_acp(rank) : rank;
}

int checked_rank(const char *function, int rank)
{
    const int found = rank_from_acp(rank);
    if (found < 0) report(function, "there is no rank %d; there are %d", rank, job().procs);
    return found;
}

void *own_memory(sea_addr a, std::size_t bytes)
{
    const job_state &j = job();
    const std::uint64_t into = a - j.starter;
    if (into < j.starter_bytes && bytes <= j.starter_bytes - into) return j.starter_memory + into;
    if (sea_addr_rank(a) != j.me) return nullptr;
    const bool in_granule = sea_addr_offset(a) < j.heap_capacity && bytes <= granule - a % granule; // all or nothing
    return in_granule ? sea_local(a) : sea_local_range(a, bytes);
}

void make_zero(std::byte *memory, std::size_t bytes)
{
    constexpr std::uintptr_t page = 4096;
    auto *end = memory + bytes;
    auto *first = reinterpret_cast<std::byte *>((reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page);
    auto *last = reinterpret_cast<std::byte *>(reinterpret_cast<std::uintptr_t>(end) / page * page);
    if (first < last && madvise(first, std::size_t(last - first), MADV_REMOVE) == 0) {
        std::memset(memory, 0, std::size_t(first - memory));
        std::memset(last, 0, std::size_t(end - last));
    } else {
        std::memset(memory, 0, bytes);
    }
}

} // namespace acp

using namespace acp;

int acp_init(int *argc, char ***argv)
{
    options given;
    std::string problem;
    if (!take_options(argc, argv, &given, &problem)) {
        report("acp_init", "%s", problem.c_str());
        return -1;
    }
    if (job().running.load()) {
        report("acp_init", "it has been called before");
        return -1;
    }
    if (!sea_initialized() && sea_init(nullptr) != SEA_OK) {
        report_sea("acp_init");
        return -1;
    }
    return start(given) == SEA_OK ? 0 : -1;
}

int acp_finalize(void)
{
    if (!ready("acp_finalize")) return -1;
    in_flight().complete(acp_handle_t(ACP_HANDLE_ALL));
    job_state &j = job();
    j.running.store(false);
    j.map = nullptr;
    j.starter_bytes = 0;
    const int s = sea_finalize();
    if (s != SEA_OK) report_sea("acp_finalize");
    map_in_use().reset();
    return s == SEA_OK ? 0 : -1;
}

int acp_reset(int rank)
{
    if (!ready("acp_reset")) return -1;
    job_state &j = job();
    in_flight().complete(acp_handle_t(ACP_HANDLE_ALL));
    sea_fence_all(); // what programs did by onesea.h
    if (sea_barrier(SEA_TEAM_WORLD) != SEA_OK) {
        report_sea("acp_reset");
        return -1;
    }
    std::unique_ptr<rank_map> next;
    if (int s = rank_map::make(rank, j.control, &next)) {
        if (s == SEA_ERR_INVALID)
            report("acp_reset", "the ranks that the processes gave (here %d) are not 0 .. %d, each once", rank,
                   j.procs - 1);
        else
            report_sea("acp_reset");
        return -1;
    }
    map_in_use() = std::move(next);
    j.map = map_in_use().get();
    j.acp_me = rank;
    forget_channels();
    forget_segment_buffers();
    forget_workspaces();
    forget_registrations();
    empty_heap(j.map ? j.map->table() : SEA_NULL);
    make_zero(j.starter_memory, j.starter_bytes);
    if (sea_barrier(SEA_TEAM_WORLD) == SEA_OK) return 0;
    report_sea("acp_reset");
    return -1;
}

void acp_abort(const char *str) { sea_abort(1, str); }

int acp_sync(void)
{
    if (!ready("acp_sync")) return -1;
    if (sea_barrier(SEA_TEAM_WORLD) == SEA_OK) return 0;
    report_sea("acp_sync");
    return -1;
}

int acp_rank(void) { return job().running.load(std::memory_order_acquire) ? job().acp_me : -1; }

int acp_procs(void) { return job().running.load(std::memory_order_acquire) ? job().procs : -1; }

int acp_onesea_rank(int rank) { return ready("acp_onesea_rank") ? rank_from_acp(rank) : -1; }
