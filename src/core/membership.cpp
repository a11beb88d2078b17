// SPDX-License-Identifier: Apache-2.0
// The agent puts ranks that come in the node's table, marks those that have ended there, adds them to its log, and
// rings every doorbell; here the operations of those that have ended end. The log is followed and not the table
// searched: an end costs the same in a job of any size.
#include "core/engine.hpp"
#include "core/windows.hpp"

namespace onesea::core {
namespace {

void rank_is_gone(int rank)
{
    auto &e = engine();
    bool cleanly = e.arena.ranks().state(rank) == shm::rank_state::left;
    if (auto known = e.peers.find(rank); known != e.peers.end()) known->second->carrier = nullptr;
    close_window(rank);
    e.for_each_transport([&](transport &t) { t.peer_gone(rank, cleanly); });
    fail_operations_on(rank, SEA_ERR_DEAD);
    tell_sources(rank, SEA_ERR_DEAD);
    if (cleanly) return;
    handler_task task;
    task.what = handler_task::kind::death;
    task.source = rank;
    task.status = e.arena.ranks().status(rank);
    e.handlers.push(std::move(task));
}

} // namespace

void engine_state::unreachable(int source)
{
    cut_off.add(source);
    fail_operations_on(source, SEA_ERR_LINK);
    tell_sources(source, SEA_ERR_LINK);
    nudge(engine_held);
}

void fail_operations_on(int rank, int status)
{
    std::vector<std::uint64_t> hit; // ends may release operations, so they are collected first
    engine().operations.for_each_unfinished([&](operation *op) {
        bool waits = op->state == operation::phase::active && op->awaits_reply;
        if (waits && (op->target == rank || op->also == rank)) hit.push_back(operation_table::id_of(op));
    });
    for (std::uint64_t id : hit)
        if (operation *op = engine().operations.find(id)) {
            note_error(op, status, fmt::format("no answer came from rank {}: {}", rank, sea_strerror(status)));
            complete(op, op->status);
        }
    std::erase_if(engine().in_frames, [rank](const auto &one) { return one.first.first == rank; });
}

bool alive(int rank) { return engine().arena.ranks().alive(rank); }
std::uint32_t ended() { return engine().arena.ranks().ended(); }
std::uint32_t ends_told(engine_held_t) { return engine().seen_ended; }
int ended_rank(std::uint32_t i) { return engine().arena.ranks().ended_rank(i); }
std::uint32_t cut_off() { return engine().cut_off.count(); }
int cut_off_rank(std::uint32_t i) { return engine().cut_off.at(i); }
bool is_cut_off(int rank) { return engine().cut_off.contains(rank); }
bool end_was_told(int rank, std::uint32_t told) { return engine().arena.ranks().end_was_told(rank, told); }

bool nothing_comes(int rank)
{
    const locked held = enter();
    return is_cut_off(rank) || end_was_told(rank, ends_told(engine_held));
}

void check_membership()
{
    auto &e = engine();
    e.seen_membership = e.arena.header().membership.load(std::memory_order_acquire);
    for (const int ranks = e.size(); e.seen_ranks < ranks; ++e.seen_ranks) open_window(e.seen_ranks);
    while (e.seen_ended < e.arena.ranks().ended()) {
        int rank = e.arena.ranks().ended_rank(e.seen_ended++);
        if (rank != e.rank) rank_is_gone(rank);
    }
    if (e.seen_waits_asked != e.arena.header().waits_asked.load(std::memory_order_acquire)) tell_waits();
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_on_death(sea_death_fn fn, void *context)
{
    if (int s = check_started("sea_on_death")) return s;
    locked lock = enter();
    engine().on_death = fn;
    engine().on_death_context = context;
    return SEA_OK;
}

int sea_alive(int rank)
{
    if (int s = check_started("sea_alive")) return s;
    auto &e = engine();
    if (rank < 0 || rank >= e.size()) return e.check_rank(rank);
    if (rank == e.rank || e.route(rank)) return 1;
    close_window(rank);
    return 0;
}
