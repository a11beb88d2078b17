// SPDX-License-Identifier: Apache-2.0
// The functions of dsm.h: check, then hand to the wire. One space is open at a time.
//
// dsm_init() must not leave other nodes waiting when one of them has no memory: allocating is local, and what comes of
// it is exchanged before anybody goes on.
#include "error.hpp"
#include "locks.hpp"
#include "space.hpp"
#include "wire.hpp"

#include <atomic>
#include <exception>
#include <new>

namespace {

using dsm::access;
using dsm::fail;

constexpr std::uint64_t no_memory = ~std::uint64_t{0}; // instead of a size, in the exchange of sizes

struct open_space {
    std::unique_ptr<dsm::wire> wire;
    dsm::space space;
    dsm::locks locks;
};

std::atomic<open_space *> the_space{nullptr};

[[gnu::cold]] int not_open() { return fail(DSM_ERR_STATE, "the space is not open: dsm_init() comes first"); }

// No exception leaves a C function.
template <class Body>
int guarded(Body &&body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return fail(DSM_ERR_MEMORY, "not enough memory for the library's own tables");
    } catch (const std::exception &e) {
        return fail(DSM_ERR_BELOW, "{}", e.what());
    }
}

template <class Body>
int with_space(Body &&body)
{
    open_space *open = the_space.load(std::memory_order_acquire);
    if (!open) return not_open();
    return guarded([&] { return body(*open); });
}

int check(const open_space &open, access kind, int node, std::uint64_t address, const void *data, std::uint64_t length)
{
    if (int status = open.space.check(kind, node, address, length)) return status;
    if (!data && length > 0)
        return fail(DSM_ERR_INVALID, "access to node {}, address {}, length {}: data is NULL", node, address, length);
    return DSM_OK;
}

// The sizes of all parts; the same status at all nodes.
int share_sizes(dsm::wire &wire, std::uint64_t bytes, std::vector<std::uint64_t> &sizes)
{
    const int mine =
        bytes == no_memory ? fail(DSM_ERR_MEMORY, "a node cannot give {} bytes", bytes) : wire.allocate(bytes);
    if (int status = wire.exchange(mine == DSM_OK ? bytes : no_memory, sizes)) return status;
    if (mine != DSM_OK) return mine;
    for (std::size_t node = 0; node < sizes.size(); node++)
        if (sizes[node] == no_memory) return fail(DSM_ERR_MEMORY, "node {} has no memory for its part", node);
    return DSM_OK;
}

int open_all(std::uint64_t bytes)
{
    std::unique_ptr<dsm::wire> wire = dsm::open_wire();
    if (!wire) return DSM_ERR_BELOW;
    std::vector<std::uint64_t> sizes;
    int status = share_sizes(*wire, bytes, sizes);
    if (status == DSM_OK) status = wire->connect();
    if (status != DSM_OK) {
        const auto words = dsm::words_of_thread();
        wire->close();
        dsm::words_of_thread() = words;
        return status;
    }
    the_space.store(new open_space{std::move(wire), dsm::space(std::move(sizes)), {}}, std::memory_order_release);
    return DSM_OK;
}

int release(open_space &open, int lock)
{
    const int status = open.wire->release(lock);
    open.locks.give(lock);
    return status;
}

int close_all(open_space &open)
{
    int first = DSM_OK;
    const auto keep = [&](int status) {
        if (first == DSM_OK) first = status;
    };
    for (int lock : open.locks.held()) keep(release(open, lock));
    keep(open.wire->barrier());
    keep(open.wire->close());
    return first;
}

// What a node says of its range; one that is wrong has been turned into none.
int share_protection(open_space &open, std::uint64_t address, std::uint64_t length, int mode)
{
    if (int status = open.wire->barrier()) return status;
    std::vector<std::uint64_t> from, lengths, modes;
    if (int status = open.wire->exchange(address, from)) return status;
    if (int status = open.wire->exchange(length, lengths)) return status;
    if (int status = open.wire->exchange(static_cast<std::uint64_t>(mode), modes)) return status;
    for (int node = 0; node < open.space.nodes(); node++) {
        const auto n = static_cast<std::size_t>(node);
        open.space.protect(node, from[n], lengths[n], modes[n] == DSM_READ_ONLY);
    }
    return open.wire->barrier();
}

} // namespace

