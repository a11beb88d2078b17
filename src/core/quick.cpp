// SPDX-License-Identifier: Apache-2.0
// The put that programs make most: small, to another node, without handle, counter or start condition. Its data is
// copied into the message, so that it is locally complete at once, and only a fence asks for its end. It needs no
// operation object: a number per fence's epoch counts those that are not settled. What the target refuses comes back
// with `quick_id`, and the next fence tells it.
//
// Operations that start after *all* earlier ones count these puts as well. While such an operation waits, no put is
// quick, so that it does not wait for later ones for ever.
//
// With SEA_JOIN such puts have one handle: they are further messages of the operation that the first of them began. It
// is open to them as long as nobody waits for more than its own end: once something starts after it, or after all, or a
// fence covers it, later puts are to begin another.
#include "core/transfer.hpp"

namespace onesea::core {
namespace {

constexpr std::size_t quick_limit = 1024;   // bytes
constexpr std::uint32_t most_joined = 1023; // puts beside the first

bool in_reach(place target, std::size_t bytes)
{
    if (target.raw()) return in_raw_space(target.position, bytes);
    const std::uint64_t offset = target.position;
    std::uint64_t limit = offset < shm::segments_from ? engine().arena.header().heap_bytes : SEA_OFFSET_MASK + 1;
    return offset != 0 && offset < limit && bytes <= limit - offset;
}

bool may_join(const operation *op, const peer &p, place target, const void *source, std::size_t bytes)
{
    return op->open && op->state == operation::phase::active && op->status == SEA_OK && op->epoch == p.epoch &&
           op->joined < most_joined && op->dependents.empty() && engine().waiting_for_all == 0 && p.carrier &&
           under_way(p) < most_unfinished && source && bytes - 1 < quick_limit && in_reach(target, bytes);
}

// The rest of what small puts have in common; `done` is counted by the caller.
void send_small(peer &p, place target, const void *source, std::size_t bytes, std::uint64_t id, delivery *done,
                bool at_leisure = false) noexcept
{
    if (!p.row) p.row = &engine().counts->row_of(target.rank); // as count() does, without the way to the peer
    ++p.row->counts.puts;
    p.row->counts.bytes_out += bytes;
    outgoing m;
    m.head.type = frame_type::put;
    m.head.position = target.position;
    m.head.id = id;
    m.payload = source;
    m.bytes = bytes;
    m.done = done;
    m.at_leisure = at_leisure;
    p.carrier->send(target.rank, m);
    started();
}

int join(place target, const void *source, std::size_t bytes, sea_op handle)
{
    auto &e = engine();
    locked lock = enter();
    operation *op = e.operations.find(handle);
    if (!op || op->target < 0 || op->target != target.rank)
        return fail(SEA_ERR_STATE, "sea_put: {:#x} is no operation on rank {} that puts may join", handle, target.rank);
    if (bytes == 0) return SEA_OK;
    peer &p = e.peer_of(target.rank);
    if (!may_join(op, p, target, source, bytes))
        return fail(SEA_ERR_STATE, "sea_put: the operation {:#x} does not take this put, or no more of them", handle);
    ++op->joined;
    ++op->deliveries;
    ++p.unfinished[p.epoch];
    send_small(p, target, source, bytes, handle, op);
    return SEA_OK;
}

} // namespace

int join_put(sea_addr target, const void *source, std::size_t bytes, const sea_opts *opts)
{
    if (int s = check_started("sea_put")) return s;
    if (!known_size(opts)) return check_opts(opts, sea_addr_rank(target));
    if (!opts->op || (opts->flags & ~(SEA_JOIN | SEA_NOWAIT)) || opts->after != SEA_OP_NONE || opts->origin_counter ||
        opts->remote_counter || opts->target_counter != SEA_NULL || raw_counter(opts))
        return fail(SEA_ERR_INVALID,
                    "sea_put: the flags are {:#x}; SEA_JOIN wants `op`, and neither `after`, counters nor other flags",
                    opts->flags);
    if (*opts->op != SEA_OP_NONE) return join(place_of(target), source, bytes, *opts->op);
    sea_opts first = SEA_OPTS_INIT;
    first.op = opts->op;
    int s = put("sea_put", place_for(target, bytes, &first), source, bytes, &first);
    if (s != SEA_OK || *opts->op == SEA_OP_NONE || bytes > quick_limit) return s;
    locked lock = enter();
    if (operation *op = engine().operations.find(*opts->op)) op->open = op->ack_part && !op->awaits_reply;
    return SEA_OK;
}

void remember_carrier(int rank)
{
    auto &e = engine();
    transport *t = e.route(rank);
    const bool by_messages = t && rank != e.rank && !(t->capabilities() & capability::native_put);
    e.peer_of(rank).carrier = by_messages ? t : nullptr;
}

void quick_settled(delivery *d, int status)
{
    auto &e = engine();
    auto *puts = static_cast<quick_puts *>(d);
    peer &p = *puts->of;
    --p.unfinished[puts->epoch];
    if (status != SEA_OK)
        leave_to_fence(puts->rank, status, SEA_ERROR_PUT,
                       fmt::format("a put to rank {} did not arrive: {}", puts->rank, sea_strerror(status)));
    if (--e.quick_unfinished == 0) start_who_waits_for_all();
}

void quick_refused(place target, int status)
{
    leave_to_fence(
        target.rank, status, SEA_ERROR_PUT,
        fmt::format("rank {} refused a put to {}: {}", target.rank, position_text(target), sea_strerror(status)));
}

int quick_put(place target, const void *source, std::size_t bytes, const sea_opts *opts)
{
    auto &e = engine();
    if (bytes - 1 >= quick_limit || !source) return not_native;
    if (e.state.load(std::memory_order_acquire) != role::running) return not_native;
    locked lock = enter();
    if (target.rank != e.last_peer_rank || !e.last_peer || e.waiting_for_all > 0) return not_native;
    peer &p = *e.last_peer;
    if (!p.carrier || !in_reach(target, bytes)) return not_native;
    if (p.unfinished[0] + p.unfinished[1] >= most_unfinished) bound_unfinished(lock, target.rank, opts);
    if (!p.carrier) return not_native; // it has ended meanwhile
    ++p.unfinished[p.epoch];
    ++e.quick_unfinished;
    // A program that does not wait may go on without a fence for long: an answer at once would be for nobody.
    const bool at_leisure = opts && (opts->flags & SEA_NOWAIT) && p.habit.next_may_be_at_leisure();
    send_small(p, target, source, bytes, quick_id, &p.quick[p.epoch], at_leisure);
    return SEA_OK;
}

} // namespace onesea::core
