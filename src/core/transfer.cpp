// SPDX-License-Identifier: Apache-2.0
// put, get, copy, put with signal. Each piece of an operation goes the shortest way that there is: native access,
// own memory, or messages.
#include "core/transfer.hpp"

#include "core/engine.hpp"
#include "core/extents.hpp"
#include "shm/native.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace onesea::core {
namespace {

// Longer puts refer to the program's buffer until they are there: who waits for local completion would rather have
// the copy, who does not wait would not.
constexpr std::size_t copy_limit = 8192, copy_limit_nowait = 1024;

bool keeps_order_natively(const operation *op, bool ordered)
{
    return !ordered || engine().peer_of(op->target).ordered <= (op->counted_ordered ? 1u : 0u);
}

int own_access(std::uint64_t offset, void *local, std::size_t bytes, bool write)
{
    void *memory = nullptr;
    shm::segment *segment = nullptr;
    if (int s = engine().resolve(offset, bytes, write, &memory, &segment)) return s;
    if (write)
        shm::copy_plain(memory, local, bytes);
    else
        shm::copy_plain(local, memory, bytes);
    return SEA_OK;
}

// SEA_OK: a part was done; not_native: it needs a message; else the error has been noted.
int done_natively(operation *op, int status, sea_addr address, std::size_t bytes)
{
    if (status != SEA_OK && status != not_native) note_error(op, status, access_text(status, address, bytes));
    return status;
}

} // namespace

int native_put(int rank, std::uint64_t offset, const void *source, std::size_t bytes)
{
    auto &e = engine();
    transport *t = e.route(rank);
    int s = t->capabilities() & capability::native_put ? t->put(rank, offset, source, bytes) : not_native;
    return s == not_native && rank == e.rank ? own_access(offset, const_cast<void *>(source), bytes, true) : s;
}

int native_get(int rank, std::uint64_t offset, void *target, std::size_t bytes)
{
    auto &e = engine();
    transport *t = e.route(rank);
    int s = t->capabilities() & capability::native_get ? t->get(rank, offset, target, bytes) : not_native;
    return s == not_native && rank == e.rank ? own_access(offset, target, bytes, false) : s;
}

void note_error(operation *op, int status, std::string text)
{
    if (op->status != SEA_OK) return;
    op->status = status;
    op->error_text = std::move(text);
}

std::string access_text(int status, sea_addr address, std::uint64_t bytes)
{
    return fmt::format("{} bytes at {:#x} (rank {}, offset {:#x}): {}", bytes, address, rank_of(address),
                       sea_addr_offset(address), sea_strerror(status));
}

int check_range(const char *function, sea_addr address, std::uint64_t bytes)
{
    auto &e = engine();
    if (int s = e.check_rank(rank_of(address))) return s;
    std::uint64_t offset = sea_addr_offset(address);
    std::uint64_t limit = offset < shm::segments_from ? e.arena.header().heap_bytes : SEA_OFFSET_MASK + 1;
    if (offset != 0 && offset < limit && bytes <= limit - offset) return SEA_OK;
    return fail(SEA_ERR_ADDRESS, "{}: {}", function, access_text(SEA_ERR_ADDRESS, address, bytes));
}

void send_message(operation *op, int rank, outgoing &m, ends_by end)
{
    m.head.id = operation_table::id_of(op);
    m.done = op;
    ++op->deliveries;
    op->messaged = true;
    if (end == ends_by::answer) {
        op->awaits_reply = true;
        ++op->parts;
    } else if (!op->ack_part) {
        op->ack_part = true;
        ++op->parts;
    }
    transport *t = engine().route(rank);
    if (t) return t->send(rank, m);
    op->settled(op, SEA_ERR_DEAD);
}

namespace {

void send_put(operation *op, sea_addr target, const void *source, std::size_t bytes, bool ordered)
{
    int rank = rank_of(target);
    transport *t = engine().route(rank);
    if (!t) return note_error(op, SEA_ERR_DEAD, access_text(SEA_ERR_DEAD, target, bytes));
    outgoing m;
    m.head.type = frame_type::put;
    m.head.flags = op->signals.empty() ? std::uint8_t(0) : frame_flags::signals;
    m.head.position = sea_addr_offset(target);
    m.payload = source;
    m.bytes = bytes;
    m.borrow = bytes > std::min(op->call_waits ? copy_limit : copy_limit_nowait, t->max_frame(rank));
    m.ordered = ordered;
    op->local_at_end |= m.borrow;
    send_message(op, rank, m, ends_by::execution);
}

} // namespace

