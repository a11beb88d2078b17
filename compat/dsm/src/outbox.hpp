// SPDX-License-Identifier: Apache-2.0
// WRITEs of middle size to other machines. A Put sends from the caller's memory, which may be reused only when the
// target has acknowledged it: a round trip for every WRITE. Up to a size where the copy costs less than that, the data
// is copied to a buffer of ours, sent from there, and the origin counter is waited for when the buffer is needed again.
// Shorter ones LAPI copies itself; longer ones fill the network alone.
//
// A target that has stopped may keep all buffers: WRITEs to others then go without one, and nobody waits for it but who
// writes to it.
#pragma once

#include <array>
#include <cstddef>
#include <lapi.h>
#include <memory>
#include <mutex>
#include <optional>

namespace dsm {

class outbox {
  public:
    static constexpr std::size_t shortest = 1025, longest = 65536; // bytes

    // A Put of a copy of `data`, shortest .. longest bytes. Returns LAPI's code; what goes wrong later LAPI tells
    // later. Nothing was done if it returns no code: Puts to other tasks have all buffers.
    std::optional<int> put(lapi_handle_t handle, uint task, void *target, const void *data, std::size_t length);

  private:
    struct buffer {
        std::unique_ptr<char[]> bytes; // made when it is needed first
        lapi_cntr_t origin{};
        uint task = 0;
        bool sent = false; // to `task`, and `origin` not waited for yet
        bool held = false; // by a thread, without the lock
    };
    buffer *hold_one(lapi_handle_t handle, uint task);

    std::mutex mutex_;
    std::array<buffer, 64> buffers_; // more than fill any round trip
    std::size_t next_ = 0;
};

} // namespace dsm
