// SPDX-License-Identifier: Apache-2.0
// Counters of this process. Whoever adds to one itself wakes those who sleep for it, if there are any.
#pragma once

#include "lapi.h"

#include <onesea.h>

#include <atomic>

namespace lapi {

inline std::atomic<int> sleepers = 0; // threads that wait for a counter inside onesea

inline void wake_sleepers()
{
    static sea_counter nothing;
    if (sleepers.load() > 0) sea_counter_set(&nothing, 0); // wakes all who wait for any counter
}

inline void add_here(sea_counter *counter)
{
    __atomic_fetch_add(&counter->value, 1, __ATOMIC_SEQ_CST);
    wake_sleepers();
}

static_assert(sizeof(lapi_cntr_t) == sizeof(sea_counter) && alignof(lapi_cntr_t) == alignof(sea_counter));
inline sea_counter *as_sea(lapi_cntr_t *counter) { return reinterpret_cast<sea_counter *>(counter); }
inline void add_here(lapi_cntr_t *counter)
{
    if (counter) add_here(as_sea(counter));
}

class sleeping {
  public:
    sleeping() { ++sleepers; }
    ~sleeping() { --sleepers; }
    sleeping(const sleeping &) = delete;
    sleeping &operator=(const sleeping &) = delete;
};

} // namespace lapi
