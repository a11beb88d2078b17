// SPDX-License-Identifier: Apache-2.0
// A process may start without stdin, stdout or stderr, and open its own files there later: what the library opens must
// not lie at their numbers.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace onesea {

// The same file at a number above those three, closed by exec(). Negative (errno stays): there was none, or no number
// is free.
inline int above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    close(fd);
    errno = error;
    return moved;
}

} // namespace onesea
