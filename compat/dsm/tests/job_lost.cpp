// SPDX-License-Identifier: Apache-2.0
// Accesses that are under way when their node is lost: each of them tells its caller. Node 1 stops, so that nothing can
// end before that; then it is killed, or the link to it is given up after the time in ONESEA_NET_FAULTS.
#include "job.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <thread>
#include <unistd.h>

namespace job {
namespace {

void write_and_fence()
{
    const std::vector<char> middle(60000, 'm');
    EXPECT_DONE(dsm_write(1, 0, middle.data(), middle.size()));
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_fence());
    EXPECT_WORDS("node 1");
}

std::vector<std::function<void()>> accesses()
{
    return {
        [] {
            std::vector<char> data(8);
            EXPECT_STATUS(DSM_ERR_BELOW, dsm_read(1, 16, data.data(), data.size()));
            EXPECT_WORDS("READ at node 1, address 16, length 8");
        },
        [] {
            std::vector<char> data(100000);
            EXPECT_STATUS(DSM_ERR_BELOW, dsm_read(1, 16, data.data(), data.size()));
        },
        [] {
            const std::vector<char> data(100);
            EXPECT_STATUS(DSM_ERR_BELOW, dsm_write_b(1, 24, data.data(), data.size()));
            EXPECT_WORDS("WRITE_B at node 1, address 24, length 100");
        },
        [] {
            std::int64_t old = 77;
            EXPECT_STATUS(DSM_ERR_BELOW, dsm_fetch_add(1, 32, 1, &old));
            EXPECT(old == 77);
        },
        [] { EXPECT_STATUS(DSM_ERR_BELOW, dsm_lock(1)); }, // its home is node 1
        [] { EXPECT_STATUS(DSM_ERR_BELOW, dsm_lock(2)); }, // node 1 holds it
        write_and_fence,
    };
}

// Node 1's process, which has stopped; does not return there. Node 1 holds lock 2.
pid_t open_and_stop_node_1()
{
    EXPECT_DONE(dsm_init(1 << 20));
    if (dsm_node() == 1) EXPECT_DONE(dsm_lock(2));
    const pid_t pid = know_node_1();
    if (dsm_node() == 1) raise(SIGSTOP);
    if (dsm_node() == 1) _exit(1);
    wait_until_stopped(pid);
    return pid;
}

[[noreturn]] void end_of_survivor()
{
    std::fprintf(stderr, "lost: %d failures\n", failures());
    _exit(failures() == 0 ? 0 : 1); // the collective end is not possible any more
}

} // namespace

void lost(bool by_death)
{
    const pid_t pid = open_and_stop_node_1();
    std::vector<std::thread> threads;
    for (const auto &access : accesses()) threads.emplace_back(access);
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // all of them wait
    if (by_death) kill(pid, SIGKILL);
    for (std::thread &t : threads) t.join();
    EXPECT_DONE(dsm_fence()); // nothing is told twice
    if (!by_death) kill(pid, SIGKILL);
    end_of_survivor();
}

// A lock that told of it is not held, neither here nor by this node as others see it.
void lost_write()
{
    const pid_t pid = open_and_stop_node_1();
    const std::vector<char> middle(60000, 'm');
    EXPECT_DONE(dsm_write(1, 0, middle.data(), middle.size()));
    kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_lock(0));
    EXPECT_WORDS("node 1");
    EXPECT_STATUS(DSM_ERR_LOCK, dsm_unlock(0));
    EXPECT_DONE(dsm_lock(0));
    EXPECT_DONE(dsm_unlock(0));
    end_of_survivor();
}

} // namespace job
