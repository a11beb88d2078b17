// SPDX-License-Identifier: Apache-2.0
// Counters that need more than a word: those that a thread waits for in LAPI_Nopoll_wait(), and those that
// LAPI_Setcntr_wstatus() gave a list of destinations.
#pragma once

#include "lapi.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace lapi {

class waiters {
  public:
    bool begin_wait(lapi_cntr_t *counter); // false: another thread waits for it
    void end_wait(lapi_cntr_t *counter);

    void set_destinations(lapi_cntr_t *counter, std::vector<uint> tasks, int *status, int number_of_tasks);
    void forget(lapi_cntr_t *counter);
    // After a wait: if no destination is without an answer the program has its statuses back.
    void forget_if_told(const lapi_cntr_t *counter)
    {
        if (number_of_lists_ != 0) look_whether_told(counter);
    }
    bool has_destinations(const lapi_cntr_t *counter);
    // What was sent to `task` with this counter has arrived.
    void arrived(lapi_cntr_t *counter, uint task);
    void purged(uint task);
    // No destination is without an answer.
    bool all_told(const lapi_cntr_t *counter);

  private:
    struct destinations {
        std::vector<uint> tasks;
        int *status; // the program's
        bool all_told() const;
    };

    void look_whether_told(const lapi_cntr_t *counter);

    std::mutex mutex_;
    std::set<const lapi_cntr_t *> waited_for_;
    std::map<const lapi_cntr_t *, destinations> lists_;
    std::atomic<int> number_of_lists_ = 0;
};

} // namespace lapi
