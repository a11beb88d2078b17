// SPDX-License-Identifier: Apache-2.0
#include "shm/arena.hpp"

#include "base/descriptor.hpp"
#include "base/pages.hpp"
#include "base/resize.hpp"
#include "shm/heap.hpp"
#include "shm/ring.hpp"
#include "shm/segments.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace onesea::shm {
namespace {

constexpr std::uint64_t huge_page = 2u << 20;

// The page of control words, with the short lane; the lane's cells, the ring's data.
constexpr std::uint64_t lane_control_at = page_bytes / 2;
constexpr std::uint64_t short_lane_at = lane_control_at + sizeof(lane_control);
constexpr std::uint64_t short_cells_at = page_bytes - short_lane_cells * sizeof(cell);
constexpr std::uint64_t ring_data_at = page_bytes + lane_cells * sizeof(cell);
constexpr std::uint64_t stage_stride = page_bytes + stage_places * stage_piece;
static_assert(sizeof(stage_control) <= page_bytes);
static_assert(sizeof(ring_control) <= lane_control_at && short_lane_at + sizeof(lane_control) <= short_cells_at);

// The places of the parts follow from the capacities; `bytes` comes last.
void lay_out(arena_header &h)
{
    h.slot_stride = page_up(sizeof(slot)) + segment_table_bytes();
    h.ring_stride = ring_data_at + h.tuning.of(path_kind::shm).window;
    h.heap_stride = page_up(heap_meta_bytes(h.heap_bytes)) + page_up(h.heap_bytes);
    h.nodes_at = round_up(sizeof(arena_header), 64);
    h.ranks_at = round_up(h.nodes_at + node_table::bytes(h.nodes), 64);
    h.slots_at = page_up(h.ranks_at + rank_table::bytes(h.rank_capacity));
    h.stages_at = h.slots_at + h.slots * h.slot_stride;
    h.rings_at = h.stages_at + h.slots * stage_stride;
    h.heaps_at = round_up(h.rings_at + std::uint64_t(h.slots) * h.slots * h.ring_stride, huge_page);
    h.bytes = h.heaps_at + h.starters * h.heap_stride;
}

void fill(arena_header &h, const arena_plan &plan)
{
    h.version = arena_version;
    std::memcpy(h.job_id, plan.job_id, sizeof h.job_id);
    std::memcpy(h.key, plan.key, sizeof h.key);
    h.secure = plan.secure;
    h.transport = plan.transport;
    h.tuning = plan.tuning;
    path_tuning &own = h.tuning.of(path_kind::shm);
    own.fragment = std::min(own.fragment, std::uint32_t(ring_max_payload(own.window)));
    h.node = plan.node;
    h.nodes = plan.nodes;
    h.rank_capacity = plan.rank_capacity;
    h.slots = plan.slots + plan.spare;
    h.starters = plan.slots;
    h.ranks_on_machine = plan.ranks_on_machine;
    h.pid_space = pid_space();
    h.heap_bytes = page_up(plan.heap_bytes ? plan.heap_bytes : default_heap_bytes(plan.ranks_on_machine));
    lay_out(h);
}

// Huge pages of the file are huge pages of the mapping then, too: a kernel that gives shared memory none on its own
// does not see to that. Core files are without it: the kernel would take memory for all that was never touched, to
// write it there, for each process of the node that dies.
void *map_shared(int fd, std::uint64_t bytes, std::uint64_t at = 0)
{
    const std::uint64_t room = page_up(bytes) + huge_page;
    void *reserved = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return MAP_FAILED;
    auto *const first = static_cast<std::byte *>(reserved), *const end = first + room;
    auto *const begin = first + (at - reinterpret_cast<std::uintptr_t>(first)) % huge_page;
    void *mapped = mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, off_t(at));
    if (mapped == MAP_FAILED) {
        const int error = errno;
        munmap(reserved, room);
        errno = error;
        return MAP_FAILED;
    }
    auto *const behind = begin + page_up(bytes);
    if (begin != first) munmap(first, std::size_t(begin - first));
    if (behind != end) munmap(behind, std::size_t(end - behind));
    madvise(mapped, bytes, MADV_DONTDUMP);
    return mapped;
}

} // namespace

