// SPDX-License-Identifier: Apache-2.0
// Active messages. What is eager travels with its data: in one frame, or between nodes in several of an `am`, which the
// target puts together (the only kind of frame that is larger than a datagram and not executed piece by piece). Longer
// data stays at the origin until the header handler has said where it goes; then the target pulls it straight there, or
// copies it from process to process inside a node.
// Every message is answered by `done` when its handlers have returned, but those of the library that nobody hears the
// end of (send_untold).
//
//   payload of am, am_long:  | u32 header bytes | u32 0 | u64 counter | header, padded to 8 | data, or u64 bytes |
//   behind the bytes, inside a node: | u64 address of the data in the origin's process |
//   counter: position of the target counter at the target, 0: none
#include "base/copy.hpp"
#include "core/node.hpp"
#include "core/transfer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <unistd.h>
#include <utility>

namespace onesea::core {
namespace {

struct message_head {
    std::uint32_t header_bytes;
    std::uint32_t zero;
    std::uint64_t counter;
};
static_assert(sizeof(message_head) == 16);

constexpr std::size_t pad(std::size_t n) { return (n + 7) / 8 * 8; }

// What a message begins with.
struct message_begin {
    alignas(8) std::byte bytes[sizeof(message_head) + SEA_AM_HEADER_MAX]; // a kilobyte: not cleared
    std::size_t length;

    message_begin(const void *header, std::size_t header_bytes, std::uint64_t counter)
        : length(sizeof(message_head) + pad(header_bytes))
    {
        const message_head head{std::uint32_t(header_bytes), 0, counter};
        std::memcpy(bytes, &head, sizeof head);
        if (header_bytes) std::memcpy(bytes + sizeof head, header, header_bytes);
        std::memset(bytes + sizeof head + header_bytes, 0, pad(header_bytes) - header_bytes);
    }

