// SPDX-License-Identifier: Apache-2.0
// Operations that hang on a rank at the moment it is killed end within a second, and the living notice nothing else.
// The last rank is stopped, so that what needs its help blocks: everything over the network, messages everywhere. When
// all have threads that wait, rank 0 kills it, or the agent of its node, whose ranks then die with it.
// Each is run by name (--only) as a job of its own, with --on-death continue.
#include "fair_clock.hpp"
#include "places.hpp"
#include "process_end.hpp"
#include "stop_rank.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <thread>
#include <unistd.h>

using namespace proof;

namespace {

constexpr double soon = sanitized ? 8 : 1; // seconds from the kill to the last SEA_ERR_DEAD
constexpr double settle = 0.3;             // for the operations to hang before the kill
constexpr double patience = 20;            // with threads that have not begun

std::uint64_t micros(double seconds) { return std::uint64_t(seconds * 1e6); }

struct caller {
    const char *name;
    bool helped; // needs the owner also over shared memory
    std::function<int()> call;
    double began = 0, ended = 0; // of the last call
    double withheld = 0;         // by the machine up to its end
    int status = SEA_OK;
};

void call_until_it_fails(caller &c, std::atomic<std::uint64_t> &begun, const fair_clock &clock)
{
    ++begun;
    for (double until = now() + patience + settle + 2 * soon + 5; c.status == SEA_OK && now() < until;) {
        c.began = now();
        c.status = c.call();
        c.ended = now();
        c.withheld = clock.withheld();
    }
}

void *take_nothing(const sea_am *, sea_am_complete_fn *, void **) { return nullptr; }

// Until `over`, and at least once; each call is good and none waits for the dead.
void work_with(run &t, const std::vector<int> &living, const std::vector<sea_addr> &heaps,
               const std::atomic<bool> &over)
{
    double slowest = 0;
    do {
        for (int peer : living) {
            std::uint64_t word = std::uint64_t(peer) << 32 | std::uint64_t(t.rank), back = 0;
            sea_addr a = heaps[std::size_t(peer)] + std::uint64_t(t.rank) * 8;
            double began = now();
            CHECK_OK(sea_put(a, &word, 8, nullptr));
            CHECK_OK(sea_fence(peer));
            CHECK_OK(sea_get(&back, a, 8, nullptr));
            CHECK_OK(sea_fetch_add8(a, 1, nullptr, nullptr));
            CHECK_OK(sea_fence(peer));
            CHECK_OK(outcome([&](sea_opts *o) { return sea_am_send(peer, 13, nullptr, 0, nullptr, 0, o); }));
            slowest = std::max(slowest, now() - began);
            CHECK_EQ(word, back);
        }
    } while (!over);
    CHECK(slowest < soon);
}

// `withheld`: by the machine before the kill.
void judge(run &t, const caller &c, int victim, double withheld)
{
    const double killed = double(t.shared->flags[0].load()) * 1e-6, took = c.ended - killed - (c.withheld - withheld);
    const bool dead = CHECK_STATUS(SEA_ERR_DEAD, c.status), in_time = CHECK(took < soon);
    bool good = dead && in_time;
    if (c.helped || !t.local(victim)) good &= CHECK(c.began < killed); // it hung, or this proves nothing
    if (!good) std::fprintf(stderr, "rank %d: %s ended %.3f s after the kill\n", t.rank, c.name, took);
    auto &worst = t.shared->flags[1];
    for (std::uint64_t mine = micros(std::max(0.0, took)), seen = worst; seen < mine;)
        if (worst.compare_exchange_weak(seen, mine)) break;
}

std::array<caller, 4> callers(int victim, sea_addr target)
{
    static thread_local std::array<unsigned char, 1000> data{};
    return {
        {{"get", false, [=] { return sea_get(data.data(), target, data.size(), nullptr); }},
         {"put and fence", false,
          [=] { return blocking_outcome(victim, [=] { return sea_put(target, data.data(), data.size(), nullptr); }); }},
         {"fetch_add", false,
          [=] {
              std::uint64_t old = 0;
              return sea_fetch_add8(target, 1, &old, nullptr);
          }},
         {"message", true,
          [=] { return outcome([=](sea_opts *o) { return sea_am_send(victim, 13, nullptr, 0, nullptr, 0, o); }); }}}};
}

void kill_while_all_wait(run &t, bool agent)
{
    const int victim = t.size - 1;
    REQUIRE(t.size >= 2 && (!agent || !t.same_node(victim) || t.rank != 0));
    auto doomed = [&](int r) { return r == victim || (agent && sea_node_of(r) == sea_node_of(victim)); };
    static place *heap = new place(kind::heap, 70080); // outlives the step
    std::vector<sea_addr> heaps = t.exchange(heap->address());
    const std::vector<std::uint64_t> pids = t.exchange(std::uint64_t(getpid())),
                                     parents = t.exchange(std::uint64_t(getppid()));
    CHECK_OK(sea_am_register(13, take_nothing, nullptr));
    t.sync();
    if (doomed(t.rank)) {
        leave(*t.shared);
        t.shared->flags[2] += 1; // whoever is stopped while it opens the board's gate would wake nobody
        for (;;) pause_for(30);
    }
    std::vector<int> living;
    for (int r = 0; r < t.size; ++r)
        if (!doomed(r)) living.push_back(r);
    while (t.shared->flags[2] < std::uint64_t(t.size) - living.size()) pause_for(0.001);
    if (t.rank == 0) stop_soon_killed(pid_t(pids[std::size_t(victim)]));
    t.sync();
    std::array<caller, 4> all = callers(victim, heaps[std::size_t(victim)]);
    std::vector<std::thread> threads;
    auto &begun = t.shared->flags[3];
    const fair_clock clock;
    for (caller &c : all) threads.emplace_back([&] { call_until_it_fails(c, begun, clock); });
    std::atomic<bool> over{false};
    double withheld = 0;
    std::thread killer([&] {
        for (double until = now() + patience; begun < all.size() * living.size() && now() < until;) pause_for(0.001);
        pause_for(settle);
        withheld = clock.withheld();
        if (t.rank != 0) return;
        const int target = int((agent ? parents : pids)[std::size_t(victim)]);
        const process_end end(target);
        kill(target, SIGKILL);
        while (end.moment() == 0) pause_for(0.001);
        t.shared->flags[0] = micros(end.moment());
    });
    std::thread waiter([&] {
        for (std::thread &one : threads) one.join();
        over = true;
    });
    work_with(t, living, heaps, over);
    killer.join();
    waiter.join();
    t.sync();
    for (const caller &c : all) judge(t, c, victim, withheld);
    for (int r = 0; r < t.size; ++r) CHECK_EQ(doomed(r) ? 0 : 1, sea_alive(r));
    t.sync();
    if (t.rank == 0)
        std::printf("the last operation ended %.1f ms after the kill\n", double(t.shared->flags[1]) * 1e-3);
}

} // namespace

LONE_STEP(8200, operations_that_hang_on_a_killed_rank_end_within_a_second) { kill_while_all_wait(t, false); }

LONE_STEP(8201, operations_that_hang_on_a_rank_of_a_killed_agent_end_within_a_second) { kill_while_all_wait(t, true); }
