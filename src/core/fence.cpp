// SPDX-License-Identifier: Apache-2.0
// A fence starts a new epoch towards its rank and waits until the operations of the old one have ended. It waits for
// an earlier fence of another thread first, so that two epochs are enough.
#include "core/engine.hpp"

#include <atomic>
#include <new>
#include <utility>

namespace onesea::core {
namespace {

// Orders what went natively before it. An update and not a fence: the thread sanitizer knows no fences.
void full_barrier()
{
    static std::atomic<int> word{0};
    word.fetch_add(1, std::memory_order_seq_cst);
}

int fence_one(locked &lock, int rank, nanoseconds deadline)
{
    full_barrier();
    auto &e = engine();
    auto found = e.peers.find(rank);
    if (found == e.peers.end()) return SEA_OK;
    peer &p = *found->second;
    p.habit.fenced();
    hurry(rank);
    int old = -1;
    std::uint32_t own_turn = 0;
    auto ready = [&] {
        if (old < 0 && p.unfinished[1 - p.epoch] == 0) {
            old = p.epoch;
            p.epoch = std::uint8_t(1 - p.epoch);
            own_turn = ++p.turns;
        }
        // A later turn says so as well: it had to find the old epoch empty, and what is in it now is newer.
        return old >= 0 && (p.unfinished[old] == 0 || p.turns != own_turn);
    };
    if (int s = wait(lock, ready, deadline))
        return told_by_name(s, [=] { return fmt::format("the end of all operations on rank {}", rank); });
    int status = std::exchange(p.first_error, SEA_OK);
    if (status != SEA_OK) set_error(status, std::exchange(p.first_error_text, {}));
    return status;
}

} // namespace

void hurry(int rank)
{
    auto &e = engine();
    auto found = e.peers.find(rank);
    if (found == e.peers.end()) return;
    const peer &p = *found->second;
    transport *t = p.unfinished[0] + p.unfinished[1] > 0 ? e.route(rank) : nullptr;
    if (t) t->hurry(rank, p.lazy_answers > 0);
}

void hurry_all()
{
    for (int rank : engine().known_peers()) hurry(rank);
}

void leave_to_fence(int rank, int status, int kind, std::string text)
{
    auto &e = engine();
    if (e.on_error) {
        handler_task task;
        task.what = handler_task::kind::error;
        task.source = rank;
        task.status = status;
        task.number = std::uint16_t(kind);
        e.handlers.push(std::move(task));
    }
    peer &p = e.peer_of(rank);
    if (p.first_error != SEA_OK) return;
    p.first_error = status;
    p.first_error_text = std::move(text);
}

// An error that a fence has taken and does not tell is the first for the next one.
static void give_back(int rank, int status, std::string text)
{
    peer &p = engine().peer_of(rank);
    p.first_error = status;
    p.first_error_text = std::move(text);
}

int fence_everything(locked &lock, nanoseconds deadline)
{
    std::string text;
    int first = SEA_OK, where = -1;
    hurry_all(); // one after the other they would each cost a round trip
    for (int rank : engine().known_peers()) {
        int s = fence_one(lock, rank, deadline);
        if (s == SEA_ERR_TIMEOUT) {
            if (first != SEA_OK) give_back(where, first, std::move(text));
            return s;
        }
        if (s == SEA_OK || first != SEA_OK) continue;
        first = s;
        where = rank;
        text = last_error();
    }
    return first == SEA_OK ? SEA_OK : set_error(first, std::move(text));
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_on_error(sea_error_fn fn, void *context)
{
    if (int s = check_started("sea_on_error")) return s;
    locked lock = enter();
    engine().on_error = fn;
    engine().on_error_context = context;
    return SEA_OK;
}

int sea_fence(int rank)
try {
    if (int s = check_started("sea_fence")) return s;
    if (rank < 0 || rank >= engine().size()) return engine().check_rank(rank);
    locked lock = enter();
    return fence_one(lock, rank, thread_deadline());
} catch (const std::bad_alloc &) {
    return no_memory("sea_fence");
}

int sea_fence_all(void)
try {
    if (int s = check_started("sea_fence_all")) return s;
    full_barrier();
    locked lock = enter();
    return fence_everything(lock, thread_deadline());
} catch (const std::bad_alloc &) {
    return no_memory("sea_fence_all");
}
