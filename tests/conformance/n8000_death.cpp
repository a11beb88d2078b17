// SPDX-License-Identifier: Apache-2.0
// Ranks that die in a job that goes on (--on-death continue): the others' operations on them fail, quickly, and nothing
// else does. Run with --death by at least 4 ranks; the last three die, or of five four, each in its own way.
#include "places.hpp"
#include "process_end.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace proof;

namespace {

// From a death to the knowledge of it, less what the machine withheld from this process meanwhile. All look at the
// victim before they let it die.
class since_death {
  public:
    since_death(const run &t, int victim) : end_(t.shared->seats[victim].pid) {}
    bool happened() const { return end_.moment() != 0; }
    double seconds() const { return happened() ? now() - end_.moment() - clock_.withheld() : 0; }

  private:
    process_end end_;
    fair_clock clock_;
};

std::atomic<int> calls, last_rank, last_status;
void heard(int rank, int status, void *context)
{
    last_rank = rank;
    last_status = status;
    if (context == &calls) calls += 1;
}

void listen()
{
    calls = 0;
    last_rank = last_status = -1;
    CHECK_OK(sea_on_death(heard, &calls));
}

void wait_until_heard(int rank, int status, const since_death &death)
{
    while (calls == 0 && death.seconds() < 10 * death_limit)
        pause_for(0.001); // outside the library: the dispatcher calls
    CHECK(death.seconds() < death_limit);
    CHECK_EQ(1, calls.load());
    CHECK_EQ(rank, last_rank.load());
    CHECK_EQ(status, last_status.load());
    CHECK_STATUS(SEA_ERR_RANK, sea_fence(-77));
    const std::string told = sea_last_error(); // and to ask for a rank that has ended is no failure
    CHECK_EQ(0, sea_alive(rank));
    CHECK(told == sea_last_error());
}

void all_fails(run &t, int dead, sea_addr heap, sea_addr own, sea_addr mine)
{
    std::vector<unsigned char> data(70000);
    std::uint64_t old = 7;
    const fair_clock clock;
    const double began = clock.now();
    for (sea_addr a : {heap, own})
        for (std::size_t bytes : {8, 1000, 70000}) {
            CHECK_STATUS(SEA_ERR_DEAD, outcome([&](sea_opts *o) { return sea_put(a, data.data(), bytes, o); }));
            CHECK_STATUS(SEA_ERR_DEAD, sea_get(data.data(), a, bytes, nullptr));
            CHECK_STATUS(SEA_ERR_DEAD, sea_copy(a, mine, bytes, nullptr));
            CHECK_STATUS(SEA_ERR_DEAD, sea_copy(mine, a, bytes, nullptr));
        }
    std::uint64_t word = 1;
    CHECK_STATUS(SEA_ERR_DEAD, sea_get(&word, heap, 8, nullptr)); // the inlined path
    CHECK_STATUS(SEA_ERR_DEAD, sea_put(heap, &word, 8, nullptr));
    CHECK_STATUS(SEA_ERR_DEAD, sea_fetch_add8(heap, 1, &old, nullptr));
    CHECK_STATUS(SEA_ERR_DEAD, sea_am_send(dead, 11, nullptr, 0, nullptr, 0, nullptr));
    CHECK(std::strstr(sea_last_error(), std::to_string(dead).c_str()) != nullptr);
    sea_counter origin{}, remote{};
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    o.origin_counter = &origin;
    o.remote_counter = &remote;
    CHECK_STATUS(SEA_ERR_DEAD, sea_put(heap, data.data(), 70000, &o));
    CHECK_STATUS(SEA_ERR_DEAD, sea_am_send(dead, 11, nullptr, 0, data.data(), 70000, &o));
    CHECK_EQ(0, origin.value);
    CHECK_EQ(0, remote.value);
    sea_addr block = 3;
    CHECK_STATUS(SEA_ERR_DEAD, sea_heap_alloc(dead, 64, &block));
    CHECK(std::strstr(sea_last_error(), "put") == nullptr); // that is not what was called
    CHECK_EQ(7, old);
    CHECK_EQ(3, block);
    (void)sea_fence_all(); // may tell one of them
    CHECK(clock.now() - began < death_limit);
    CHECK_OK(sea_fence_all());
    CHECK_EQ(t.size, sea_size());
    CHECK(sea_node_of(dead) >= 0);
}

// The living go on as if nothing had happened.
void others_work(run &t, int living, const std::vector<sea_addr> &all)
{
    t.sync();
    for (int peer = 0; peer < living; ++peer) {
        std::uint64_t word = std::uint64_t(peer * 100 + t.rank), back = 0;
        sea_addr a = all[std::size_t(peer)] + std::uint64_t(t.rank) * 8;
        CHECK_OK(sea_put(a, &word, 8, nullptr));
        CHECK_OK(sea_fence(peer));
        CHECK_OK(sea_get(&back, a, 8, nullptr));
        CHECK_EQ(word, back);
        CHECK_EQ(1, sea_alive(peer));
    }
    t.sync();
}

} // namespace

