// SPDX-License-Identifier: Apache-2.0
// Another process may be what puts two threads of this one in order: the first has told it something, and the second
// hears of that from it. The thread sanitizer sees one process only and takes the two for a race. In its builds, who
// tells another process something releases a word of this process before, and who hears of another process acquires it
// behind; the engine lock alone does not do, since the short messages of collectives go and come without it. In all
// others this is nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <atomic>
#endif

namespace onesea {

#if defined(__SANITIZE_THREAD__)
inline std::atomic<unsigned> told_order{0};
inline void tells_another_process() { told_order.fetch_add(1, std::memory_order_release); }
inline void another_process_told() { static_cast<void>(told_order.load(std::memory_order_acquire)); }
#else
inline void tells_another_process() {}
inline void another_process_told() {}
#endif

} // namespace onesea
