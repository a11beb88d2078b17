// SPDX-License-Identifier: Apache-2.0
#include "base/resize.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

using namespace onesea;

namespace {

void beyond_the_limit()
{
    const int fd = memfd_create("resize_test", MFD_CLOEXEC);
    rlimit most{};
    getrlimit(RLIMIT_FSIZE, &most);
    most.rlim_cur = 8192;
    setrlimit(RLIMIT_FSIZE, &most);
    struct stat info {};
    const bool within = resize(fd, 8192) == 0 && resize(fd, 4096) == 0;
    const bool refused = resize(fd, 8193) == -1 && errno == EFBIG;
    _exit(within && refused && fstat(fd, &info) == 0 && info.st_size == 4096 ? 0 : 1);
}

} // namespace

TEST(resize, beyond_the_limit_of_files_is_an_error_and_no_signal)
{
    EXPECT_EXIT(beyond_the_limit(), testing::ExitedWithCode(0), "");
}

TEST(resize, tells_what_the_kernel_refuses)
{
    EXPECT_EQ(resize(-1, 4096), -1);
    EXPECT_EQ(errno, EBADF);
}
