// SPDX-License-Identifier: Apache-2.0
// The queue of data.h: asking, and sleeping between two questions.
//
// A program that is told SEA_ERR_TIMEOUT pushes again, so that must mean: not done, and not done later either. Only the
// owner knows. So a question once asked is waited for as any other call is, whatever time the program gave for room or
// an element; where sea_set_timeout() ends that, the error is another one.
#include "base/error.hpp"
#include "core/internal.hpp"
#include "data/call.hpp"
#include "data/queue.hpp"
#include "onesea/data.h"

#include <algorithm>
#include <cmath>

namespace onesea::data {
namespace {

constexpr nanoseconds first_look = 5'000'000, longest_look = 100'000'000; // in case that a wake was lost
constexpr nanoseconds lock_time = 1'000'000'000, answer_time = 10'000'000'000;

struct queue_call {
    const char *function;
    sea_addr at;
    asking call(verb v, const queue_arguments &a) const
    {
        asking c{function, v, kind::queue};
        c.at = at;
        c.owner = sea_addr_rank(at);
        c.arguments = bytes_of(a);
        c.deadline = core::thread_deadline();
        return c;
    }

    // Asks until it is done, or the time has passed; sleeps in between.
    int ask_until_done(asking &c, queue_arguments &a, double seconds, queue_answer *r, const char *missing) const
    {
        if (std::isnan(seconds)) return fail(SEA_ERR_INVALID, "{}: the time is not a number", function);
        nanoseconds now = now_ns(), look = first_look;
        const nanoseconds deadline = deadline_after(seconds, now);
        c.result = room_of(*r);
        c.unanswered = SEA_ERR_LINK;
        a.rank = core::own_rank();
        while (true) {
            std::uint64_t seen = wakes();
            a.wait = now < deadline;
            c.deadline = std::max(deadline, now + lock_time);
            c.answer_deadline = std::max(core::thread_deadline(), now + answer_time);
            if (int s = ask(c)) return s;
            if (r->done) return SEA_OK;
            now = now_ns();
            if (now >= deadline) return fail(SEA_ERR_TIMEOUT, "{}: {} within {} s", function, missing, seconds);
            core::wait_until([](void *before) { return wakes() != *static_cast<std::uint64_t *>(before); }, &seen,
                             std::min(deadline, now + look));
            if (int s = core::check_rank(c.owner)) return s;
            look = std::min(2 * look, longest_look);
            now = now_ns();
        }
    }
};

queue_call on(const char *function, sea_queue queue) { return {function, queue.at}; }

int push(const queue_call &q, asking &c, queue_arguments &a, double seconds)
{
    queue_answer r;
    return q.ask_until_done(c, a, seconds, &r, "the queue has no room");
}

} // namespace
} // namespace onesea::data

using namespace onesea;
using namespace onesea::data;

int sea_queue_create(int owner, size_t limit, sea_queue *queue)
{
    const queue_call q{"sea_queue_create", SEA_NULL};
    if (int s = core::check_started(q.function)) return s;
    if (!queue) return fail(SEA_ERR_INVALID, "sea_queue_create: the output is null");
    if (int s = core::check_rank(owner)) return s;
    queue_arguments a;
    a.room = limit;
    queue_answer r;
    asking c = q.call(verb::queue_create, a);
    c.owner = owner;
    c.result = room_of(r);
    if (int s = ask(c)) return s;
    queue->at = r.handle;
    return SEA_OK;
}

int sea_queue_destroy(sea_queue queue)
{
    const queue_call q = on("sea_queue_destroy", queue);
    if (int s = check_handle(q.function, kind::queue, queue.at)) return s;
    const queue_arguments a;
    std::vector<std::byte> ranks;
    asking c = q.call(verb::queue_destroy, a);
    c.output = &ranks;
    if (int s = ask(c)) return s;
    for (std::size_t i = 0; i + 4 <= ranks.size(); i += 4) {
        std::uint32_t rank;
        std::memcpy(&rank, ranks.data() + i, sizeof rank);
        if (rank) wake(int(rank - 1));
    }
    return SEA_OK;
}

int sea_queue_size(sea_queue queue, size_t *elements, size_t *bytes)
{
    const queue_call q = on("sea_queue_size", queue);
    if (int s = check_handle(q.function, kind::queue, queue.at)) return s;
    const queue_arguments a;
    queue_answer r;
    asking c = q.call(verb::queue_size, a);
    c.result = room_of(r);
    if (int s = ask(c)) return s;
    if (elements) *elements = r.elements;
    if (bytes) *bytes = r.bytes;
    return SEA_OK;
}

int sea_queue_push(sea_queue queue, const void *data, size_t bytes, double seconds)
{
    const queue_call q = on("sea_queue_push", queue);
    if (int s = check_handle(q.function, kind::queue, queue.at)) return s;
    if (int s = check_data(q.function, data, bytes)) return s;
    queue_arguments a;
    asking c = q.call(verb::queue_push, a);
    c.data = {static_cast<const std::byte *>(data), bytes};
    return push(q, c, a, seconds);
}

int sea_queue_push_from(sea_queue queue, sea_addr source, size_t bytes, double seconds)
{
    const queue_call q = on("sea_queue_push_from", queue);
    if (int s = check_handle(q.function, kind::queue, queue.at)) return s;
    source_bytes from;
    if (int s = from.find(q.function, source, bytes, sea_addr_rank(queue.at))) return s;
    queue_arguments a;
    asking c = q.call(verb::queue_push, a);
    from.apply(c);
    return push(q, c, a, seconds);
}

int sea_queue_pop(sea_queue queue, void *out, size_t room, size_t *bytes, double seconds)
{
    const queue_call q = on("sea_queue_pop", queue);
    if (int s = check_handle(q.function, kind::queue, queue.at)) return s;
    if (room && !out) return fail(SEA_ERR_INVALID, "sea_queue_pop: room for {} bytes at a null pointer", room);
    queue_arguments a;
    a.room = room;
    queue_answer r;
    asking c = q.call(verb::queue_pop, a);
    c.room = out;
    c.room_bytes = room;
    if (int s = q.ask_until_done(c, a, seconds, &r, "the queue had no element")) return s;
    if (bytes) *bytes = r.bytes;
    return SEA_OK;
}