std::uint64_t default_heap_bytes(unsigned ranks_on_machine)
{
    std::uint64_t memory = memory_of_machine(_SC_PHYS_PAGES);
    for (const auto resource :
         {RLIMIT_AS, RLIMIT_FSIZE}) { // ulimit -v, -f: each process maps the heaps of all, and more
        rlimit most{};
        if (getrlimit(resource, &most) == 0) memory = std::min<std::uint64_t>(memory, most.rlim_cur / 4);
    }
    std::uint64_t share = memory / std::max(1u, ranks_on_machine);
    return std::clamp<std::uint64_t>(share, 64u << 20, max_heap_bytes) / page_bytes * page_bytes;
}

std::uint64_t pid_space()
{
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

struct arena::later_heaps {
    int fd;
    std::mutex mutex;                             // of mapping
    std::vector<std::atomic<std::byte *>> mapped; // by slot, from the first behind those of the start
    std::atomic<unsigned> used = 0;               // of these: all behind are empty

    later_heaps(int file, unsigned slots) : fd(file), mapped(slots) {}
    ~later_heaps() { ::close(fd); }
};

arena::arena() = default;

arena::arena(arena &&other) noexcept : header_(std::exchange(other.header_, nullptr)), later_(std::move(other.later_))
{
}

arena &arena::operator=(arena &&other) noexcept
{
    std::swap(header_, other.header_);
    std::swap(later_, other.later_);
    return *this;
}

arena::~arena()
{
    if (!header_) return;
    if (later_)
        for (auto &heap : later_->mapped)
            if (std::byte *memory = heap) munmap(memory, header_->heap_stride);
    munmap(header_, header_->bytes);
}

int arena::keep(int fd)
{
    const unsigned slots = header_->slots - header_->starters;
    if (slots == 0) return 0;
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) return -errno;
    later_ = std::make_unique<later_heaps>(copy, slots);
    return 0;
}

int arena::create(const arena_plan &plan, arena *result, int *fd)
{
    if (plan.slots == 0 || plan.slots > max_slots || plan.spare > max_slots - plan.slots ||
        plan.heap_bytes > max_heap_bytes || plan.nodes == 0 || plan.nodes > max_nodes || !legal(plan.tuning))
        return -EINVAL;
    arena_header sizes{};
    fill(sizes, plan);
    int memory = above_standard(memfd_create("onesea", MFD_CLOEXEC));
    if (memory < 0) return -errno;
    void *mapped = resize(memory, sizes.bytes) == 0 ? map_shared(memory, sizes.bytes) : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        int error = errno;
        ::close(memory);
        return -error;
    }
    arena made;
    made.header_ = static_cast<arena_header *>(mapped);
    fill(*made.header_, plan);
    for (unsigned i = 0; i < made.header_->slots; ++i) {
        made.slot_at(i).rank = -1;
        made.slot_at(i).doorbell = -1;
    }
    made.header_->magic = arena_magic;
    if (int error = made.keep(memory)) {
        ::close(memory);
        return error;
    }
    *result = std::move(made);
    *fd = memory;
    return 0;
}

int arena::map(int fd, arena *result)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return -errno;
    arena_header head;
    if (pread(fd, &head, sizeof head, 0) != ssize_t(sizeof head)) return -EPROTO;
    if (head.magic != arena_magic || head.version != arena_version || head.bytes > std::uint64_t(info.st_size))
        return -EPROTO;
    void *mapped = map_shared(fd, head.bytes);
    if (mapped == MAP_FAILED) return -errno;
    arena made;
    made.header_ = static_cast<arena_header *>(mapped);
    if (int error = made.keep(fd)) return error;
    *result = std::move(made);
    return 0;
}

int arena::occupy(unsigned index, int rank, int spawned_by) const
{
    if (index >= header_->starters) {
        const std::uint64_t bytes = header_->heaps_at + (index + 1) * header_->heap_stride;
        if (resize(later_->fd, bytes) != 0) return -errno;
        if (int error = map_heap(index)) return error;
    }
    heap::format(heap_meta(index), header_->heap_bytes);
    slot_at(index).spawned_by = spawned_by;
    slot_at(index).rank.store(rank, std::memory_order_release);
    return 0;
}

