// SPDX-License-Identifier: Apache-2.0
// Who of this node's threads holds which lock. The wire knows nodes only: at most one thread of a node goes on to it
// for a lock, the others wait here.
#pragma once

#include "../include/dsm.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace dsm {

class locks {
  public:
    // Waits until this thread may ask the wire for the lock.
    int take(int lock);

    // DSM_OK if this thread holds the lock.
    int check_held(int lock);

    // The next thread may take it.
    void give(int lock);

    // All that some thread holds.
    std::vector<int> held();

  private:
    std::mutex mutex_;
    std::condition_variable given_;
    std::array<std::thread::id, DSM_LOCKS> holder_{}; // no thread: free
};

} // namespace dsm
