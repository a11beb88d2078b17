// SPDX-License-Identifier: Apache-2.0
// Counters that need more than a word: those that a thread waits for in LAPI_Nopoll_wait(), and those that
// LAPI_Setcntr_wstatus() gave a list of destinations.
#pragma once

#include "lapi.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace lapi {

class waiters {
  public:
    bool begin_wait(lapi_cntr_t *counter); // false: another thread waits for it
    void end_wait(lapi_cntr_t *counter);

    // gone(task): nothing goes there any more; purged() follows for whoever goes later.
    using is_gone = std::function<bool(uint task)>;
    void set_destinations(lapi_cntr_t *counter, std::vector<uint> tasks, int *status, int number_of_tasks,
                          const is_gone &gone);
    void forget(lapi_cntr_t *counter);
    // After a wait: if no destination is without an answer the program has its statuses back.
    void forget_if_told(const lapi_cntr_t *counter)
    {
        if (number_of_lists_ != 0) look_whether_told(counter);
    }
    bool has_destinations(const lapi_cntr_t *counter);
    // What was sent to `task` with this counter has arrived: adds to it. Who finds all told finds the value, too.
    void arrived(lapi_cntr_t *counter, uint task);
    void purged(uint task);
    // No destination is without an answer. *purged: one of them by being purged.
    bool all_told(const lapi_cntr_t *counter, bool *purged);

  private:
    struct destinations {
        std::vector<uint> tasks;
        int *status; // the program's
        bool all_told() const;
        bool any_purged() const;
        void note_arrival(uint task);
    };

    void look_whether_told(const lapi_cntr_t *counter);

    std::mutex mutex_;
    std::set<const lapi_cntr_t *> waited_for_;
    std::map<const lapi_cntr_t *, destinations> lists_;
    std::atomic<int> number_of_lists_ = 0;
};

} // namespace lapi
