// SPDX-License-Identifier: Apache-2.0
// Locks of whose queue a node dies: everybody behind it is told, nobody waits for ever, and other locks go on. Four
// nodes; node 0 kills node 1, which holds one lock and waits for another one.
#include "fair_clock.hpp"
#include "job.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <unistd.h>

namespace job {
namespace {

using std::chrono::milliseconds;

constexpr int held_by_dead = 4, dead_waits = 8, others = 12; // their home is node 0
constexpr int home_dies = 5;                                 // its home is node 1
constexpr std::uint64_t pid_at = 0, killed_at = 8, ready_at = 16, sum_at = 24;

std::int64_t now() { return std::int64_t(proof::now() * 1000); }

std::int64_t word(std::uint64_t address)
{
    std::int64_t value = 0;
    EXPECT_DONE(dsm_read(0, address, &value, sizeof value));
    return value;
}

// The clock has gone since before the death; what was withheld then lets a node be late, too.
void expect_lost(int lock, const proof::fair_clock &clock)
{
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_lock(lock));
    EXPECT_WORDS("lock " + std::to_string(lock));
    const std::int64_t killed = word(killed_at);
    EXPECT(killed != 0 && clock.now() * 1000 - double(killed) < 3000); // about one
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_lock(lock));                      // and so it stays
}

// Who is linked gets it from its holder, without the home; then it cannot be given back.
void take_from_queue_of_dead_home()
{
    EXPECT_DONE(dsm_lock(home_dies));
    EXPECT(word(killed_at) != 0);
    std::int64_t any = 0;
    while (dsm_read(1, 0, &any, sizeof any) == DSM_OK) std::this_thread::sleep_for(milliseconds(1)); // not known yet
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_unlock(home_dies));
}

void add_under_lock()
{
    for (int i = 0; i < 20; i++) {
        EXPECT_DONE(dsm_lock(others));
        const std::int64_t next = word(sum_at) + 1;
        EXPECT_DONE(dsm_write(0, sum_at, &next, sizeof next));
        EXPECT_DONE(dsm_unlock(others));
    }
}

void wait_until_ready(std::int64_t times)
{
    while (word(ready_at) < times) std::this_thread::sleep_for(milliseconds(10));
}

void wait_behind()
{
    const proof::fair_clock clock;
    std::this_thread::sleep_for(milliseconds(300 * (dsm_node() - 1))); // behind node 1, node 3 behind node 2
    std::thread first([&] { expect_lost(held_by_dead, clock); }), second([&] { expect_lost(dead_waits, clock); });
    if (dsm_node() == 2) take_from_queue_of_dead_home();
    first.join();
    second.join();
    add_under_lock();
    EXPECT_DONE(dsm_fetch_add(0, ready_at, 1, nullptr));
    wait_until_ready(2); // who ends before has not given the lock to the other one
    EXPECT_DONE(dsm_fetch_add(0, ready_at, 1, nullptr));
}

void kill_node_1()
{
    std::this_thread::sleep_for(milliseconds(1000)); // all of them wait
    const auto pid = static_cast<pid_t>(word(pid_at));
    const std::int64_t killed = now();
    EXPECT_DONE(dsm_write_b(0, killed_at, &killed, sizeof killed));
    kill(pid, SIGKILL);
    EXPECT_DONE(dsm_unlock(home_dies));
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_lock(held_by_dead));
    wait_until_ready(4);
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_unlock(dead_waits)); // to whom?
    EXPECT_STATUS(DSM_ERR_BELOW, dsm_lock(dead_waits));
    EXPECT(word(sum_at) == 40);
}

} // namespace

void lost_lock()
{
    EXPECT_DONE(dsm_init(4096));
    const std::int64_t pid = getpid();
    if (dsm_node() == 1) EXPECT_DONE(dsm_write_b(0, pid_at, &pid, sizeof pid));
    if (dsm_node() == 0) EXPECT_DONE(dsm_lock(dead_waits));
    if (dsm_node() == 0) EXPECT_DONE(dsm_lock(home_dies));
    if (dsm_node() == 1) EXPECT_DONE(dsm_lock(held_by_dead));
    EXPECT_DONE(dsm_barrier());
    if (dsm_node() == 1) _exit(dsm_lock(dead_waits)); // it dies there
    dsm_node() == 0 ? kill_node_1() : wait_behind();
    std::fprintf(stderr, "lost lock: node %d, %d failures\n", dsm_node(), failures());
    _exit(failures() == 0 ? 0 : 1); // the collective end is not possible any more
}

} // namespace job