DEATH_STEP(8000, operations_on_a_killed_rank_fail_soon)
{
    REQUIRE(t.size >= 4);
    const int victim = t.size - 1;
    static place *heap = new place(kind::heap, 70080), *own = new place(kind::malloced, 70080); // outlive the step
    std::vector<sea_addr> heaps = t.exchange(heap->address()), owns = t.exchange(own->address());
    listen();
    since_death death(t, victim);
    t.sync();
    if (t.rank == victim) {
        leave(*t.shared);
        kill(getpid(), SIGKILL);
    }
    // Traffic until it is known; then never again a success.
    std::vector<unsigned char> data(1000);
    int status = SEA_OK;
    while (status == SEA_OK && death.seconds() < 10 * death_limit)
        status = outcome([&](sea_opts *o) { return sea_put(owns[std::size_t(victim)], data.data(), 1000, o); });
    CHECK_EQ(SEA_ERR_DEAD, status);
    CHECK(death.seconds() < death_limit);
    while (sea_alive(victim) == 1 && death.seconds() < 10 * death_limit) continue;
    std::uint64_t word = 1; // what asks nobody knows it from now on, too
    CHECK_STATUS(SEA_ERR_DEAD, sea_fetch_add8(heaps[std::size_t(victim)], 1, &word, nullptr));
    wait_until_heard(victim, 128 + SIGKILL, death);
    all_fails(t, victim, heaps[std::size_t(victim)], owns[std::size_t(victim)], own->address());
    others_work(t, victim, heaps);
    CHECK_STATUS(SEA_ERR_DEAD, sea_barrier(SEA_TEAM_WORLD));
}

namespace {

std::atomic<bool> held{false};
void *hold_for_ever(const sea_am *, sea_am_complete_fn *, void **)
{
    held = true;
    pause_for(30);
    return nullptr;
}

} // namespace

DEATH_STEP(8001, waiting_for_a_rank_that_dies_ends)
{
    const int victim = t.size - 2;
    static place *heap = new place(kind::heap, 70080);
    std::vector<sea_addr> heaps = t.exchange(heap->address());
    listen();
    CHECK_OK(sea_am_register(12, hold_for_ever, nullptr));
    since_death death(t, victim);
    t.sync();
    if (t.rank == victim) { // the handler may run on this very thread, in sync()
        std::thread([&t] {
            for (double until = now() + 10; !held && now() < until;) pause_for(0.001);
            pause_for(0.1);
            leave(*t.shared);
            kill(getpid(), SIGKILL);
        }).detach();
    }
    t.sync();
    if (t.rank == victim) pause_for(30);
    sea_op ops[3] = {};
    sea_opts o = SEA_OPTS_INIT;
    std::uint64_t word = 1;
    sea_counter remote{};
    o.op = &ops[0];
    CHECK_OK(sea_am_send(victim, 12, nullptr, 0, nullptr, 0, &o));
    o.op = &ops[1];
    o.after = ops[0];
    o.remote_counter = &remote;
    CHECK_OK(sea_put(heap->address(), &word, 8, &o)); // to itself, after what never completes
    CHECK_STATUS(SEA_ERR_DEAD, sea_wait(ops[1], 20));
    CHECK_STATUS(SEA_ERR_DEAD, sea_wait(ops[0], 20));
    CHECK(death.happened());
    CHECK(death.seconds() < death_limit);
    CHECK(peek8(heap->memory()) != 1);
    wait_until_heard(victim, 128 + SIGKILL, death);
    others_work(t, victim, heaps);
}