int dsm_init(uint64_t bytes)
{
    if (the_space.load(std::memory_order_acquire)) return fail(DSM_ERR_STATE, "the space is open already");
    return guarded([&] { return open_all(bytes); });
}

int dsm_term(void)
{
    open_space *open = the_space.exchange(nullptr);
    if (!open) return not_open();
    const std::unique_ptr<open_space> owner(open);
    return guarded([&] { return close_all(*open); });
}

int dsm_node(void)
{
    return with_space([](open_space &open) { return open.wire->node(); });
}

int dsm_nodes(void)
{
    return with_space([](open_space &open) { return open.space.nodes(); });
}

int dsm_part(int node, uint64_t *bytes)
{
    return with_space([&](open_space &open) {
        if (!open.space.has(node))
            return fail(DSM_ERR_NODE, "part of node {}: the nodes are 0 to {}", node, open.space.nodes() - 1);
        if (!bytes) return fail(DSM_ERR_INVALID, "part of node {}: bytes is NULL", node);
        *bytes = open.space.size_of(node);
        return int{DSM_OK};
    });
}

int dsm_space(uint64_t *bytes)
{
    return with_space([&](open_space &open) {
        if (!bytes) return fail(DSM_ERR_INVALID, "size of the space: bytes is NULL");
        *bytes = open.space.total();
        return int{DSM_OK};
    });
}

void *dsm_local(uint64_t address)
{
    open_space *open = the_space.load(std::memory_order_acquire);
    if (!open) return nullptr;
    return address < open->space.size_of(open->wire->node()) ? open->wire->memory() + address : nullptr;
}

int dsm_protect(uint64_t address, uint64_t length, int mode)
{
    return with_space([&](open_space &open) {
        const int me = open.wire->node();
        int wrong = open.space.check(access::read, me, address, length);
        if (wrong != DSM_OK)
            wrong = fail(DSM_ERR_RANGE, "protection of node {}, address {}, length {}: its part has {} bytes", me,
                         address, length, open.space.size_of(me));
        else if (mode != DSM_READ_WRITE && mode != DSM_READ_ONLY)
            wrong = fail(DSM_ERR_INVALID, "protection of node {}, address {}, length {}: there is no mode {}", me,
                         address, length, mode);
        const int status = share_protection(open, address, wrong ? 0 : length, mode);
        return status != DSM_OK ? status : wrong;
    });
}

int dsm_read(int node, uint64_t address, void *data, uint64_t length)
{
    return with_space([&](open_space &open) {
        if (int status = check(open, access::read, node, address, data, length)) return status;
        return length == 0 ? int{DSM_OK} : open.wire->read(node, address, data, length);
    });
}

int dsm_write(int node, uint64_t address, const void *data, uint64_t length)
{
    return with_space([&](open_space &open) {
        if (int status = check(open, access::write, node, address, data, length)) return status;
        return length == 0 ? int{DSM_OK} : open.wire->write(node, address, data, length);
    });
}

int dsm_write_b(int node, uint64_t address, const void *data, uint64_t length)
{
    return with_space([&](open_space &open) {
        if (int status = check(open, access::write_b, node, address, data, length)) return status;
        return length == 0 ? int{DSM_OK} : open.wire->write_b(node, address, data, length);
    });
}

int dsm_fence(void)
{
    return with_space([](open_space &open) { return open.wire->fence(); });
}

int dsm_fetch_add(int node, uint64_t address, int64_t add, int64_t *old)
{
    return with_space([&](open_space &open) {
        if (int status = open.space.check(access::update, node, address, sizeof add)) return status;
        if (address % sizeof add != 0)
            return fail(DSM_ERR_ALIGN, "FETCH_ADD at node {}, address {}, length 8: not a multiple of 8", node,
                        address);
        std::int64_t before = 0;
        const int status = open.wire->fetch_add(node, address, add, before);
        if (status == DSM_OK && old) *old = before;
        return status;
    });
}

int dsm_lock(int lock)
{
    return with_space([&](open_space &open) {
        if (int status = open.locks.take(lock)) return status;
        const int status = open.wire->acquire(lock);
        if (status != DSM_OK) open.locks.give(lock);
        return status;
    });
}

int dsm_unlock(int lock)
{
    return with_space([&](open_space &open) {
        if (int status = open.locks.check_held(lock)) return status;
        return release(open, lock);
    });
}

int dsm_barrier(void)
{
    return with_space([](open_space &open) { return open.wire->barrier(); });
}
