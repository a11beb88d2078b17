// SPDX-License-Identifier: Apache-2.0
#include "core/transfer.hpp"
#include "core/windows.hpp"

#include <cstring>
#include <new>

namespace onesea::core {
namespace {

struct word_update {
    sea_atomic_kind kind;
    place target;
    int width;
    std::uint64_t operand, compare;
};

bool known(sea_atomic_kind kind) { return kind >= SEA_ATOMIC_SWAP && kind <= SEA_ATOMIC_XOR; }

int check(const char *function, const word_update &u, const sea_opts *opts)
{
    if (!known(u.kind)) return fail(SEA_ERR_INVALID, "{}: there is no kind {}", function, int(u.kind));
    if (u.width != 4 && u.width != 8)
        return fail(SEA_ERR_INVALID, "{}: width {} is neither 4 nor 8", function, u.width);
    if (int s = check_opts(opts, u.target.rank)) return s;
    if (u.target.position % std::uint64_t(u.width))
        return fail(SEA_ERR_ALIGN, "{}: {} of rank {} is not aligned to {} bytes", function, position_text(u.target),
                    u.target.rank, u.width);
    return check_range(function, u.target, std::uint64_t(u.width));
}

void store(void *old, int width, std::uint64_t value)
{
    if (old) std::memcpy(old, &value, std::size_t(width)); // little endian
}

// SEA_OK, an error, or not_native.
int update_natively(const word_update &u, void *old)
{
    transport *t = engine().route(u.target.rank);
    if (!t) return SEA_ERR_DEAD;
    if (!(t->capabilities() & capability::native_atomic)) return not_native;
    std::uint64_t value = 0;
    int s = t->atomic(u.target.rank, u.target.position, u.kind, u.width, u.operand, u.compare, &value);
    if (s == SEA_OK) store(old, u.width, value);
    return s;
}

int update_own(const word_update &u, void *old)
{
    std::uint64_t value = 0;
    if (int s = own_update(u.target.position, u.kind, u.width, u.operand, u.compare, &value)) return s;
    store(old, u.width, value);
    return SEA_OK;
}

void start_update(operation *op, const word_update &u, void *old, bool ordered)
{
    auto &e = engine();
    const int rank = u.target.rank;
    bool first_in_order = !ordered || e.peer_of(rank).ordered <= 1;
    int s = first_in_order ? update_natively(u, old) : not_native;
    if (s == not_native && first_in_order && rank == e.rank) s = update_own(u, old);
    if (s == SEA_OK) return;
    if (s != not_native) return note_error(op, s, access_text(s, u.target, std::uint64_t(u.width)));
    const std::uint64_t words[2] = {u.operand, u.compare};
    outgoing m;
    m.head.type = frame_type::atomic;
    m.head.aux = std::uint16_t(unsigned(u.kind) | unsigned(u.width) << 8 | (old ? 0x8000u : 0u));
    m.head.position = u.target.position;
    m.payload = words;
    m.bytes = sizeof words;
    m.ordered = ordered;
    m.head.flags = op->signals.empty() ? std::uint8_t(0) : frame_flags::signals;
    if (old) {
        op->local_at_end = true;
        op->memory = old;
        op->bytes = std::size_t(u.width);
    }
    send_message(op, rank, m, old ? ends_by::answer : ends_by::execution);
}

} // namespace

int update(const char *function, sea_atomic_kind kind, place target, int width, std::uint64_t operand,
           std::uint64_t compare, void *old, const sea_opts *opts)
{
    const word_update u{kind, target, width, operand, compare};
    const int rank = target.rank;
    if (int s = check(function, u, opts)) return s;
    if (may_end_in_call(opts)) {
        int s = update_natively(u, old);
        if (s == SEA_OK) {
            if (rank == engine().rank) nudge();
            tell_ended(opts);
            return count(rank, &pair_counts::atomics, 0, 0);
        }
        if (s != not_native) return fail(s, "{}: {}", function, access_text(s, target, std::uint64_t(width)));
    }
    locked lock = enter();
    if (int s = check_after(opts)) return s;
    bound_unfinished(lock, rank, opts);
    count(rank, &pair_counts::atomics, 0, 0);
    operation *op = begin(rank, opts);
    op->kind = SEA_ERROR_ATOMIC;
    bool ordered = opts && (opts->flags & SEA_ORDERED);
    signal_counter(op, opts);
    run_or_defer(op, [=](operation *o) {
        start_update(o, u, old, ordered);
        start_signals(o);
    });
    return conclude(lock, op, opts, old != nullptr);
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_atomic(sea_atomic_kind kind, sea_addr target, int width, uint64_t operand, uint64_t compare, void *old,
               const sea_opts *opts)
try {
    std::uint64_t before = 0;
    if (!opts && known(kind) && (width == 4 || width == 8) &&
        window_atomic(target, kind, width, operand, compare, &before)) {
        store(old, width, before);
        return SEA_OK;
    }
    if (int s = check_started("sea_atomic")) return s;
    return update("sea_atomic", kind, place_of(target), width, operand, compare, old, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_atomic");
}