    std::unique_ptr<std::byte[]> with(const void *data, std::size_t data_bytes) const
    {
        auto all = std::make_unique_for_overwrite<std::byte[]>(length + data_bytes);
        std::memcpy(all.get(), bytes, length);
        copy_bytes(all.get() + length, data, data_bytes);
        return all;
    }
};

bool goes_in_frames(const transport *t) { return !(t->capabilities() & capability::native_put); }

} // namespace

void start_message(operation *op, const sending &s, bool ordered, place counter)
{
    transport *t = engine().route(s.rank);
    if (!t) return note_error(op, SEA_ERR_DEAD, fmt::format("rank {} has ended", s.rank));
    const message_begin begin(s.header, s.header_bytes, counter.position);
    outgoing m;
    m.prefix = begin.bytes;
    m.prefix_bytes = begin.length;
    const bool fits = t->fits_frame(s.rank, m.prefix_bytes + s.data_bytes);
    const bool eager = s.data_bytes == 0 || (s.data_bytes <= t->tuning(s.rank).eager && (fits || goes_in_frames(t)));
    const std::uint64_t bytes_and_place[2] = {s.data_bytes, reinterpret_cast<std::uint64_t>(s.data)};
    m.head.type = eager ? frame_type::am : frame_type::am_long;
    m.head.flags = ordered ? frame_flags::ordered : std::uint8_t(0);
    m.head.aux = std::uint16_t(s.id);
    m.payload = eager ? s.data : bytes_and_place;
    m.bytes = eager ? s.data_bytes : goes_in_frames(t) ? 8 : sizeof bytes_and_place;
    m.ordered = ordered;
    if (eager && !fits) { // it stays as long as the operation
        m.payload = op->copies.emplace_back(begin.with(s.data, s.data_bytes)).get();
        m.bytes += std::exchange(m.prefix_bytes, 0);
        m.borrow = true;
    }
    if (eager && op->at_leisure && s.id < SEA_AM_IDS) {
        m.head.flags |= frame_flags::at_leisure;
        m.at_leisure = op->lazy_answer = true;
        ++engine().peer_of(s.rank).lazy_answers;
    }
    op->local_at_end = !eager;
    op->memory = const_cast<void *>(s.data);
    op->bytes = s.data_bytes;
    send_message(op, s.rank, m, ends_by::answer);
}

// The layers above tell their own failures; a fence of the program must not tell them again.
void told_by_its_layer(operation *) {}

namespace {

int send(const sending &s, const sea_opts *opts)
{
    if (int status = check_opts(opts, s.rank)) return status;
    if (int status = engine().check_rank(s.rank)) return status;
    if (s.header_bytes > SEA_AM_HEADER_MAX)
        return fail(SEA_ERR_INVALID, "sea_am_send: the header has {} bytes; the most is {}", s.header_bytes,
                    SEA_AM_HEADER_MAX);
    if ((s.header_bytes && !s.header) || (s.data_bytes && !s.data))
        return fail(SEA_ERR_INVALID, "sea_am_send: header or data is null but has bytes");
    locked lock = enter();
    if (int status = check_after(opts)) return status;
    bound_unfinished(lock, s.rank, opts);
    count(s.rank, &pair_counts::messages, s.header_bytes + s.data_bytes, 0);
    const bool ordered = opts && (opts->flags & SEA_ORDERED),
               at_once = !ordered && (!opts || opts->after == SEA_OP_NONE);
    std::vector<std::byte> header; // copied at once for later
    if (!at_once && s.header_bytes > 0)
        header.assign(static_cast<const std::byte *>(s.header),
                      static_cast<const std::byte *>(s.header) + s.header_bytes);
    operation *op = begin(s.rank, opts, true);
    op->kind = SEA_ERROR_MESSAGE;
    if (s.id >= SEA_AM_IDS) op->finished = told_by_its_layer;
    const place counter = counter_place(opts, s.rank);
    if (at_once) {
        run_or_defer(op, [&](operation *o) { start_message(o, s, ordered, counter); });
    } else {
        run_or_defer(op, [=, copy = std::move(header), later = s](operation *o) mutable {
            later.header = copy.data();
            start_message(o, later, ordered, counter);
        });
    }
    return conclude(lock, op, opts, false);
}

// The handlers have returned: the origin hears it, the target counter counts.
void answer(const handler_task &task, int status)
{
    auto &e = engine();
    message_head head;
    std::memcpy(&head, task.bytes.data(), sizeof head);
    std::uint64_t old;
    if (status == SEA_OK && head.counter) status = own_update(head.counter, SEA_ATOMIC_ADD, 8, 1, 0, &old);
    if (task.pulls && task.ordered) e.handlers.resume(task.source);
    if (task.untold) return;
    const transport *t = task.at_leisure && status == SEA_OK ? e.route(task.source) : nullptr;
    send_done(task.source, task.id, status, 0, t && t->asked(task.source) == task.asked);
}

// The data of a call is here: it runs now.
void run_pulled_call(call_fn fn, const handler_task &task)
{
    auto *data = static_cast<std::byte *>(task.buffer);
    if (task.status == SEA_OK)
        execute_call(task.source, task.id, fn, {task.bytes.data() + sizeof(message_head), task.header_bytes},
                     {data, task.data_bytes});
    else
        send_done(task.source, task.id, task.status);
    delete[] data;
}

void pulled(operation *op)
{
    std::unique_ptr<handler_task> task(static_cast<handler_task *>(op->context));
    task->status = op->status;
    if (call_fn fn = engine().handlers.table[task->number].call) return run_pulled_call(fn, *task);
    engine().handlers.push(std::move(*task));
}

void pull(handler_task &&task)
{
    auto &e = engine();
    if (!e.route(task.source)) { // its data comes no more; what it holds back goes on
        task.status = SEA_ERR_DEAD;
        return e.handlers.push(std::move(task));
    }
    operation *op = begin(task.source, nullptr);
    op->finished = pulled;
    op->context = new handler_task(std::move(task));
    auto *kept = static_cast<handler_task *>(op->context);
    run_or_defer(op, [kept](operation *o) {
        o->local_at_end = true;
        o->memory = kept->buffer;
        o->bytes = o->reply_bytes = kept->data_bytes;
        o->answers = 1;
        const std::uint64_t wanted[2] = {o->bytes, reinterpret_cast<std::uint64_t>(o->memory)};
        outgoing m;
        m.head.type = frame_type::pull;
        m.head.position = kept->id;
        m.payload = wanted;
        m.bytes = sizeof wanted;
        engine().answer_follows(o);
        send_message(o, o->target, m, ends_by::answer);
    });
    let_go(op);
}

// Runs functions of the program, without the lock. What one throws ends the process (std::terminate), in whichever
// thread it runs: no caller is prepared for it, and the origin would never get its answer. A process that was forked
// there and comes back ends, too: it would go on as the rank, which it is not.
template <class Function>
void outside(locked &lock, Function run) noexcept
{
    lock.unlock();
    run();
    if (engine().state.load(std::memory_order_relaxed) == role::forked) _exit(0);
    lock.lock();
}

// Gives the place for the data. What came along with the message is there before it completes.
void *run_message_handlers(const handler_queue::entry &handler, handler_task &task)
{
    const std::byte *header = task.bytes.data() + sizeof(message_head);
    const sea_am message{task.source, header, task.header_bytes, task.data_bytes, handler.context};
    void *place = handler.fn(&message, &task.complete, &task.argument);
    if (place && task.pulls) return place;
    if (place && task.data_bytes) copy_bytes(place, header + pad(task.header_bytes), task.data_bytes);
    if (task.complete) task.complete(task.source, place, task.data_bytes, task.argument);
    return place;
}

void run_completion(locked &lock, handler_task &task)
{
    if (task.complete && task.status == SEA_OK)
        outside(lock, [&] { task.complete(task.source, task.buffer, task.data_bytes, task.argument); });
    answer(task, task.status);
}

int copy_from_origin(unsigned slot, const handler_task &task, std::size_t from, std::size_t bytes)
{
    auto *to = static_cast<std::byte *>(task.buffer) + from;
    const std::byte *mapped = mapped_here(slot, task.data_at + from, bytes);
    if (!mapped) return copy_from_process(slot, task.data_at + from, to, bytes);
    copy_bytes(to, mapped, bytes);
    return SEA_OK;
}

// The data of a message from a rank of the node, piece by piece, between which others may have the lock. False: that is
// no way here, and nothing has been done.
bool fetch_inside_node(locked &lock, handler_task &task)
{
    constexpr std::size_t piece = 256 * 1024;
    const unsigned slot = task.data_at ? slot_of(task.source) : shm::no_slot;
    if (slot == shm::no_slot) return false;
    for (std::size_t done = 0; done < task.data_bytes && task.status == SEA_OK;) {
        if (done) breathe(lock, false);
        // Once its end is told the buffer may be somebody else's.
        const std::size_t bytes = std::min(piece, task.data_bytes - done);
        const int s = engine().route(task.source) ? copy_from_origin(slot, task, done, bytes) : SEA_ERR_DEAD;
        if (s == not_native && done == 0) return false;
        task.status = s == not_native ? SEA_ERR_ACCESS : s;
        done += bytes;
    }
    return true;
}

void run_message(locked &lock, handler_task &task)
{
    auto &e = engine();
    handler_queue::entry handler = e.handlers.table[task.number];
    if (!handler.fn) return answer(task, SEA_ERR_HANDLER);
    if (task.pulls && task.ordered) e.handlers.stall(task.source);
    outside(lock, [&] { task.buffer = run_message_handlers(handler, task); });
    if (!task.pulls || !task.buffer) return answer(task, SEA_OK);
    if (fetch_inside_node(lock, task)) return run_completion(lock, task);
    task.what = handler_task::kind::completion;
    pull(std::move(task));
}

// Fetches the data of a call, if there is room for it.
void pull_for_call(handler_task &&task)
{
    auto &e = engine();
    const std::uint64_t most = e.shm->own_heap().capacity();
    task.buffer = task.data_bytes <= most ? new (std::nothrow) std::byte[task.data_bytes] : nullptr;
    if (!task.buffer || !e.route(task.source)) {
        delete[] static_cast<std::byte *>(task.buffer);
        return send_done(task.source, task.id, SEA_ERR_MEMORY);
    }
    pull(std::move(task));
}

// Calls the program's function, if there is one, without the lock.
template <class Function, class... Arguments>
void tell(locked &lock, Function fn, Arguments... arguments)
{
    if (fn) outside(lock, [&] { fn(arguments...); });
}

} // namespace

void run_handler(locked &lock, handler_task &task)
{
    switch (task.what) {
    case handler_task::kind::message:
        return run_message(lock, task);
    case handler_task::kind::completion:
        return run_completion(lock, task);
    case handler_task::kind::death:
        return tell(lock, engine().on_death, task.source, task.status, engine().on_death_context);
    case handler_task::kind::error:
        return tell(lock, engine().on_error, task.source, task.status, int(task.number), engine().on_error_context);
    }
}

void message_in_frames::take(std::size_t position, std::span<const std::byte> frame, bool last)
{
    constexpr std::size_t least = 32 * 1024;
    const std::size_t end = position + frame.size();
    if (end > room_) {
        room_ = std::max(least, std::bit_ceil(end));
        auto larger = std::make_unique_for_overwrite<std::byte[]>(room_);
        if (end_ > 0) copy_bytes(larger.get(), bytes_.get(), end_);
        bytes_ = std::move(larger);
    }
    // What frames that lie over each other leave open shall not be what this process had in that memory before.
    if (position > end_) std::memset(bytes_.get() + end_, 0, position - end_);
    copy_bytes(bytes_.get() + position, frame.data(), frame.size());
    end_ = std::max(end_, end);
    come_ += frame.size();
    if (last) length_ = end;
}

namespace {

// A frame of a message that has several: true if it was the last one missing, and *all has them all.
bool put_together(int source, const frame &head, std::span<const std::byte> payload, message_in_frames *all)
{
    constexpr std::size_t most = 256 * 1024; // of what makes sense
    if (payload.empty() || head.position > most || payload.size() > most) return false;
    auto &some = engine().in_frames;
    const auto place = some.try_emplace({source, head.id}).first;
    place->second.take(std::size_t(head.position), payload, head.flags & frame_flags::last);
    if (!place->second.whole()) return false;
    *all = std::move(place->second);
    some.erase(place);
    return true;
}

} // namespace

void receive_message(int source, const frame &head, std::span<const std::byte> payload)
{
    message_in_frames all;
    if (head.type == frame_type::am && (head.position > 0 || !(head.flags & frame_flags::last))) {
        if (!put_together(source, head, payload, &all)) return;
        payload = all.bytes();
    }
    message_head sizes{};
    if (payload.size() >= sizeof sizes) std::memcpy(&sizes, payload.data(), sizeof sizes);
    std::size_t body = sizeof sizes + pad(sizes.header_bytes);
    bool is_long = head.type == frame_type::am_long;
    const std::size_t behind = slot_of(source) == shm::no_slot ? 8 : 16; // of a long one
    if (payload.size() < sizeof sizes || sizes.header_bytes > SEA_AM_HEADER_MAX || payload.size() < body ||
        head.aux >= am_id_end || (is_long && payload.size() != body + behind))
        return send_done(source, head.id, SEA_ERR_INTERNAL);
    const auto header = payload.subspan(sizeof sizes, sizes.header_bytes);
    const call_fn call = engine().handlers.table[head.aux].call;
    if (call && !is_long) return execute_call(source, head.id, call, header, payload.subspan(body));
    const bool untold = head.flags & frame_flags::untold;
    if (untold && !is_long && head.aux >= SEA_AM_IDS) {
        const arrival_fn fn = engine().handlers.at_arrival[head.aux - SEA_AM_IDS];
        if (fn && fn(source, header, payload.subspan(body))) return;
    }
    handler_task task;
    task.source = source;
    task.number = head.aux;
    task.id = head.id;
    task.ordered = head.flags & frame_flags::ordered;
    task.untold = untold;
    task.at_leisure = head.flags & frame_flags::at_leisure;
    if (const transport *t = task.at_leisure ? engine().route(source) : nullptr) task.asked = t->asked(source);
    task.pulls = is_long;
    task.header_bytes = sizes.header_bytes;
    task.data_bytes = payload.size() - body;
    if (is_long) std::memcpy(&task.data_bytes, payload.data() + body, 8);
    if (is_long && behind > 8) std::memcpy(&task.data_at, payload.data() + body + 8, 8);
    task.bytes.assign(payload.begin(), payload.end());
    if (call) return pull_for_call(std::move(task));
    engine().handlers.push(std::move(task));
}

int register_internal_am(int id, sea_am_header_fn fn, void *context)
{
    locked lock(engine().mutex);
    engine().handlers.table[std::size_t(id)] = {fn, context, nullptr};
    return SEA_OK;
}

void register_am_beside(int id, sea_am_header_fn fn, void *context)
{
    locked lock(engine().mutex);
    engine().handlers.table[std::size_t(id)] = {fn, context, nullptr, true};
}

void set_arrival_function(int id, arrival_fn fn) { engine().handlers.at_arrival[std::size_t(id - SEA_AM_IDS)] = fn; }

int send_internal_am(int rank, int id, const void *header, std::size_t header_bytes, const void *data,
                     std::size_t data_bytes, const sea_opts *opts)
{
    if (int s = check_started("send_internal_am")) return s;
    return send({rank, id, header, header_bytes, data, data_bytes}, opts);
}

namespace {

// What does not fit a frame: it stays until all of it has been taken in.
struct kept_message : delivery {
    std::unique_ptr<std::byte[]> bytes;

