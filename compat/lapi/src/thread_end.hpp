// SPDX-License-Identifier: Apache-2.0
// The end of a thread that runs functions of the program: one of those may itself end the context, or the process.
#pragma once

#include <thread>

namespace lapi {

// Waits until the thread has ended; if it is this one it is left to end by itself.
inline void join_or_detach(std::thread &t)
{
    if (!t.joinable()) return;
    if (t.get_id() == std::this_thread::get_id())
        t.detach();
    else
        t.join();
}

} // namespace lapi
