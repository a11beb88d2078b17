// SPDX-License-Identifier: Apache-2.0
// A lock in memory that processes share. Who takes it after its holder has died in it is told so (EOWNERDEAD), repairs
// what the lock protects and calls pthread_mutex_consistent().
#pragma once

#include "base/clock.hpp"

#include <pthread.h>

#if defined(__SANITIZE_THREAD__)
#include <cerrno>
#include <sanitizer/tsan_interface.h>
#endif

namespace onesea {

inline void make_robust(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

// As pthread_mutex_timedlock(), which goes by a clock that may be set back meanwhile. The thread sanitizer does not
// know this call and is told of it.
inline int lock_until(pthread_mutex_t *mutex, nanoseconds end)
{
    const timespec until{time_t(end / 1'000'000'000), long(end % 1'000'000'000)};
    const int problem = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
#if defined(__SANITIZE_THREAD__)
    const bool locked = problem == 0 || problem == EOWNERDEAD;
    const unsigned flags = __tsan_mutex_try_lock | (locked ? 0 : __tsan_mutex_try_lock_failed);
    __tsan_mutex_pre_lock(mutex, flags);
    __tsan_mutex_post_lock(mutex, flags, 0);
#endif
    return problem;
}

} // namespace onesea
