// SPDX-License-Identifier: Apache-2.0
// SEA_ORDERED: what an operation waits for, before it starts, of earlier ones on its target. What is sent in order
// takes effect in order, so few of them wait, and those start in the order of their calls:
// - all behind one that is not wholly on its way: its start condition is open, an extent of its target is being asked
//   for, or other ranks carry it out (a copy that does not come from here: only its end tells that it took effect);
// - writes behind gets under way, whose answers the target sends from the memory itself;
// - a copy that other ranks carry out, behind everything.
#include "core/engine.hpp"

namespace onesea::core {
namespace {

bool earlier_ones_allow(const peer &p, const operation *op)
{
    switch (op->order) {
    case ordering::none:
    case ordering::read:
        return true;
    case ordering::write:
        return p.ordered_reads == 0;
    case ordering::apart:
        return p.ordered == p.in_order.size() + (op->in_line ? 0 : 1);
    }
    return true;
}

void let_next_start(peer &p)
{
    if (p.in_order.empty()) return;
    operation *next = engine().operations.at(p.in_order.front());
    if (next->state != operation::phase::deferred || next->after != SEA_OP_NONE || next->may_start) return;
    if (!earlier_ones_allow(p, next)) return;
    next->may_start = true;
    engine().startable.push_back(next->index);
}

void leave_line(peer &p, operation *op)
{
    std::size_t i = 0; // nearly always it is the first
    while (p.in_order[i] != op->index) ++i;
    p.in_order.erase(i);
    op->in_line = false;
}

} // namespace

void wait_in_line(operation *op)
{
    if (op->order == ordering::none || op->in_line) return;
    engine().peer_of(op->target).in_order.push_back(op->index);
    op->in_line = true;
}

bool line_stands(const peer &p)
{
    if (p.in_order.empty()) return false;
    const operation *first = engine().operations.at(p.in_order.front());
    return first->state == operation::phase::deferred && first->after != SEA_OP_NONE;
}

bool held_by_order(operation *op)
{
    if (op->order == ordering::none) return false;
    peer &p = engine().peer_of(op->target);
    const bool first = op->in_line ? p.in_order.front() == op->index : p.in_order.empty();
    if (first && earlier_ones_allow(p, op)) return false;
    wait_in_line(op);
    op->may_start = false;
    return true;
}

void order_started(operation *op)
{
    if (op->order == ordering::none || op->state == operation::phase::done) return;
    peer &p = engine().peer_of(op->target);
    if (op->order == ordering::read && op->answers > 0 && !op->counted_read) {
        op->counted_read = true;
        ++p.ordered_reads;
    }
    const bool others_wait = op->checks > 0 || op->order == ordering::apart;
    if (others_wait && !op->in_line) {
        p.in_order.push_front(op->index); // it has just been the first
        op->in_line = true;
    } else if (!others_wait && op->in_line) {
        leave_line(p, op);
        let_next_start(p);
    }
}

void order_ended(operation *op)
{
    if (op->order == ordering::none) return;
    peer &p = engine().peer_of(op->target);
    --p.ordered;
    if (op->counted_read) --p.ordered_reads;
    if (op->in_line) leave_line(p, op);
    let_next_start(p);
}

} // namespace onesea::core
