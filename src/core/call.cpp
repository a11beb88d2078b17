// SPDX-License-Identifier: Apache-2.0
// Calls: active messages of the layers above that are executed where they are received, as requests of core itself are,
// and whose answer is their end. So a call costs what a get costs: a request, an answer, and no handler that waits for
// others. The answer is cut where it is long; how long it is stands in every piece, so that they may come in any order.
#include "base/copy.hpp"
#include "core/transfer.hpp"

#include <new>

namespace onesea::core {
namespace {

constexpr unsigned offset_bits = 32;
constexpr std::uint64_t offset_mask = (std::uint64_t(1) << offset_bits) - 1;
static_assert(call_reply::most_bytes <= offset_mask);

// A long answer, kept until the transport no longer reads it.
struct kept_answer : delivery {
    std::vector<std::byte> bytes;
};

void answer_sent(delivery *d, int) { delete static_cast<kept_answer *>(d); }

void send_long(transport &t, int rank, outgoing &m, call_reply &reply)
{
    reply.tail.insert(reply.tail.begin(), reply.head, reply.head + reply.head_bytes);
    auto *kept = new kept_answer{{answer_sent}, std::move(reply.tail)};
    m.payload = kept->bytes.data();
    m.bytes = kept->bytes.size();
    m.borrow = true;
    m.done = kept;
    t.send(rank, m);
}

} // namespace

namespace {

void send_reply(transport *t, int source, std::uint64_t id, call_reply &reply)
{
    const std::size_t whole = reply.head_bytes + reply.tail.size();
    if (whole == 0 || whole > call_reply::most_bytes) return send_done(source, id, whole ? SEA_ERR_MEMORY : SEA_OK);
    outgoing m;
    m.head.type = frame_type::answer;
    m.head.position = std::uint64_t(whole) << offset_bits;
    m.head.id = id;
    if (!t->fits_frame(source, whole)) return send_long(*t, source, m, reply);
    m.prefix = reply.head;
    m.prefix_bytes = reply.head_bytes;
    m.payload = reply.tail.data();
    m.bytes = reply.tail.size();
    t->send(source, m);
}

} // namespace

void execute_call(int source, std::uint64_t id, call_fn fn, std::span<const std::byte> header,
                  std::span<const std::byte> data)
{
    call_reply reply;
    fn(source, header, data, reply);
    transport *t = engine().route(source);
    if (!t) return;
    try {
        send_reply(t, source, id, reply);
    } catch (const std::bad_alloc &) { // for a long answer
        send_done(source, id, SEA_ERR_MEMORY);
    }
}

namespace {

// For an answer of that size; the call ends if there is none.
bool make_room(operation *op, std::uint64_t whole)
{
    try {
        op->answer->resize(whole);
        return true;
    } catch (const std::bad_alloc &) {
        op->answer = nullptr;
        note_error(op, SEA_ERR_MEMORY, fmt::format("no memory for an answer of {} bytes", whole));
        complete(op, op->status);
        return false;
    }
}

} // namespace

void on_answer(int source, const frame &head, std::span<const std::byte> payload)
{
    operation *op = engine().operations.find(head.id);
    if (!op || op->state != operation::phase::active || !op->awaits_reply || op->target != source) return;
    const std::uint64_t whole = head.position >> offset_bits, offset = head.position & offset_mask;
    if (offset > whole || payload.size() > whole - offset || payload.size() > whole - op->reply_bytes) return;
    if (op->answer && op->answer->size() < whole && !make_room(op, whole)) return;
    if (op->answer) copy_bytes(op->answer->data() + offset, payload.data(), payload.size());
    op->reply_bytes += payload.size();
    if (op->reply_bytes == whole) part_done(op, SEA_OK);
}

int register_call(int id, call_fn fn)
{
    locked lock(engine().mutex);
    engine().handlers.table[std::size_t(id)] = {nullptr, nullptr, fn};
    return SEA_OK;
}

namespace {

// Who waits for the operation sees to it himself.
void ended_late(operation *op)
{
    if (!op->held) static_cast<late_end *>(const_cast<void *>(op->owner.get()))->ended(op->status);
}

// No answer comes to the caller any more, and no more data is asked for; what is being sent has its owner.
void give_up(operation *op, std::vector<std::byte> *answer, const std::shared_ptr<late_end> &late)
{
    op->answer = nullptr;
    op->memory = nullptr;
    op->bytes = 0;
    if (!late) return;
    late->answer = std::move(*answer); // some of it may have come
    late->owner = op->owner;
    op->answer = &late->answer;
    op->owner = late;
    op->finished = ended_late;
}

} // namespace

int call(int rank, int id, std::span<const std::byte> header, std::span<const std::byte> data,
         std::vector<std::byte> *answer, nanoseconds deadline, const std::shared_ptr<const void> &owner,
         const std::function<std::shared_ptr<late_end>()> &late)
{
    if (int s = engine().check_rank(rank)) return s;
    locked lock = enter();
    count(rank, &pair_counts::messages, header.size() + data.size(), 0);
    operation *op = begin(rank, nullptr);
    op->kind = SEA_ERROR_MESSAGE;
    op->finished = told_by_its_layer;
    op->answer = answer;
    op->owner = owner;
    run_or_defer(op, [&](operation *o) {
        start_message(o, {rank, id, header.data(), header.size(), data.data(), data.size()}, false, {});
    });
    int status = wait(
        lock, [op] { return op->state == operation::phase::done; }, deadline);
    if (op->state == operation::phase::done) {
        status = op->status;
        if (status != SEA_OK) set_error(status, op->error_text);
    } else {
        give_up(op, answer, late());
    }
    let_go(op);
    return status;
}

int fetch(const char *function, std::span<std::byte> to, sea_addr source, const std::shared_ptr<const void> &owner)
{
    return get(function, to.data(), place_of(source), to.size(), nullptr, owner, told_by_its_layer);
}

int fetch(const char *function, std::span<std::byte> to, sea_addr source, const std::shared_ptr<late_end> &late)
{
    return get(function, to.data(), place_of(source), to.size(), nullptr, late, ended_late);
}

heap_view heap_in_node(int rank)
{
    auto &e = engine();
    shm::heap *heap = e.shm->heap_of(rank);
    return heap ? heap_view{heap, e.shm->heap_memory(rank)} : heap_view{};
}

const void *readable_here(sea_addr address, std::size_t bytes)
{
    auto &e = engine();
    const std::uint64_t offset = sea_addr_offset(address);
    if (offset < shm::segments_from) {
        heap_view view = heap_in_node(rank_of(address));
        return view.heap && view.heap->contains(offset, bytes) ? view.memory + offset : nullptr;
    }
    if (rank_of(address) != e.rank) return nullptr;
    locked lock = enter();
    const shm::segment *s = e.shm->own_segments().find(offset, bytes);
    return s ? reinterpret_cast<const void *>(s->memory + (offset - s->offset)) : nullptr;
}

int own_rank() { return engine().rank; }
int check_rank(int rank) { return engine().check_rank(rank); }

} // namespace onesea::core
