// SPDX-License-Identifier: Apache-2.0
#include "core/operation.hpp"

namespace onesea::core {

operation *operation_table::take(bool in_order)
{
    if (unused_.empty()) {
        all_.emplace_back();
        all_.back().index = std::uint32_t(all_.size() - 1);
        unused_.push_back(all_.back().index);
    }
    operation *op = &all_[unused_.back()];
    unused_.pop_back();
    op->state = operation::phase::active;
    append(op, in_order);
    return op;
}

void operation_table::append(operation *op, bool in_order)
{
    chain &c = in_order ? in_order_ : others_;
    op->in_order = in_order;
    op->older = c.newest;
    op->newer = nullptr;
    (c.newest ? c.newest->newer : c.oldest) = op;
    c.newest = op;
}

void operation_table::finish_order(operation *op)
{
    chain &c = op->in_order ? in_order_ : others_;
    (op->older ? op->older->newer : c.oldest) = op->newer;
    (op->newer ? op->newer->older : c.newest) = op->older;
    op->older = op->newer = nullptr;
}

void operation_table::leave_order(operation *op)
{
    finish_order(op);
    append(op, false);
}

void operation_table::release(operation *op)
{
    static_cast<operation_state &>(*op) = {};
    if (++op->generation == 0) op->generation = 1;
    op->signals.clear();
    op->dependents.clear();
    if (!op->error_text.empty()) op->error_text = {};
    if (op->start) op->start = nullptr;
    unused_.push_back(op->index);
}

operation *operation_table::find(std::uint64_t id, bool *known)
{
    std::uint64_t place = id & 0xffffffffu;
    std::uint32_t generation = std::uint32_t(id >> 32);
    bool valid = place >= 1 && place <= all_.size() && generation >= 1 && generation <= all_[place - 1].generation;
    if (known) *known = valid;
    if (!valid) return nullptr;
    operation *op = &all_[place - 1];
    return op->generation == generation && op->state != operation::phase::free ? op : nullptr;
}

} // namespace onesea::core
