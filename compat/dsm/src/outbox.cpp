// SPDX-License-Identifier: Apache-2.0
#include "outbox.hpp"

#include <cstring>

namespace dsm {
namespace {

bool may_be_reused(lapi_handle_t handle, lapi_cntr_t *origin)
{
    int value = 0;
    return LAPI_Getcntr(handle, origin, &value) != LAPI_SUCCESS || value > 0;
}

} // namespace

// The oldest one that is free, or whose end is awaited for nobody's sake but this task's. Behind one that is under way
// to a task those to it that follow are, too: what is under way to one task in a row costs one look at a counter.
outbox::buffer *outbox::hold_one(lapi_handle_t handle, uint task)
{
    const std::lock_guard guard(mutex_);
    buffer *slow = nullptr;
    for (std::size_t i = 0; i < buffers_.size(); i++) {
        const std::size_t index = (next_ + i) % buffers_.size();
        buffer &b = buffers_[index];
        if (b.held) continue;
        const bool others = b.sent && b.task != task;
        if (others && ((slow && slow->task == b.task) || !may_be_reused(handle, &b.origin))) {
            slow = &b;
            continue;
        }
        next_ = (index + 1) % buffers_.size();
        b.held = true;
        return &b;
    }
    return nullptr;
}

std::optional<int> outbox::put(lapi_handle_t handle, uint task, void *target, const void *data, std::size_t length)
{
    buffer *const b = hold_one(handle, task);
    if (!b) return std::nullopt;
    int code = b->sent ? LAPI_Waitcntr(handle, &b->origin, 1, nullptr) : LAPI_SUCCESS;
    bool sent = code != LAPI_SUCCESS; // still
    if (!sent) {
        if (!b->bytes) b->bytes.reset(new char[longest]);
        std::memcpy(b->bytes.get(), data, length);
        code = LAPI_Put(handle, task, length, target, b->bytes.get(), nullptr, &b->origin, nullptr);
        sent = code == LAPI_SUCCESS;
    }
    const std::lock_guard guard(mutex_);
    if (code == LAPI_SUCCESS) b->task = task;
    b->sent = sent;
    b->held = false;
    return code;
}

} // namespace dsm
