// SPDX-License-Identifier: Apache-2.0
// The put that programs make most: small, to another node, without handle, counter or start condition. Its data is
// copied into the message, so that it is locally complete at once, and only a fence asks for its end. It needs no
// operation object: a number per fence's epoch counts those that are not settled. What the target refuses comes back
// with `quick_id`, and the next fence tells it.
//
// Operations that start after *all* earlier ones count these puts as well. While such an operation waits, no put is
// quick, so that it does not wait for later ones for ever.
#include "core/transfer.hpp"

#include <cstring>

namespace onesea::core {
namespace {

constexpr std::size_t quick_limit = 1024; // bytes

bool in_reach(place target, std::size_t bytes)
{
    if (target.raw()) return in_raw_space(target.position, bytes);
    const std::uint64_t offset = target.position;
    std::uint64_t limit = offset < shm::segments_from ? engine().arena.header().heap_bytes : SEA_OFFSET_MASK + 1;
    return offset != 0 && offset < limit && bytes <= limit - offset;
}

} // namespace

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

int quick_word(sea_addr target, const void *source, std::size_t bytes)
{
    sea_window_ *window;
    std::uint64_t *word, value;
    if (bytes != 8 || !source || !sea_fast_word_(target, &window, &word)) return not_native;
    std::memcpy(&value, source, sizeof value);
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
    sea_fast_count_(&window->puts);
    return SEA_OK;
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
    if (!p.row) p.row = &e.counts->row_of(target.rank); // as count() does, without the way to the peer
    ++p.row->counts.puts;
    p.row->counts.bytes_out += bytes;
    outgoing m;
    m.head.type = frame_type::put;
    m.head.position = target.position;
    m.head.id = quick_id;
    m.payload = source;
    m.bytes = bytes;
    m.done = &p.quick[p.epoch];
    p.carrier->send(target.rank, m);
    activity();
    return SEA_OK;
}

} // namespace onesea::core
