// SPDX-License-Identifier: Apache-2.0
// A lock in memory that processes share. Who takes it after its holder has died in it is told so (EOWNERDEAD), repairs
// what the lock protects and calls pthread_mutex_consistent().
#pragma once

#include <pthread.h>

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

} // namespace onesea
