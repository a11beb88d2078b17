// SPDX-License-Identifier: Apache-2.0
// put, get, copy, put with signal. Each piece of an operation goes the shortest way that there is: native access,
// own memory, or messages.
#include "core/transfer.hpp"

#include "base/copy.hpp"
#include "base/wide_copy.hpp"
#include "core/engine.hpp"
#include "core/extents.hpp"
#include "core/windows.hpp"

#include <algorithm>
#include <new>

namespace onesea::core {
namespace {

// Longer puts refer to the program's buffer until they are there: who waits for local completion would rather have
// the copy, who does not wait would not, except where a copy spares an acknowledgement beside a signal. What does not
// fit a frame is copied here, else the transport does it.
constexpr std::size_t copy_limit = 16384, copy_limit_nowait = 1024;

// SEA_OK: a part was done; not_native: it needs a message; else the error has been noted.
int done_natively(operation *op, int status, place where, std::size_t bytes)
{
    if (status != SEA_OK && status != not_native) note_error(op, status, access_text(status, where, bytes));
    return status;
}

} // namespace

bool keeps_order_natively(const operation *op, bool ordered)
{
    return !ordered || engine().peer_of(op->target).ordered <= (op->order == ordering::none ? 0u : 1u);
}

int native_put(place target, const void *source, std::size_t bytes)
{
    auto &e = engine();
    transport *t = e.route(target.rank);
    if (!t) return SEA_ERR_DEAD; // since the caller has looked
    const bool native = t->capabilities() & capability::native_put;
    int s = native ? t->put(target.rank, target.position, source, bytes) : not_native;
    return s == not_native && target.rank == e.rank ? own_write(target.position, source, bytes) : s;
}

int native_get(place source, void *target, std::size_t bytes)
{
    auto &e = engine();
    transport *t = e.route(source.rank);
    if (!t) return SEA_ERR_DEAD;
    const bool native = t->capabilities() & capability::native_get;
    int s = native ? t->get(source.rank, source.position, target, bytes) : not_native;
    return s == not_native && source.rank == e.rank ? own_read(target, source.position, bytes) : s;
}

void note_error(operation *op, int status, std::string text)
{
    if (op->status != SEA_OK) return;
    op->status = status;
    op->error_text = std::move(text);
}

std::string position_text(place where)
{
    if (where.raw()) return fmt::format("address {:#x} of its raw space", where.position & ~raw_space);
    return fmt::format("offset {:#x}", where.position);
}

std::string access_text(int status, place where, std::uint64_t bytes)
{
    if (where.raw())
        return fmt::format("{} bytes at {:#x} in the raw space of rank {}: {}{}", bytes, where.position & ~raw_space,
                           where.rank, sea_strerror(status),
                           status == SEA_ERR_ACCESS ? " (it is closed, or read only there)" : "");
    return fmt::format("{} bytes at {:#x} (rank {}, offset {:#x}): {}", bytes,
                       std::uint64_t(where.rank) << SEA_OFFSET_BITS | where.position, where.rank, where.position,
                       sea_strerror(status));
}

int check_range(const char *function, place where, std::uint64_t bytes)
{
    auto &e = engine();
    if (int s = e.check_rank(where.rank)) return s;
    const std::uint64_t offset = where.position;
    if (where.raw()) {
        if (in_raw_space(offset, bytes)) return SEA_OK;
        return fail(SEA_ERR_ADDRESS, "{}: {}", function, access_text(SEA_ERR_ADDRESS, where, bytes));
    }
    std::uint64_t limit = offset < shm::segments_from ? e.arena.header().heap_bytes : SEA_OFFSET_MASK + 1;
    if (offset != 0 && offset < limit && bytes <= limit - offset) return SEA_OK;
    return fail(SEA_ERR_ADDRESS, "{}: {}", function, access_text(SEA_ERR_ADDRESS, where, bytes));
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

std::unique_ptr<std::byte[]> copied(const void *source, std::size_t bytes)
{
    auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
    copy_bytes(copy.get(), source, bytes);
    return copy;
}

// Shorter ones go in one frame, of which the target executes all or nothing. Longer ones are cut where a packet is
// full, if they are not copied.
constexpr std::size_t whole_limit = 8192;

// Is it copied while the call runs?
bool copies(const operation *op, std::size_t bytes)
{
    const bool early = op->call_waits || (op->at_leisure && !op->signals.empty());
    return bytes <= (early ? copy_limit : copy_limit_nowait);
}

bool goes_in_one_frame(const operation *op, transport &t, int rank, std::size_t bytes)
{
    return (bytes <= whole_limit || copies(op, bytes)) && t.fits_frame(rank, bytes);
}

void send_put(operation *op, place target, const void *source, std::size_t bytes, bool ordered)
{
    transport *t = engine().route(target.rank);
    if (!t) return note_error(op, SEA_ERR_DEAD, access_text(SEA_ERR_DEAD, target, bytes));
    outgoing m;
    m.head.type = frame_type::put;
    m.head.flags = op->signals.empty() ? std::uint8_t(0) : frame_flags::signals;
    m.head.aux = transfer_scale(bytes);
    m.head.position = target.position;
    m.payload = source;
    m.bytes = bytes;
    const bool fits = goes_in_one_frame(op, *t, target.rank, bytes), in_place = !copies(op, bytes);
    m.borrow = in_place || !fits;
    m.whole = in_place && fits;
    if (m.borrow && !in_place) m.payload = op->copies.emplace_back(copied(source, bytes)).get();
    m.more = !op->signals.empty() && (t->fits_frame(target.rank, bytes) || !in_place);
    m.ordered = ordered || m.more; // as the signals are: what is unordered goes in other packets
    op->local_at_end |= in_place;
    m.at_leisure = op->at_leisure && !op->local_at_end;
    send_message(op, target.rank, m, ends_by::execution);
}

} // namespace

void start_put(operation *op, place target, const void *source, std::size_t bytes, bool ordered)
{
    if (bytes == 0) return;
    transport *t = engine().route(target.rank);
    if (!t) return note_error(op, SEA_ERR_DEAD, access_text(SEA_ERR_DEAD, target, bytes));
    if (keeps_order_natively(op, ordered) &&
        done_natively(op, native_put(target, source, bytes), target, bytes) != not_native)
        return;
    if (goes_in_one_frame(op, *t, target.rank, bytes) || extent_known(target, bytes))
        return send_put(op, target, source, bytes, ordered);
    check_extent(op, target, bytes, [=](operation *o) { send_put(o, target, source, bytes, ordered); });
}

void start_get(operation *op, void *target, place source, std::size_t bytes, bool ordered)
{
    op->local_at_end = true;
    if (bytes == 0) return;
    if (!engine().route(source.rank)) return note_error(op, SEA_ERR_DEAD, access_text(SEA_ERR_DEAD, source, bytes));
    if (keeps_order_natively(op, ordered) &&
        done_natively(op, native_get(source, target, bytes), source, bytes) != not_native)
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
    m.head.position = source.position;
    m.payload = wanted;
    m.bytes = sizeof wanted;
    m.ordered = ordered;
    op->lands = !source.raw(); // there some of it may be refused behind what has come, and is not to be touched
    send_message(op, source.rank, m, ends_by::answer);
}

namespace {

void start_signal(operation *op, const operation::signal &signal, bool more)
{
    const place word = signal.word;
    transport *t = engine().route(word.rank);
    if (!t) return note_error(op, SEA_ERR_DEAD, access_text(SEA_ERR_DEAD, word, 8));
    if (!op->messaged && (t->capabilities() & capability::native_atomic)) {
        std::uint64_t old;
        auto how = signal.kind == SEA_SIGNAL_ADD ? SEA_ATOMIC_ADD : SEA_ATOMIC_SWAP;
        int s = t->atomic(word.rank, word.position, how, 8, signal.value, 0, &old);
        if (done_natively(op, s, word, 8) != not_native) return;
    }
    outgoing m;
    m.head.type = frame_type::signal;
    m.head.flags = more ? frame_flags::signals : std::uint8_t(0);
    m.head.aux = std::uint16_t(signal.kind);
    m.head.position = op->status == SEA_OK ? word.position : no_signal;
    m.payload = &signal.value;
    m.bytes = sizeof signal.value;
    m.ordered = true;
    m.more = more;
    m.at_leisure = op->at_leisure && !op->local_at_end;
    send_message(op, word.rank, m, ends_by::execution);
}

} // namespace

void start_signals(operation *op)
{
    if (op->checks > 0) return; // the last check comes here again
    for (std::size_t i = 0; i < op->signals.size(); ++i) {
        // what failed before anything was sent does not signal; later the target decides, unless this rank has
        if (op->status != SEA_OK && !op->messaged) return;
        start_signal(op, op->signals[i], i + 1 < op->signals.size());
    }
}

void internal_signal(const operation *behind)
{
    const place counter = behind->counter_after;
    operation *op = begin(counter.rank, nullptr);
    if (!behind->external && counter.rank == behind->target) { // a fence that waits for that one waits for this, too
        auto &unfinished = engine().peer_of(counter.rank).unfinished;
        --unfinished[op->epoch];
        op->epoch = behind->epoch;
        ++unfinished[op->epoch];
    }
    op->signals.push_back({counter, 1, SEA_SIGNAL_ADD});
    op->held = false;
    run_or_defer(op, start_signals);
}

void signal_counter(operation *op, const sea_opts *opts)
{
    if (place counter = counter_place(opts, op->target)) op->signals.push_back({counter, 1, SEA_SIGNAL_ADD});
}

std::uint32_t under_way(const peer &p)
{
    return p.unfinished[0] + p.unfinished[1] - p.unmet - (line_stands(p) ? p.held_back : 0);
}

void bound_unfinished(locked &lock, int rank, const sea_opts *opts)
{
    if (opts && opts->after != SEA_OP_NONE) return;
    if (inside_handler()) return; // two ranks whose handlers send to each other would wait for each other
    peer &p = engine().peer_of(rank);
    if (under_way(p) < most_unfinished) return;
    hurry(rank);
    wait(
        lock, [&] { return under_way(p) < most_unfinished / 2; }, thread_deadline());
}

place place_for(sea_addr address, std::uint64_t bytes, const sea_opts *opts)
{
    place p = place_of(address);
    if (bytes == 0 && !raw_counter(opts))
        p.rank = opts && opts->target_counter ? rank_of(opts->target_counter) : engine().rank;
    return p;
}

int check_transfer(const char *function, place where, const void *local, std::size_t bytes, const sea_opts *opts)
{
    if (int s = check_opts(opts, where.rank)) return s;
    if (bytes == 0) return SEA_OK;
    if (!local)
        return fail(SEA_ERR_INVALID, "{}: the local buffer of {} bytes (remote {:#x}) is null", function, bytes,
                    where.raw() ? where.position & ~raw_space
                                : std::uint64_t(where.rank) << SEA_OFFSET_BITS | where.position);
    return check_range(function, where, bytes);
}

namespace {

bool ordered(const sea_opts *opts) { return opts && (opts->flags & SEA_ORDERED); }

void count_end(operation *op)
{
    bump(&static_cast<put_counts *>(const_cast<void *>(op->owner.get()))->ended);
    nudge(engine_held);
}

// All of it within the call, inside the node. False: it has to go the long way, which may do some of it again, and
// finds what is wrong.
bool signal_natively(place target, const void *source, std::size_t bytes, const operation::signal &signal)
{
    transport *t = engine().route(signal.word.rank);
    const unsigned both = capability::native_put | capability::native_atomic;
    if (!t || (t->capabilities() & both) != both) return false;
    if (bytes > 0 && t->put(target.rank, target.position, source, bytes) != SEA_OK) return false;
    std::uint64_t old;
    const auto how = signal.kind == SEA_SIGNAL_ADD ? SEA_ATOMIC_ADD : SEA_ATOMIC_SWAP;
    return t->atomic(signal.word.rank, signal.word.position, how, 8, signal.value, 0, &old) == SEA_OK;
}

int put_with_signal(place target, const void *source, std::size_t bytes, operation::signal signal, const sea_opts *opts,
                    const std::shared_ptr<put_counts> &counts = nullptr)
{
    locked lock = enter();
    if (int s = check_after(opts)) return s;
    int rank = signal.word ? signal.word.rank : target.rank;
    bound_unfinished(lock, rank, opts);
    remember_carrier(rank);
    count(rank, &pair_counts::puts, bytes, 0);
    operation *op = begin(rank, opts, signal.word || counter_place(opts, rank));
    if (counts) {
        op->owner = counts;
        op->finished = count_end;
        op->origin_counter = &counts->local;
        ++counts->started;
    }
    bool in_order = ordered(opts);
    if (signal.word) op->signals.push_back(signal);
    signal_counter(op, opts);
    run_or_defer(op, [=](operation *o) {
        start_put(o, target, source, bytes, in_order);
        start_signals(o);
    });
    return conclude(lock, op, opts, false);
}

} // namespace

void tell_ended(const sea_opts *opts)
{
    if (!opts) return;
    if (opts->op) *opts->op = SEA_OP_NONE;
    if (!opts->origin_counter && !opts->remote_counter) return;
    for (sea_counter *c : {opts->origin_counter, opts->remote_counter})
        if (c) bump(c);
    nudge();
}

int put(const char *function, place target, const void *source, std::size_t bytes, const sea_opts *opts)
{
    if (int s = check_transfer(function, target, source, bytes, opts)) return s;
    if (bytes && may_end_in_call(opts) && target.rank != engine().rank) {
        transport *t = engine().route(target.rank);
        if (t && (t->capabilities() & capability::native_put)) {
            int s = t->put(target.rank, target.position, source, bytes);
            if (s == SEA_OK) {
                tell_ended(opts);
                return count(target.rank, &pair_counts::puts, bytes, 0);
            }
            if (s != not_native) return fail(s, "{}: {}", function, access_text(s, target, bytes));
        }
    }
    return put_with_signal(target, source, bytes, {}, opts);
}

int get(const char *function, void *target, place source, std::size_t bytes, const sea_opts *opts,
        const std::shared_ptr<const void> &owner, void (*finished)(operation *))
{
    if (int s = check_transfer(function, source, target, bytes, opts)) return s;
    const int rank = source.rank;
    if (bytes && may_end_in_call(opts) && rank != engine().rank) {
        transport *t = engine().route(rank);
        if (t && (t->capabilities() & capability::native_get)) {
            int s = t->get(rank, source.position, target, bytes);
            if (s == SEA_OK) {
                tell_ended(opts);
                return count(rank, &pair_counts::gets, 0, bytes);
            }
            if (s != not_native) return fail(s, "{}: {}", function, access_text(s, source, bytes));
        }
    }
    locked lock = enter();
    if (int s = check_after(opts)) return s;
    bound_unfinished(lock, rank, opts);
    count(rank, &pair_counts::gets, 0, bytes);
    operation *op = begin(rank, opts);
    op->kind = SEA_ERROR_GET;
    op->owner = owner;
    op->finished = finished;
    op->counter_after = counter_place(opts, rank);
    bool in_order = ordered(opts);
    if (in_order) op->order = ordering::read;
    run_or_defer(op, [=](operation *o) { start_get(o, target, source, bytes, in_order); });
    return conclude(lock, op, opts, true);
}

int put_signal(sea_addr target, const void *source, std::size_t bytes, sea_addr word,
               const std::shared_ptr<put_counts> &counts)
{
    sea_opts opts = SEA_OPTS_INIT;
    opts.flags = SEA_NOWAIT;
    const place signal = place_of(word), at = bytes ? place_of(target) : signal;
    if (int s = check_transfer("a put of the library", at, source, bytes, &opts)) return s;
    return put_with_signal(at, source, bytes, {signal, 1, SEA_SIGNAL_ADD}, &opts, counts);
}

void hurry_to(int rank)
{
    const locked lock = enter();
    hurry(rank);
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

#undef sea_put
#undef sea_get

int sea_put(sea_addr target, const void *source, size_t bytes, const sea_opts *opts)
try {
    if (opts && (opts->flags & SEA_JOIN)) return join_put(target, source, bytes, opts);
    if (plain(opts)) {
        if (window_put(target, source, bytes) || quick_put(place_of(target), source, bytes, opts) == SEA_OK)
            return SEA_OK;
    } else if (tells_in_call(opts) && window_put(target, source, bytes)) {
        tell_ended(opts);
        return SEA_OK;
    }
    if (int s = check_started("sea_put")) return s;
    return core::put("sea_put", place_for(target, bytes, opts), source, bytes, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_put");
}

int sea_put_signal(sea_addr target, const void *source, size_t bytes, sea_addr signal, uint64_t value, int kind,
                   const sea_opts *opts)
try {
    if (int s = check_started("sea_put_signal")) return s;
    const place at = bytes ? place_of(target) : place_of(signal);
    if (int s = check_transfer("sea_put_signal", at, source, bytes, opts)) return s;
    if (kind != SEA_SIGNAL_SET && kind != SEA_SIGNAL_ADD)
        return fail(SEA_ERR_INVALID, "sea_put_signal: kind {} is neither SEA_SIGNAL_SET nor SEA_SIGNAL_ADD", kind);
    if (signal % 8) return fail(SEA_ERR_ALIGN, "sea_put_signal: the signal {:#x} is not aligned to 8 bytes", signal);
    if (bytes && rank_of(signal) != rank_of(target))
        return fail(SEA_ERR_INVALID, "sea_put_signal: the signal is on rank {}, the data on rank {}", rank_of(signal),
                    rank_of(target));
    const operation::signal behind{place_of(signal), value, kind};
    if (int s = check_range("sea_put_signal", behind.word, 8)) return s;
    if (may_end_in_call(opts) && behind.word.rank != engine().rank && signal_natively(at, source, bytes, behind)) {
        tell_ended(opts);
        return count(behind.word.rank, &pair_counts::puts, bytes, 0);
    }
    return put_with_signal(at, source, bytes, behind, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_put_signal");
}

int sea_get(void *target, sea_addr source, size_t bytes, const sea_opts *opts)
try {
    if (tells_in_call(opts) && window_get(target, source, bytes)) {
        tell_ended(opts);
        return SEA_OK;
    }
    if (int s = check_started("sea_get")) return s;
    return core::get("sea_get", target, place_for(source, bytes, opts), bytes, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_get");
}

namespace {

// The owner of the source is asked to put.
void start_remote_copy(operation *op, sea_addr target, sea_addr source, std::size_t bytes, place counter)
{
    const std::uint64_t wanted[3] = {target, bytes, counter.position};
    outgoing m;
    m.head.type = frame_type::copy;
    m.head.position = sea_addr_offset(source);
    m.payload = wanted;
    m.bytes = sizeof wanted;
    send_message(op, rank_of(source), m, ends_by::answer);
}

void start_copy(operation *op, sea_addr target, sea_addr source, std::size_t bytes, bool in_order, place counter)
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
        if (s != SEA_OK) return note_error(op, s, access_text(s, place_of(mine), bytes));
        if (segment) ++segment->users;
        op->holds = segment;
    } else if (transport *t = e.route(rank_of(source));
               t == e.shm.get() && e.route(rank_of(target)) == t && sea_addr_offset(source) < shm::segments_from) {
        if (!e.shm->heap_of(rank_of(source))->contains(sea_addr_offset(source), bytes))
            return note_error(op, SEA_ERR_ADDRESS, access_text(SEA_ERR_ADDRESS, place_of(source), bytes));
        own = e.shm->heap_memory(rank_of(source)) + sea_addr_offset(source);
        from_here = true;
    }
    if (from_here) {
        start_put(op, place_of(target), own, bytes, in_order);
        start_signals(op);
    } else if (to_here) {
        start_get(op, own, place_of(source), bytes, in_order);
        op->counter_after = counter;
    } else {
        start_remote_copy(op, target, source, bytes, counter);
    }
}

// In the line of the other rank; of two others, of the one that is written to.
void count_copy(int to, int from, std::uint64_t bytes)
{
    const int own = engine().rank;
    if (to == own && from != own)
        count(from, &pair_counts::copies, 0, bytes);
    else
        count(to, &pair_counts::copies, bytes, 0);
}

} // namespace

int sea_copy(sea_addr target, sea_addr source, size_t bytes, const sea_opts *opts)
try {
    if (int s = check_started("sea_copy")) return s;
    int rank = place_for(target, bytes, opts).rank, from = bytes ? rank_of(source) : rank;
    if (int s = check_opts(opts, rank)) return s;
    if (bytes)
        for (sea_addr a : {target, source})
            if (int s = check_range("sea_copy", place_of(a), bytes)) return s;
    locked lock = enter();
    if (int s = check_after(opts)) return s;
    bound_unfinished(lock, rank, opts);
    count_copy(rank, from, bytes);
    operation *op = begin(rank, opts);
    op->kind = SEA_ERROR_COPY;
    op->also = from;
    bool in_order = ordered(opts);
    if (in_order && from != engine().rank) op->order = ordering::apart;
    place counter = counter_place(opts, rank);
    signal_counter(op, opts);
    run_or_defer(op, [=](operation *o) { start_copy(o, target, source, bytes, in_order, counter); });
    return conclude(lock, op, opts, true);
} catch (const std::bad_alloc &) {
    return no_memory("sea_copy");
}
