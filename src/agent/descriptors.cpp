// SPDX-License-Identifier: Apache-2.0
#include "agent/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>

namespace onesea::agent {

void raise_file_limit()
{
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void no_wait(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

} // namespace onesea::agent
