// SPDX-License-Identifier: Apache-2.0
#include "core/operation.hpp"

namespace onesea::core {

operation *operation_table::take(bool in_order)
{
    if (unused_.empty()) {
        if (unused_.capacity() <= all_.size())
            unused_.reserve(2 * all_.size() + 16); // so that release() needs no memory
        auto fresh = std::make_unique<operation>();
        fresh->signals.reserve(2); // the program's, and the target counter
        fresh->index = std::uint32_t(all_.size());
        all_.push_back(std::move(fresh));
        unused_.push_back(all_.back()->index);
    }
    operation *op = at(unused_.back());
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
    if (++op->generation == 0) {
        op->generation = 1;
        wrapped_ = true;
    }
    op->signals.clear();
    op->dependents.clear();
    if (!op->error_text.empty()) op->error_text = {};
    if (op->start) op->start = nullptr;
    if (op->owner) op->owner = nullptr;
    if (!op->copies.empty()) op->copies.clear();
    unused_.push_back(op->index);
}

operation *operation_table::find(std::uint64_t id, bool *known)
{
    const auto place = std::uint32_t(id) - 1, generation = std::uint32_t(id >> 32); // 0 becomes one beyond all
    operation *op = place < all_.size() ? at(place) : nullptr;
    const bool valid = op && generation >= 1 && (wrapped_ || generation <= op->generation);
    if (known) *known = valid;
    if (!valid) return nullptr;
    return op->generation == generation && op->state != operation::phase::free ? op : nullptr;
}

} // namespace onesea::core
