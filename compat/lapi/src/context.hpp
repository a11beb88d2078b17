// SPDX-License-Identifier: Apache-2.0
// A context: what LAPI_Init() makes and a handle names. The tasks agree on its number, which is the handle and names
// the partners' contexts in messages. A context that has ended keeps its memory: threads of the program may still be on
// their way out of a call.
#pragma once

#include "errors.hpp"
#include "gate.hpp"
#include "inbox.hpp"
#include "requests.hpp"
#include "tracker.hpp"
#include "waiters.hpp"
#include "workers.hpp"

#include "lapi.h"

#include <onesea.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace lapi {

constexpr int max_contexts = 64;         // at once
constexpr unsigned context_slots = 1024; // a handle's place is its remainder
constexpr int address_table = 256;       // LOC_ADDRTBL_SZ: numbers below it are indices, above are addresses
constexpr unsigned max_uhdr = 960;       // what SEA_AM_HEADER_MAX leaves beside our own header
constexpr unsigned max_packet = 960;     // user header and data that travel together
constexpr int default_timeout = 900, min_timeout = 1, max_timeout = 86400; // seconds

// Another task, as this one sees it.
struct task {
    std::uintptr_t heap = 0;        // where its shared memory lies in its own process
    std::size_t heap_bytes = 0;     // 0: not known
    std::atomic<bool> near = false; // that memory can be loaded and stored here, and the task lives
    std::atomic<bool> purged = false;
    std::atomic<bool> messaged = false; // messages went there that no fence has asked about; set after the sending
    int fences = 0;                     // that wait for an answer from there, guarded by `fencing`
    std::atomic<lapi_long_t> near_out = 0, near_in = 0; // bytes moved by loads and stores
};

struct context {
    lapi_handle_t handle = 0;
    int me = 0, n = 0;
    sea_team team = SEA_TEAM_NULL;
    lapi_lib_t lib_vers = L1_LIB;
    LAPI_err_hndlr *err_hndlr = nullptr;
    bool use_shm = true;
    std::unique_ptr<task[]> tasks;
    std::atomic<bool> open = false,
                      ending = false; // LAPI_Term() ends it: it is open until its completion handlers have
    std::atomic<bool> check = true;
    std::atomic<int> timeout = default_timeout, ack_threshold = 30;
    std::atomic<void *> addresses[address_table] = {};
    std::atomic<unsigned> received = 0;    // messages that are complete here, for LAPI_Msgpoll
    std::atomic<bool> unconfirmed = false; // something was sent since LAPI_Msgpoll saw all of it arrived

    gate handlers;
    inbox waiting;
    workers completions, errors; // threads that call the program's handlers
    tracker tracked;
    waiters counters;
    requests asked;
    std::atomic<double> next_look = 0; // after answers that have not come
    std::mutex fencing;

    // After the sending: what another thread's LAPI_Msgpoll sees as arrived must have left before. Stored in any case:
    // a look at whether it is set already could come before the sending is seen.
    void has_sent() { unconfirmed.store(true, std::memory_order_release); }
    bool valid(uint tgt) const { return tgt < uint(n); }
};

// The open context of a handle, or null.
context *find(lapi_handle_t handle);
// The same for a number in a message from another task.
inline context *find_partner(lapi_handle_t number) { return find(number); }

// Calls use(context &) for each open context, until it returns true.
template <class Use>
void for_each_context(Use &&use);

extern std::atomic<context *> contexts[context_slots];

inline context *find(lapi_handle_t handle)
{
    context *c = contexts[handle % context_slots].load(std::memory_order_acquire);
    return c && c->handle == handle && c->open.load(std::memory_order_relaxed) ? c : nullptr;
}

template <class Use>
void for_each_context(Use &&use)
{
    for (auto &slot : contexts) {
        context *c = slot.load(std::memory_order_acquire);
        if (c && c->open.load(std::memory_order_relaxed) && use(*c)) return;
    }
}

} // namespace lapi