DEATH_STEP(8002, a_rank_that_exits_without_finalize_has_died)
{
    const int victim = t.size - 3;
    static place *heap = new place(kind::heap, 4096);
    std::vector<sea_addr> heaps = t.exchange(heap->address());
    listen();
    since_death death(t, victim);
    t.sync();
    if (t.rank == victim) {
        leave(*t.shared);
        _exit(3);
    }
    wait_until_heard(victim, 3, death);
    std::uint64_t word = 0;
    CHECK_STATUS(SEA_ERR_DEAD, sea_get(&word, heaps[std::size_t(victim)], 8, nullptr));
    others_work(t, victim, heaps);
    CHECK_OK(sea_on_death(nullptr, nullptr));
}

DEATH_STEP(8003, raw_transfers_with_a_killed_rank_end_soon)
{
    constexpr std::size_t bytes = 4 << 20;
    if (t.size < 5) return;
    const int victim = t.size - 4;
    static std::vector<unsigned char> memory(bytes); // outlives the step
    static place *heap = new place(kind::heap, 4096);
    std::vector<unsigned char> data(bytes);
    listen();
    CHECK_OK(sea_raw_open());
    const std::vector<std::uint64_t> all = t.exchange(reinterpret_cast<std::uint64_t>(memory.data()));
    const std::vector<sea_addr> heaps = t.exchange(heap->address());
    since_death death(t, victim);
    const std::uint64_t there = all[std::size_t(victim)];
    t.sync();
    if (t.rank == victim) {
        std::thread([&t] {
            pause_for(0.05);
            leave(*t.shared);
            kill(getpid(), SIGKILL);
        }).detach();
        sea_opts o = SEA_OPTS_INIT;
        for (int i = 0;; ++i) { // answers to it are under way when it is killed
            o.flags = i % 8 ? SEA_NOWAIT : 0;
            (void)sea_raw_get(data.data(), i % victim, all[std::size_t(i % victim)], bytes, &o);
        }
    }
    int status = SEA_OK;
    for (int i = 0; status == SEA_OK && death.seconds() < 10 * death_limit; ++i)
        status = i % 2 ? sea_raw_get(data.data(), victim, there, bytes, nullptr)
                       : outcome([&](sea_opts *o) { return sea_raw_put(victim, there, data.data(), bytes, o); });
    CHECK_STATUS(SEA_ERR_DEAD, status);
    CHECK(death.seconds() < death_limit);
    wait_until_heard(victim, 128 + SIGKILL, death);
    sea_raw_piece pieces[] = {{there, data.data(), 8}, {there + 100, data.data(), 8}};
    const fair_clock clock;
    const double began = clock.now();
    CHECK_STATUS(SEA_ERR_DEAD, sea_raw_put(victim, there, data.data(), 8, nullptr));
    CHECK_STATUS(SEA_ERR_DEAD, sea_raw_get(data.data(), victim, there, 8, nullptr));
    CHECK_STATUS(SEA_ERR_DEAD, sea_raw_put_vector(victim, pieces, 2, nullptr));
    CHECK_STATUS(SEA_ERR_DEAD, sea_raw_get_vector(victim, pieces, 2, nullptr));
    CHECK_STATUS(SEA_ERR_DEAD, sea_raw_atomic(SEA_ATOMIC_ADD, victim, there, 8, 1, 0, nullptr, nullptr));
    (void)sea_fence_all();
    CHECK_OK(sea_raw_close()); // waits for nobody who is dead
    CHECK(clock.now() - began < death_limit);
    others_work(t, victim, heaps);
}

// The first rank's addresses are the lowest there are; inside a node its memory outlives it.
LONE_STEP(8010, operations_on_a_killed_rank_0_fail_soon)
{
    REQUIRE(t.size >= 2);
    static place *heap = new place(kind::heap, 70080), *own = new place(kind::malloced, 70080); // outlive the step
    std::vector<sea_addr> heaps = t.exchange(heap->address()), owns = t.exchange(own->address());
    listen();
    since_death death(t, 0);
    t.sync();
    if (t.rank == 0) {
        leave(*t.shared);
        kill(getpid(), SIGKILL);
    }
    wait_until_heard(0, 128 + SIGKILL, death);
    all_fails(t, 0, heaps[0], owns[0], own->address());
    t.sync();
}

LONE_STEP(8100, abort_ends_the_job)
{
    t.sync();
    if (t.rank == t.size - 1) sea_abort(7, "that is enough");
    for (double until = now() + 20; now() < until;) pause_for(0.05); // ended by the launcher
    CHECK(t.rank == t.size - 1);
}
