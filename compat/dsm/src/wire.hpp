// SPDX-License-Identifier: Apache-2.0
// What carries the accesses. libdsm has one, on LAPI; the benchmark has two more, on TCP and on UDP sockets, so that
// all three are the same shared memory with the same checks and differ in nothing else.
//
// A wire is called with accesses that have been checked, and with length > 0. All functions give DSM_OK or a negative
// status, whose words they have set (fail()). Any thread may call read .. release at any time; the others are called by
// one thread, and, but for barrier(), while nothing else is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace dsm {

class wire {
  public:
    virtual ~wire() = default;

    virtual int node() const = 0;
    virtual int nodes() const = 0;

    // This node's part, zeroed; local. Afterwards memory() is its beginning. Called once, before connect().
    virtual int allocate(std::uint64_t bytes) = 0;
    virtual char *memory() const = 0;

    // Collective: every node's `mine`, by node. May be called before connect().
    virtual int exchange(std::uint64_t mine, std::vector<std::uint64_t> &all) = 0;

    // Collective: on success the functions below may be used.
    virtual int connect() = 0;

    virtual int read(int node, std::uint64_t address, void *data, std::uint64_t length) = 0;
    virtual int write(int node, std::uint64_t address, const void *data, std::uint64_t length) = 0;
    virtual int write_b(int node, std::uint64_t address, const void *data, std::uint64_t length) = 0;
    virtual int fetch_add(int node, std::uint64_t address, std::int64_t add, std::int64_t &old) = 0;
    virtual int fence() = 0;

    // At most one thread of a node asks for a lock at a time, and only its holder releases it. release() completes the
    // node's WRITEs first.
    virtual int acquire(int lock) = 0;
    virtual int release(int lock) = 0;

    // Collective; completes the WRITEs of all.
    virtual int barrier() = 0;

    // Collective; the last call.
    virtual int close() = 0;
};

// Joins the job. Null, with words set, if that fails. Each library has its own.
std::unique_ptr<wire> open_wire();

} // namespace dsm