void start_put(operation *op, sea_addr target, const void *source, std::size_t bytes, bool ordered)
{
    if (bytes == 0) return;
    int rank = rank_of(target);
    transport *t = engine().route(rank);
    if (!t) return note_error(op, SEA_ERR_DEAD, access_text(SEA_ERR_DEAD, target, bytes));
    std::uint64_t offset = sea_addr_offset(target);
    if (keeps_order_natively(op, ordered) &&
        done_natively(op, native_put(rank, offset, source, bytes), target, bytes) != not_native)
        return;
    if (bytes <= t->max_frame(rank) || extent_known(rank, offset, bytes))
        return send_put(op, target, source, bytes, ordered);
    check_extent(op, target, bytes, [=](operation *o) { send_put(o, target, source, bytes, ordered); });
}

void start_get(operation *op, void *target, sea_addr source, std::size_t bytes, bool ordered)
{
    op->local_at_end = true;
    if (bytes == 0) return;
    auto &e = engine();
    int rank = rank_of(source);
    if (!e.route(rank)) return note_error(op, SEA_ERR_DEAD, access_text(SEA_ERR_DEAD, source, bytes));
    std::uint64_t offset = sea_addr_offset(source);
    if (keeps_order_natively(op, ordered) &&
        done_natively(op, native_get(rank, offset, target, bytes), source, bytes) != not_native)
        return;
    auto *low = static_cast<std::byte *>(target), *high = low + bytes;
    if (op->memory) {
        auto *before = static_cast<std::byte *>(op->memory);
        high = std::max(high, before + op->bytes);
        low = std::min(low, before);
    }
    op->memory = low;
    op->bytes = std::size_t(high - low);
    op->reply_bytes += bytes;
    ++op->answers;
    const std::uint64_t wanted[2] = {bytes, reinterpret_cast<std::uint64_t>(target)};
    outgoing m;
    m.head.type = frame_type::get;
    m.head.position = offset;
    m.payload = wanted;
    m.bytes = sizeof wanted;
    m.ordered = ordered;
    send_message(op, rank, m, ends_by::answer);
}

namespace {

void start_signal(operation *op, const operation::signal &signal, bool more)
{
    int rank = rank_of(signal.word);
    transport *t = engine().route(rank);
    if (!t) return note_error(op, SEA_ERR_DEAD, access_text(SEA_ERR_DEAD, signal.word, 8));
    if (!op->messaged && (t->capabilities() & capability::native_atomic)) {
        std::uint64_t old;
        auto how = signal.kind == SEA_SIGNAL_ADD ? SEA_ATOMIC_ADD : SEA_ATOMIC_SWAP;
        int s = t->atomic(rank, sea_addr_offset(signal.word), how, 8, signal.value, 0, &old);
        if (done_natively(op, s, signal.word, 8) != not_native) return;
    }
    outgoing m;
    m.head.type = frame_type::signal;
    m.head.flags = more ? frame_flags::signals : std::uint8_t(0);
    m.head.aux = std::uint16_t(signal.kind);
    m.head.position = sea_addr_offset(signal.word);
    m.payload = &signal.value;
    m.bytes = sizeof signal.value;
    m.ordered = true;
    send_message(op, rank, m, ends_by::execution);
}

} // namespace

void start_signals(operation *op)
{
    if (op->checks > 0) return; // the last check comes here again
    for (std::size_t i = 0; i < op->signals.size(); ++i) {
        // what failed before anything was sent does not signal; once something was sent the target decides
        if (op->status != SEA_OK && !op->messaged) return;
        start_signal(op, op->signals[i], i + 1 < op->signals.size());
    }
}

void internal_signal(sea_addr counter)
{
    operation *op = begin(rank_of(counter), nullptr);
    op->signals.push_back({counter, 1, SEA_SIGNAL_ADD});
    run_or_defer(op, start_signals);
    let_go(op);
}