    kept_message(const message_begin &begin, const void *data, std::size_t data_bytes)
        : delivery{[](delivery *d, int) { delete static_cast<kept_message *>(d); }}, bytes(begin.with(data, data_bytes))
    {
    }
};

} // namespace

int send_untold(int rank, int id, const void *header, std::size_t header_bytes, const void *data,
                std::size_t data_bytes)
{
    if (int s = check_started("send_untold")) return s;
    const message_begin begin(header, header_bytes, 0);
    outgoing m;
    m.head.type = frame_type::am;
    m.head.flags = frame_flags::untold;
    m.head.aux = std::uint16_t(id);
    m.at_leisure = true;
    locked lock = enter();
    transport *t = engine().route(rank);
    if (!t) return fail(SEA_ERR_DEAD, "rank {} has ended", rank);
    if (t->fits_frame(rank, begin.length + data_bytes)) {
        m.prefix = begin.bytes;
        m.prefix_bytes = begin.length;
        m.payload = data;
        m.bytes = data_bytes;
    } else {
        auto *kept = new kept_message(begin, data, data_bytes);
        m.head.id = ++engine().messages_in_frames;
        m.payload = kept->bytes.get();
        m.bytes = begin.length + data_bytes;
        m.borrow = true;
        m.done = kept;
    }
    count(rank, &pair_counts::messages, header_bytes + data_bytes, 0);
    t->send(rank, m);
    started();
    return SEA_OK;
}

// Copied twice it is there sooner than after the three ways of a long message. Inside a node ways are short.
std::size_t most_untold(int rank, std::size_t header_bytes)
{
    constexpr std::size_t copied = 120 * 1024, copied_in_node = 8192;
    const transport *t = engine().route(rank);
    if (!t) return 0;
    if (goes_in_frames(t)) return copied;
    return std::min(t->max_frame(rank) - sizeof(message_head) - pad(header_bytes), copied_in_node);
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_am_register(int id, sea_am_header_fn fn, void *context)
{
    if (int s = check_started("sea_am_register")) return s;
    if (id < 0 || id >= SEA_AM_IDS)
        return fail(SEA_ERR_INVALID, "sea_am_register: number {} is not in 0..{}", id, SEA_AM_IDS - 1);
    return register_internal_am(id, fn, context);
}

int sea_am_send(int rank, int id, const void *header, size_t header_bytes, const void *data, size_t data_bytes,
                const sea_opts *opts)
try {
    if (int s = check_started("sea_am_send")) return s;
    if (id < 0 || id >= SEA_AM_IDS)
        return fail(SEA_ERR_INVALID, "sea_am_send: number {} is not in 0..{}", id, SEA_AM_IDS - 1);
    return core::send({rank, id, header, header_bytes, data, data_bytes}, opts);
} catch (const std::bad_alloc &) {
    return no_memory("sea_am_send");
}
