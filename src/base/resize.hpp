// SPDX-License-Identifier: Apache-2.0
// ftruncate() ends a process by SIGXFSZ where the file, shared memory too, would be longer than its user allows it
// (`ulimit -f`). This one fails with EFBIG there.
#pragma once

#include <cerrno>
#include <cstdint>
#include <sys/resource.h>
#include <unistd.h>

namespace onesea {

// 0, or -1 with errno.
inline int resize(int fd, std::uint64_t bytes)
{
    rlimit most{};
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && bytes > most.rlim_cur) {
        errno = EFBIG;
        return -1;
    }
    return ftruncate(fd, off_t(bytes));
}

} // namespace onesea
