// SPDX-License-Identifier: Apache-2.0
// "Write, fence, then look whether the other side sleeps", beside its "announce sleep, then look for what was written":
// one of the two sees the other. The fence waits until what was written is out of this core, so it is best made late: a
// write that is a fence itself (an exchange) has the caller wait when there is still something useful to do.
#pragma once

#include <atomic>

namespace onesea {

inline void full_fence()
{
#if defined(__SANITIZE_THREAD__) // knows no fences; the processor takes this for one
    static std::atomic<int> anything{0};
    anything.exchange(0, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

} // namespace onesea
