// SPDX-License-Identifier: Apache-2.0
#include "agent/byte_sink.hpp"

#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <termios.h>
#include <thread>
#include <unistd.h>

namespace onesea::agent {
namespace {

TEST(byte_sink, a_terminal_that_nobody_reads_does_not_block_and_gets_all_when_it_is_read)
{
    const int reader = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    ASSERT_EQ(grantpt(reader) | unlockpt(reader), 0);
    const int terminal = open(ptsname(reader), O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal, 0);
    termios mode;
    tcgetattr(terminal, &mode);
    cfmakeraw(&mode);
    tcsetattr(terminal, TCSANOW, &mode);

    std::string sent, got;
    for (int i = 0; sent.size() < 300'000; ++i) sent += std::to_string(i) + "\n";
    alarm(60); // ends the test if a write blocks
    {
        event_loop loop;
        byte_sink sink(loop, terminal);
        sink.write(sent);
        EXPECT_GT(sink.queued(), 0u) << "this terminal takes everything, so nothing was tested";
        EXPECT_EQ(fcntl(terminal, F_GETFL) & O_NONBLOCK, 0) << "others use it too";
        while (got.size() < sent.size()) {
            std::array<char, 5000> bytes;
            const ssize_t n = read(reader, bytes.data(), bytes.size());
            if (n > 0) got.append(bytes.data(), std::size_t(n));
            loop.after(0.001, [] {}); // not to wait where nothing happens
            loop.run_once();
        }
        EXPECT_EQ(sink.error(), 0);
        EXPECT_EQ(sink.queued(), 0u);
    }
    alarm(0);
    EXPECT_TRUE(got == sent);
    close(terminal);
    close(reader);
}

// Whatever poll() says, another writer may take the room in a pipe before we write.
TEST(byte_sink, a_pipe_that_others_fill_does_not_block)
{
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    std::atomic<bool> over{false};
    std::thread other([&] {
        const int own = open(("/proc/self/fd/" + std::to_string(ends[1])).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        const std::string much(PIPE_BUF, 'o');
        while (!over) [[maybe_unused]] const ssize_t n = write(own, much.data(), much.size());
        close(own);
    });
    {
        event_loop loop;
        byte_sink sink(loop, ends[1]);
        sink.write(std::string(100'000'000, 's'));
        std::array<char, PIPE_BUF> bytes;
        for (int i = 0; i < 20'000; ++i) {
            alarm(60); // ends the test if a write blocks: nobody else reads
            ASSERT_GT(read(ends[0], bytes.data(), bytes.size()), 0);
            loop.after(0, [] {});
            loop.run_once();
        }
        EXPECT_EQ(sink.error(), 0);
        EXPECT_LT(sink.queued(), 100'000'000u) << "it never had a turn";
    }
    alarm(0);
    over = true;
    other.join();
    for (int fd : ends) close(fd);
}

} // namespace
} // namespace onesea::agent
