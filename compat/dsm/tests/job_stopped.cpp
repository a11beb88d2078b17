// SPDX-License-Identifier: Apache-2.0
// WRITEs to a node that has stopped hold up nobody who writes elsewhere. Of three nodes on machines of their own, node
// 1 stops with more WRITEs under way to it than there are buffers for them; it goes on when node 0 has written to
// node 2.
#include "job.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

namespace job {
namespace {

constexpr std::size_t bytes = 8000;
constexpr int more_than_buffers = 200;

// How many it could begin before the first waited for the node.
int write_until_it_waits(int node, const std::vector<char> &data, std::thread &writer)
{
    static std::atomic<int> written{0};
    writer = std::thread([node, &data] {
        for (int i = 0; i < more_than_buffers; i++, written++)
            EXPECT_DONE(dsm_write(node, 0, data.data(), data.size()));
    });
    for (int before = -1; before != written || written == 0;) {
        before = written;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    return written;
}

void write_around_the_stopped_one(pid_t pid)
{
    const std::vector<char> to_stopped = pattern(bytes, 1), to_other = pattern(bytes, 2);
    std::thread writer;
    const int begun = write_until_it_waits(1, to_stopped, writer);
    EXPECT(begun < more_than_buffers);
    for (int i = 0; i < more_than_buffers; i++) EXPECT_DONE(dsm_write(2, 0, to_other.data(), to_other.size()));
    std::vector<char> found(bytes);
    EXPECT_DONE(dsm_read(2, 0, found.data(), found.size()));
    EXPECT(found == to_other);
    kill(pid, SIGCONT);
    writer.join();
    EXPECT_DONE(dsm_fence());
    EXPECT_DONE(dsm_read(1, 0, found.data(), found.size()));
    EXPECT(found == to_stopped);
}

} // namespace

void stopped()
{
    EXPECT_DONE(dsm_init(1 << 16));
    const pid_t pid = know_node_1();
    if (dsm_node() == 1) raise(SIGSTOP);
    if (dsm_node() == 0) {
        wait_until_stopped(pid);
        write_around_the_stopped_one(pid);
    }
    EXPECT_DONE(dsm_term());
}

} // namespace job
