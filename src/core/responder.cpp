// SPDX-License-Identifier: Apache-2.0
// What peers ask of this rank, and their answers to what it asked. Called by the transports, under the lock, once for
// every frame. Nothing here trusts a frame's numbers: offsets are resolved, handles looked up, lengths compared.
//
// Errors of puts, signals and plain atomics travel as `done` frames marked as notices: the transport guarantees that
// the origin has such a frame before it takes the request for executed.
#include "base/copy.hpp"
#include "base/log.hpp"
#include "base/told_order.hpp"
#include "base/wide_copy.hpp"
#include "core/engine.hpp"
#include "core/extents.hpp"
#include "core/transfer.hpp"
#include "shm/native.hpp"

#include <cstring>
#include <utility>

namespace onesea::core {
namespace {

constexpr std::size_t copied_answer = 1024; // bytes; longer ones are sent from where they are
static_assert(copied_answer <= transport::least_frame);
constexpr std::size_t worth_a_packet = 96 * 1024; // shorter answers had better share packets than land

// Keeps registered memory, or the buffer of an active message, in use until the transport no longer reads it.
struct data_hold : delivery {
    shm::segment *segment;
    operation *of;
};

void data_sent(delivery *d, int status)
{
    auto *hold = static_cast<data_hold *>(d);
    if (hold->segment) --hold->segment->users;
    if (hold->of) {
        --hold->of->deliveries;
        if (hold->of->state == operation::phase::done)
            maybe_release(hold->of);
        else
            part_done(hold->of, status);
    }
    delete hold;
}

template <std::size_t Words>
bool read_words(std::span<const std::byte> payload, std::uint64_t (&words)[Words])
{
    if (payload.size() != sizeof words) return false;
    std::memcpy(words, payload.data(), sizeof words);
    return true;
}

void on_put(int source, const frame &head, std::span<const std::byte> payload)
{
    auto &e = engine();
    if ((head.position & raw_space) && e.raw && in_raw_space(head.position, payload.size()) &&
        !own_heap_place(head.position, payload.size()))
        return e.raw->gather(source, head, payload);
    if (e.raw) e.raw->finish_gathered();
    int s = own_write(head.position, payload.data(), payload.size(), passes_caches(head.aux));
    if (s != SEA_OK) refuse(source, head, s);
}

void on_raw_get(int source, const frame &head, std::uint64_t bytes, std::uint64_t cookie)
{
    auto &e = engine();
    if (std::byte *memory = own_heap_place(head.position, bytes))
        return send_data(source, head.id, cookie, memory, bytes, nullptr, nullptr);
    std::byte copy[copied_answer];
    if (in_raw_space(head.position, bytes) && e.raw && bytes > sizeof copy)
        return e.raw->answer(source, head.id, cookie, head.position, bytes);
    int s = bytes <= sizeof copy ? own_read(copy, head.position, bytes) : SEA_ERR_ACCESS;
    if (s != SEA_OK) return send_done(source, head.id, s, head.position);
    send_data(source, head.id, cookie, copy, bytes, nullptr, nullptr);
}

void on_get(int source, const frame &head, std::span<const std::byte> payload)
{
    std::uint64_t wanted[2];
    if (!read_words(payload, wanted)) return send_done(source, head.id, SEA_ERR_INTERNAL, head.position);
    if (head.position & raw_space) return on_raw_get(source, head, wanted[0], wanted[1]);
    void *memory = nullptr;
    shm::segment *segment = nullptr;
    int s = engine().resolve(head.position, wanted[0], false, &memory, &segment);
    if (s != SEA_OK) return send_done(source, head.id, s, head.position);
    send_data(source, head.id, wanted[1], memory, wanted[0], segment, nullptr);
}

void on_pull(int source, const frame &head, std::span<const std::byte> payload)
{
    std::uint64_t wanted[2];
    operation *op = engine().operations.find(head.position);
    if (!read_words(payload, wanted) || !op || op->state != operation::phase::active || op->target != source ||
        (op->external ? op->bytes < wanted[0] : op->bytes != wanted[0]))
        return send_done(source, head.id, SEA_ERR_HANDLE, head.position);
    ++op->parts;
    ++op->deliveries;
    send_data(source, head.id, wanted[1], op->memory, wanted[0], nullptr, op);
}

// All answers of a get of several pieces end together.
void end_answers(operation *op)
{
    std::uint32_t n = std::exchange(op->answers, 0);
    op->parts -= n - 1;
    part_done(op, SEA_OK);
}

// Answers to get and pull.
void on_data(const frame &head, std::span<const std::byte> payload)
{
    operation *op = engine().operations.find(head.id);
    if (!op || op->state != operation::phase::active || !op->awaits_reply || op->answers == 0) return;
    auto low = reinterpret_cast<std::uint64_t>(op->memory);
    std::uint64_t into = head.position - low;
    if (into > op->bytes || payload.size() > op->bytes - into || payload.size() > op->reply_bytes) return;
    auto *to = reinterpret_cast<std::byte *>(head.position);
    if (!payload.empty() && payload.data() != to) { // it has not landed there
        if (passes_caches(head.aux))
            copy_past_caches(to, payload.data(), payload.size());
        else
            copy_bytes(to, payload.data(), payload.size());
    }
    op->reply_bytes -= payload.size();
    if (into == op->without_gap) op->without_gap += payload.size();
    if (op->reply_bytes >= sink::expectation::least) engine().being_answered = head.id;
    if (op->reply_bytes == 0) end_answers(op);
}

int update_word(const frame &head, std::span<const std::byte> payload, std::uint64_t *old)
{
    std::uint64_t words[2];
    unsigned kind = head.aux & 0xffu, width = (head.aux >> 8) & 0x7fu;
    if (!read_words(payload, words) || kind > SEA_ATOMIC_XOR || (width != 4 && width != 8)) return SEA_ERR_INTERNAL;
    return own_update(head.position, sea_atomic_kind(kind), int(width), words[0], words[1], old);
}

void send_value(int rank, std::uint64_t id, const void *words, std::size_t bytes)
{
    outgoing m;
    m.head.type = frame_type::value;
    m.head.id = id;
    m.payload = words;
    m.bytes = bytes;
    if (transport *t = engine().route(rank)) t->send(rank, m);
}

void on_atomic(int source, const frame &head, std::span<const std::byte> payload)
{
    std::uint64_t old = 0;
    int s = update_word(head, payload, &old);
    if (s != SEA_OK)
        refuse(source, head, s);
    else if (head.aux & 0x8000u)
        send_value(source, head.id, &old, sizeof old);
}

void on_value(const frame &head, std::span<const std::byte> payload)
{
    operation *op = engine().operations.find(head.id);
    if (!op || op->state != operation::phase::active || !op->awaits_reply) return;
    if (op->memory) copy_bytes(op->memory, payload.data(), std::min(op->bytes, payload.size()));
    part_done(op, SEA_OK);
}

void on_signal(int source, const frame &head, std::span<const std::byte> payload)
{
    if (auto r = engine().refused.find({source, head.id}); r != engine().refused.end()) {
        if (!(head.flags & frame_flags::signals)) engine().refused.erase(r);
        return;
    }
    if (head.position == no_signal) return;
    std::uint64_t value[1], old;
    const auto kind = head.aux == SEA_SIGNAL_ADD ? SEA_ATOMIC_ADD : SEA_ATOMIC_SWAP;
    int s = read_words(payload, value) ? own_update(head.position, kind, 8, value[0], 0, &old) : SEA_ERR_INTERNAL;
    if (s != SEA_OK) refuse(source, head, s);
}

void on_done(int source, const frame &head)
{
    int status = std::int16_t(head.aux);
    const place refused{source, head.position};
    if (status == SEA_ERR_ACCESS && refused.raw()) forget_extents(source);
    if (head.id == quick_id) return quick_refused(refused, status);
    operation *op = engine().operations.find(head.id);
    if (!op || op->state != operation::phase::active) return;
    if (status == SEA_ERR_ADDRESS) forget_extents(source);
    if (status == SEA_OK) return part_done(op, SEA_OK);
    note_error(op, status, fmt::format("rank {} refused {}: {}", source, position_text(refused), sea_strerror(status)));
    if (op->awaits_reply) complete(op, op->status);
}

// A copy on behalf of another rank: its end is reported to who asked.
void report_copy(operation *op)
{
    if (op->memory) --static_cast<shm::segment *>(op->memory)->users;
    send_done(int(std::intptr_t(op->context)), op->context_id, op->status);
}

void on_copy(int source, const frame &head, std::span<const std::byte> payload)
{
    auto &e = engine();
    std::uint64_t wanted[3];
    if (!read_words(payload, wanted)) return send_done(source, head.id, SEA_ERR_INTERNAL, head.position);
    const place target = place_of(wanted[0]), counter{target.rank, wanted[2]};
    std::size_t bytes = wanted[1];
    void *memory = nullptr;
    shm::segment *segment = nullptr;
    int s = e.resolve(head.position, bytes, false, &memory, &segment);
    if (s == SEA_OK && !e.route(target.rank)) s = SEA_ERR_DEAD;
    if (s == SEA_OK && counter.position % 8) s = SEA_ERR_ALIGN;
    if (s != SEA_OK) return send_done(source, head.id, s, head.position);
    operation *op = begin(target.rank, nullptr);
    op->context = reinterpret_cast<void *>(std::intptr_t(source));
    op->context_id = head.id;
    op->finished = report_copy;
    op->memory = segment;
    if (segment) ++segment->users;
    if (counter) op->signals.push_back({counter, 1, SEA_SIGNAL_ADD});
    run_or_defer(op, [=](operation *o) {
        start_put(o, target, memory, bytes, false);
        start_signals(o);
    });
    let_go(op);
}

void on_alloc(int source, const frame &head, std::span<const std::byte> payload)
{
    auto &e = engine();
    std::uint64_t bytes[1], offset = 0;
    shm::heap &heap = e.shm->own_heap();
    if (!read_words(payload, bytes) || !(offset = heap.allocate(bytes[0])))
        return send_done(source, head.id, SEA_ERR_MEMORY, heap.largest_free());
    send_value(source, head.id, &offset, sizeof offset);
}

void on_extent(int source, const frame &head, std::span<const std::byte> payload)
{
    auto &e = engine();
    std::uint64_t words[2] = {0, 0}, bytes[1];
    if (head.position & raw_space) {
        int s = read_words(payload, bytes) && in_raw_space(head.position, bytes[0])
                    ? own_writable(head.position, bytes[0])
                    : SEA_ERR_ADDRESS;
        if (s != SEA_OK) return send_done(source, head.id, s, head.position);
        words[0] = head.position;
        words[1] = head.position + bytes[0];
        return send_value(source, head.id, words, sizeof words);
    }
    if (shm::segment *s = e.shm->own_segments().find(head.position, 1)) {
        if (s->flags & SEA_READ_ONLY) return send_done(source, head.id, SEA_ERR_ACCESS, head.position);
        words[0] = s->offset;
        words[1] = s->offset + s->bytes;
    } else if (head.position < shm::segments_from) {
        e.shm->own_heap().extent(head.position, &words[0], &words[1]);
    }
    send_value(source, head.id, words, sizeof words);
}

void on_usage(int source, const frame &head)
{
    auto &e = engine();
    shm::heap &heap = e.shm->own_heap();
    const std::uint64_t words[3] = {heap.capacity(), heap.used(), heap.largest_free()};
    send_value(source, head.id, words, sizeof words);
}

} // namespace

void refuse(int source, const frame &head, int status)
{
    if (head.flags & frame_flags::signals) engine().refused.insert({source, head.id});
    send_done(source, head.id, status, head.position);
}

void send_done(int rank, std::uint64_t id, int status, std::uint64_t offset, bool lazy)
{
    outgoing m;
    m.head.type = frame_type::done;
    m.head.aux = std::uint16_t(std::int16_t(status));
    m.head.position = offset;
    m.head.id = id;
    m.notice = status != SEA_OK;
    m.lazy = lazy;
    if (transport *t = engine().route(rank)) t->send(rank, m);
}

void send_data(int rank, std::uint64_t id, std::uint64_t cookie, const void *memory, std::uint64_t bytes,
               shm::segment *segment, operation *of)
{
    transport *t = engine().route(rank);
    outgoing m;
    m.head.type = frame_type::data;
    m.head.aux = transfer_scale(bytes);
    m.head.position = cookie;
    m.head.id = id;
    m.payload = memory;
    m.bytes = bytes;
    m.borrow = t && bytes > copied_answer;
    m.awaited = true;
    m.lands = bytes >= worth_a_packet;
    std::uint64_t word;
    if (bytes == 4 || bytes == 8) { // words may be updated at this moment: they are read at once
        shm::copy_plain(&word, memory, bytes);
        m.payload = &word;
    }
    if (of || (m.borrow && segment)) {
        if (segment) ++segment->users;
        m.done = new data_hold{{data_sent}, segment, of};
    }
    if (t)
        t->send(rank, m);
    else if (m.done)
        m.done->settled(m.done, SEA_ERR_DEAD);
}

int engine_state::resolve(std::uint64_t offset, std::uint64_t bytes, bool write, void **memory, shm::segment **segment)
{
    if (offset < shm::segments_from) {
        if (!shm->own_heap().contains(offset, bytes)) return SEA_ERR_ADDRESS;
        *memory = shm->own_heap_memory() + offset;
        return SEA_OK;
    }
    shm::segment *s = shm->own_segments().find(offset, bytes);
    if (!s) return SEA_ERR_ADDRESS;
    if (write && (s->flags & SEA_READ_ONLY)) return SEA_ERR_ACCESS;
    *memory = reinterpret_cast<void *>(s->memory + (offset - s->offset));
    *segment = s;
    return SEA_OK;
}

// That of an earlier one comes first. A get may be refused, and has written nothing then: of that the first piece is
// not expected.
void engine_state::answer_follows(operation *op)
{
    op->lands = true;
    if (op->bytes >= expectation::least && being_answered == 0) being_answered = operation_table::id_of(op);
}

// Behind a gap some may have come.
bool engine_state::expects(expectation *next)
{
    if (being_answered == 0) return false;
    const operation *op = operations.find(being_answered);
    const bool goes_on = op && op->state == operation::phase::active && op->awaits_reply && op->lands &&
                         op->answers == 1 && op->reply_bytes >= expectation::least;
    if (!goes_on || op->without_gap != op->bytes - op->reply_bytes) {
        being_answered = 0;
        return false;
    }
    next->source = op->target;
    next->to = static_cast<std::byte *>(op->memory) + (op->bytes - op->reply_bytes);
    next->bytes = op->reply_bytes;
    next->head.type = frame_type::data;
    next->head.id = being_answered;
    next->head.position = reinterpret_cast<std::uint64_t>(next->to);
    return true;
}

void engine_state::about_to_acknowledge()
{
    if (raw) raw->finish_gathered();
}

void engine_state::receive(int source, const frame &head, std::span<const std::byte> payload)
{
    another_process_told();
    if (raw && head.type != frame_type::put) raw->finish_gathered();
    switch (head.type) {
    case frame_type::put:
        return on_put(source, head, payload);
    case frame_type::get:
        return on_get(source, head, payload);
    case frame_type::pull:
        return on_pull(source, head, payload);
    case frame_type::data:
        return on_data(head, payload);
    case frame_type::atomic:
        return on_atomic(source, head, payload);
    case frame_type::value:
        return on_value(head, payload);
    case frame_type::signal:
        return on_signal(source, head, payload);
    case frame_type::am:
    case frame_type::am_long:
        return receive_message(source, head, payload);
    case frame_type::copy:
        return on_copy(source, head, payload);
    case frame_type::done:
        return on_done(source, head);
    case frame_type::alloc:
        return on_alloc(source, head, payload);
    case frame_type::free_heap:
        return send_done(source, head.id, shm->own_heap().release(head.position) ? SEA_OK : SEA_ERR_ADDRESS,
                         head.position);
    case frame_type::extent:
        return on_extent(source, head, payload);
    case frame_type::usage:
        return on_usage(source, head);
    case frame_type::upper:
        return receive_upper(source, head, payload);
    case frame_type::answer:
        return on_answer(source, head, payload);
    }
    log(level::warn, "rank {} sent a frame of unknown type {}", source, unsigned(head.type));
}

} // namespace onesea::core