void signal_counter(operation *op, const sea_opts *opts)
{
    if (opts && opts->target_counter != SEA_NULL) op->signals.push_back({opts->target_counter, 1, SEA_SIGNAL_ADD});
}

void bound_unfinished(locked &lock, int rank, const sea_opts *opts)
{
    if (opts && opts->after != SEA_OP_NONE) return;
    if (inside_handler()) return; // two ranks whose handlers send to each other would wait for each other
    peer &p = engine().peer_of(rank);
    if (p.unfinished[0] + p.unfinished[1] < most_unfinished) return;
    wait(
        lock, [&] { return p.unfinished[0] + p.unfinished[1] < most_unfinished / 2; }, thread_deadline());
}

int rank_for(sea_addr address, std::uint64_t bytes, const sea_opts *opts)
{
    if (bytes) return rank_of(address);
    return opts && opts->target_counter ? rank_of(opts->target_counter) : engine().rank;
}

int check_transfer(const char *function, sea_addr address, const void *local, std::size_t bytes, const sea_opts *opts)
{
    if (int s = check_started(function)) return s;
    if (int s = check_opts(opts, rank_for(address, bytes, opts))) return s;
    if (bytes == 0) return SEA_OK;
    if (!local)
        return fail(SEA_ERR_INVALID, "{}: the local buffer of {} bytes (remote {:#x}) is null", function, bytes,
                    address);
    return check_range(function, address, bytes);
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

namespace {

bool ordered(const sea_opts *opts) { return opts && (opts->flags & SEA_ORDERED); }

int put_with_signal(sea_addr target, const void *source, std::size_t bytes, sea_addr signal, std::uint64_t value,
                    int kind, const sea_opts *opts)
{
    locked lock = enter();
    if (int s = check_after(opts)) return s;
    int rank = signal ? rank_of(signal) : rank_for(target, bytes, opts);
    bound_unfinished(lock, rank, opts);
    remember_carrier(rank);
    count(rank, &pair_counts::puts, bytes, 0);
    operation *op = begin(rank, opts);
    bool in_order = ordered(opts);
    if (signal != SEA_NULL) op->signals.push_back({signal, value, kind});
    signal_counter(op, opts);
    run_or_defer(op, [=](operation *o) {
        start_put(o, target, source, bytes, in_order);
        start_signals(o);
    });
    return conclude(lock, op, opts, false);
}

} // namespace

#undef sea_put
#undef sea_get

int sea_put(sea_addr target, const void *source, size_t bytes, const sea_opts *opts)
{
    if (quick_put(target, source, bytes, opts) == SEA_OK) return SEA_OK;
    if (int s = check_transfer("sea_put", target, source, bytes, opts)) return s;
    int rank = rank_for(target, bytes, opts);
    if (plain(opts) && rank != engine().rank) {
        transport *t = engine().route(rank);
        if (t && (t->capabilities() & capability::native_put)) {
            int s = t->put(rank, sea_addr_offset(target), source, bytes);
            if (s == SEA_OK) return count(rank, &pair_counts::puts, bytes, 0);
            if (s != not_native) return fail(s, "sea_put: {}", access_text(s, target, bytes));
        }
    }
    return put_with_signal(target, source, bytes, SEA_NULL, 0, 0, opts);
}

int sea_put_signal(sea_addr target, const void *source, size_t bytes, sea_addr signal, uint64_t value, int kind,
                   const sea_opts *opts)
{
    if (int s = check_transfer("sea_put_signal", target, source, bytes, opts)) return s;
    if (kind != SEA_SIGNAL_SET && kind != SEA_SIGNAL_ADD)
        return fail(SEA_ERR_INVALID, "sea_put_signal: kind {} is neither SEA_SIGNAL_SET nor SEA_SIGNAL_ADD", kind);
    if (signal % 8) return fail(SEA_ERR_ALIGN, "sea_put_signal: the signal {:#x} is not aligned to 8 bytes", signal);
    if (bytes && rank_of(signal) != rank_of(target))
        return fail(SEA_ERR_INVALID, "sea_put_signal: the signal is on rank {}, the data on rank {}", rank_of(signal),
                    rank_of(target));
    if (int s = check_range("sea_put_signal", signal, 8)) return s;
    return put_with_signal(target, source, bytes, signal, value, kind, opts);
}

int sea_get(void *target, sea_addr source, size_t bytes, const sea_opts *opts)
{
    if (int s = check_transfer("sea_get", source, target, bytes, opts)) return s;
    int rank = rank_for(source, bytes, opts);
    if (plain(opts) && rank != engine().rank) {
        transport *t = engine().route(rank);
        if (t && (t->capabilities() & capability::native_get)) {
            int s = t->get(rank, sea_addr_offset(source), target, bytes);
            if (s == SEA_OK) return count(rank, &pair_counts::gets, 0, bytes);
            if (s != not_native) return fail(s, "sea_get: {}", access_text(s, source, bytes));
        }
    }
    locked lock = enter();
    if (int s = check_after(opts)) return s;
    bound_unfinished(lock, rank, opts);
    count(rank, &pair_counts::gets, 0, bytes);
    operation *op = begin(rank, opts);
    op->counter_after = opts ? opts->target_counter : SEA_NULL;
    bool in_order = ordered(opts);
    run_or_defer(op, [=](operation *o) { start_get(o, target, source, bytes, in_order); });
    return conclude(lock, op, opts, true);
}

namespace {

// The owner of the source is asked to put.
void start_remote_copy(operation *op, sea_addr target, sea_addr source, std::size_t bytes, sea_addr counter)
{
    const std::uint64_t wanted[3] = {target, bytes, counter};
    outgoing m;
    m.head.type = frame_type::copy;
    m.head.position = sea_addr_offset(source);
    m.payload = wanted;
    m.bytes = sizeof wanted;
    send_message(op, rank_of(source), m, ends_by::answer);
}

void start_copy(operation *op, sea_addr target, sea_addr source, std::size_t bytes, bool in_order, sea_addr counter)
{
    auto &e = engine();
    op->local_at_end = true;
    if (bytes == 0) return start_signals(op);
    void *own = nullptr;
    shm::segment *segment = nullptr;
    bool from_here = rank_of(source) == e.rank, to_here = rank_of(target) == e.rank;
    if (from_here || to_here) {
        sea_addr mine = from_here ? source : target;
        int s = e.resolve(sea_addr_offset(mine), bytes, !from_here, &own, &segment);
        if (s != SEA_OK) return note_error(op, s, access_text(s, mine, bytes));
    } else if (transport *t = e.route(rank_of(source));
               t == e.shm.get() && e.route(rank_of(target)) == t && sea_addr_offset(source) < shm::segments_from) {
        if (!e.shm->heap_of(rank_of(source))->contains(sea_addr_offset(source), bytes))
            return note_error(op, SEA_ERR_ADDRESS, access_text(SEA_ERR_ADDRESS, source, bytes));
        own = e.shm->heap_memory(rank_of(source)) + sea_addr_offset(source);
        from_here = true;
    }
    if (from_here) {
        start_put(op, target, own, bytes, in_order);
        start_signals(op);
    } else if (to_here) {
        start_get(op, own, source, bytes, in_order);
        op->counter_after = counter;
    } else {
        start_remote_copy(op, target, source, bytes, counter);
    }
}

} // namespace

int sea_copy(sea_addr target, sea_addr source, size_t bytes, const sea_opts *opts)
{
    if (int s = check_started("sea_copy")) return s;
    int rank = rank_for(target, bytes, opts), from = bytes ? rank_of(source) : rank;
    if (int s = check_opts(opts, rank)) return s;
    if (bytes)
        for (sea_addr a : {target, source})
            if (int s = check_range("sea_copy", a, bytes)) return s;
    locked lock = enter();
    if (int s = check_after(opts)) return s;
    bound_unfinished(lock, rank, opts);
    count(from, &pair_counts::copies, 0, 0);
    operation *op = begin(rank, opts);
    op->also = from;
    bool in_order = ordered(opts);
    sea_addr counter = opts ? opts->target_counter : SEA_NULL;
    signal_counter(op, opts);
    run_or_defer(op, [=](operation *o) { start_copy(o, target, source, bytes, in_order, counter); });
    return conclude(lock, op, opts, true);
}
