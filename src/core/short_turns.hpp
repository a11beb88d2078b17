// SPDX-License-Identifier: Apache-2.0
// A thread's wish to the kernel's scheduler.
#pragma once

#include <cerrno>
#include <cstdint>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace onesea::core {

// As the kernel's first version of sched_attr, which not every C library declares.
struct scheduling {
    std::uint32_t size = sizeof(scheduling), policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t turn = 0, deadline = 0, period = 0; // ns; turn is 0 where the kernel knows no wishes

    bool read() { return syscall(SYS_sched_getattr, 0, this, sizeof *this, 0) == 0; }
    bool write() { return syscall(SYS_sched_setattr, 0, this, 0) == 0; }
};

// Since Linux 6.12 a thread may wish for shorter turns than others have: woken, it then takes the processor from one
// that computes there, where it may otherwise wait for a tick of that processor, milliseconds. It gets no more time in
// all. Only for threads that are scheduled as usual; where the kernel knows no wishes or refuses this one, nothing
// changes.
inline void wish_for_turns_of(std::uint64_t nanoseconds)
{
    const int before = errno;
    scheduling wish;
    if (wish.read() && wish.policy == SCHED_OTHER && wish.turn != 0) {
        wish.turn = nanoseconds;
        wish.write();
    }
    errno = before;
}

} // namespace onesea::core