int arena::map_heap(unsigned index) const
{
    if (index < header_->starters) return 0;
    auto &place = later_->mapped[index - header_->starters];
    std::lock_guard lock(later_->mutex);
    if (place.load(std::memory_order_relaxed)) return 0;
    void *memory = map_shared(later_->fd, header_->heap_stride, header_->heaps_at + index * header_->heap_stride);
    if (memory == MAP_FAILED) return -errno;
    place.store(static_cast<std::byte *>(memory), std::memory_order_release);
    later_->used.store(std::max(later_->used.load(), index - header_->starters + 1));
    return 0;
}

node_table arena::nodes() const { return {at(header_->nodes_at), header_->nodes, header_->kinds}; }

rank_table arena::ranks() const { return {at(header_->ranks_at), header_->rank_capacity, header_->ended}; }

slot &arena::slot_at(unsigned index) const
{
    return *reinterpret_cast<slot *>(at(header_->slots_at + index * header_->slot_stride));
}

std::byte *arena::segments(unsigned index) const
{
    return at(header_->slots_at + index * header_->slot_stride + page_up(sizeof(slot)));
}

ring_control &arena::ring(unsigned to, unsigned from) const
{
    return *reinterpret_cast<ring_control *>(
        at(header_->rings_at + (std::uint64_t(to) * header_->slots + from) * header_->ring_stride));
}

std::byte *arena::ring_data(unsigned to, unsigned from) const
{
    return reinterpret_cast<std::byte *>(&ring(to, from)) + ring_data_at;
}

lane_control &arena::lane(unsigned to, unsigned from) const
{
    return *reinterpret_cast<lane_control *>(reinterpret_cast<std::byte *>(&ring(to, from)) + lane_control_at);
}

cell *arena::cells(unsigned to, unsigned from) const
{
    return reinterpret_cast<cell *>(reinterpret_cast<std::byte *>(&ring(to, from)) + page_bytes);
}

lane_control &arena::short_lane(unsigned to, unsigned from) const
{
    return *reinterpret_cast<lane_control *>(reinterpret_cast<std::byte *>(&ring(to, from)) + short_lane_at);
}

cell *arena::short_cells(unsigned to, unsigned from) const
{
    return reinterpret_cast<cell *>(reinterpret_cast<std::byte *>(&ring(to, from)) + short_cells_at);
}

stage_control &arena::stage(unsigned index) const
{
    return *reinterpret_cast<stage_control *>(at(header_->stages_at + index * stage_stride));
}

std::byte *arena::stage_data(unsigned index) const { return reinterpret_cast<std::byte *>(&stage(index)) + page_bytes; }

std::byte *arena::heap_meta(unsigned index) const
{
    if (index < header_->starters) return at(header_->heaps_at + index * header_->heap_stride);
    return later_->mapped[index - header_->starters].load(std::memory_order_acquire);
}

std::byte *arena::heap_data(unsigned index) const
{
    return heap_meta(index) + page_up(heap_meta_bytes(header_->heap_bytes));
}

std::optional<unsigned> arena::slot_of_memory(const void *address) const
{
    const auto behind = [address](const std::byte *begin) {
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin);
    };
    const std::uint64_t stride = header_->heap_stride, into = behind(at(header_->heaps_at));
    if (into < header_->starters * stride) return unsigned(into / stride);
    // Each addition to a counter asks, and most jobs have no heaps that came later.
    const unsigned used = later_ ? later_->used.load(std::memory_order_acquire) : 0;
    for (unsigned i = 0; i < used; ++i) {
        const std::byte *heap = later_->mapped[i].load(std::memory_order_acquire);
        if (heap && behind(heap) < stride) return header_->starters + i;
    }
    return std::nullopt;
}

void arena::ask_for_huge_pages(unsigned index) const
{
    const auto heap = reinterpret_cast<std::uintptr_t>(heap_data(index));
    const std::uintptr_t from = round_up(heap + huge_page, huge_page), end = heap + header_->heap_bytes;
    if (from + huge_page <= end) madvise(reinterpret_cast<void *>(from), end - from, MADV_HUGEPAGE);
}

std::uint64_t arena::show_in_core_files(unsigned index, std::uint64_t bytes) const
{
    const auto heap = reinterpret_cast<std::uintptr_t>(heap_data(index));
    const std::uintptr_t whole = heap + page_up(header_->heap_bytes);
    const std::uintptr_t end = std::min<std::uintptr_t>(whole, round_up(heap + bytes, huge_page));
    madvise(reinterpret_cast<void *>(heap), end - heap, MADV_DODUMP);
    return end - heap;
}

} // namespace onesea::shm
