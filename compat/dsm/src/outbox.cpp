// SPDX-License-Identifier: Apache-2.0
#include "outbox.hpp"

#include <cstring>

namespace dsm {

int outbox::put(lapi_handle_t handle, uint task, void *target, const void *data, std::size_t length)
{
    std::lock_guard guard(mutex_);
    buffer &b = buffers_[next_];
    if (b.sent)
        if (int code = LAPI_Waitcntr(handle, &b.origin, 1, nullptr)) return code;
    b.sent = false;
    if (!b.bytes) b.bytes.reset(new char[longest]);
    std::memcpy(b.bytes.get(), data, length);
    if (int code = LAPI_Put(handle, task, length, target, b.bytes.get(), nullptr, &b.origin, nullptr)) return code;
    b.sent = true;
    next_ = (next_ + 1) % buffers_.size();
    return LAPI_SUCCESS;
}

} // namespace dsm
