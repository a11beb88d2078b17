// SPDX-License-Identifier: Apache-2.0
#include "core/extents.hpp"

namespace onesea::core {
namespace {

constexpr std::size_t most_known = 256;                          // per peer
constexpr std::uint64_t most_unasked = std::uint64_t(256) << 10; // bytes of a put to raw space that is open

// The question on its way: which operation waits for it, and the words of the answer.
struct question {
    std::uint64_t waiting;
    place target;
    std::uint64_t bytes;
    std::function<void(operation *)> go_on;
    std::uint64_t words[2] = {0, 0};
};

// Nothing else is there any more.
void remember(int rank, std::uint64_t first, std::uint64_t end)
{
    if (end <= first) return;
    auto &known = engine().peer_of(rank).extents;
    if (known.size() >= most_known) known.clear();
    auto old = known.lower_bound(first);
    if (old != known.begin() && std::prev(old)->second > first) --old;
    while (old != known.end() && old->first < end) old = known.erase(old);
    known[first] = end;
}

void answered(operation *asked)
{
    std::unique_ptr<question> q(static_cast<question *>(asked->context));
    const bool raw = q->target.raw();
    if (asked->status == SEA_OK && raw)
        engine().peer_of(asked->target).raw_open = true;
    else if (asked->status == SEA_OK)
        remember(asked->target, q->words[0], q->words[1]);
    operation *op = engine().operations.find(q->waiting);
    if (!op || op->state != operation::phase::active) return;
    --op->checks;
    if (asked->status != SEA_OK)
        note_error(op, asked->status, raw ? access_text(asked->status, q->target, q->bytes) : asked->error_text);
    else if (raw || extent_known(q->target, q->bytes))
        q->go_on(op);
    else
        note_error(op, SEA_ERR_ADDRESS, access_text(SEA_ERR_ADDRESS, q->target, q->bytes));
    start_signals(op);
    if (op->checks == 0) order_started(op);
    part_done(op, SEA_OK);
}

} // namespace

bool extent_known(place target, std::uint64_t bytes)
{
    peer &p = engine().peer_of(target.rank);
    if (target.raw()) return p.raw_open && bytes <= most_unasked;
    auto after = p.extents.upper_bound(target.position);
    if (after == p.extents.begin()) return false;
    std::uint64_t end = std::prev(after)->second;
    return target.position < end && bytes <= end - target.position;
}

void check_extent(operation *op, place target, std::uint64_t bytes, std::function<void(operation *)> go_on)
{
    ++op->checks;
    ++op->parts;
    op->local_at_end = true;
    operation *ask = begin(target.rank, nullptr);
    auto *q = new question{operation_table::id_of(op), target, bytes, std::move(go_on), {0, 0}};
    ask->context = q;
    ask->finished = answered;
    run_or_defer(ask, [q](operation *o) {
        o->local_at_end = true;
        o->memory = q->words;
        o->bytes = sizeof q->words;
        outgoing m;
        m.head.type = frame_type::extent;
        m.head.position = q->target.position;
        if (q->target.raw()) {
            m.payload = &q->bytes;
            m.bytes = sizeof q->bytes;
        }
        send_message(o, o->target, m, ends_by::answer);
    });
    let_go(ask);
}

void forget_extents(int rank)
{
    peer &p = engine().peer_of(rank);
    p.extents.clear();
    p.raw_open = false;
}

} // namespace onesea::core
