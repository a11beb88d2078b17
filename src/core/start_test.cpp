// SPDX-License-Identifier: Apache-2.0
// What starts behind what, and what may wait for it.
#include "base/clock.hpp"
#include "core/engine.hpp"
#include "core/job_of_one.hpp"
#include "core/transfer.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <pthread.h>
#include <thread>

using namespace onesea;
using namespace onesea::core;

namespace {

sea_opts no_waiting(unsigned flags = 0, sea_op after = SEA_OP_NONE)
{
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT | flags;
    o.after = after;
    return o;
}

// An operation of a layer above, which ends when the test says so.
class gate {
  public:
    gate()
    {
        sea_opts o = SEA_OPTS_INIT;
        o.op = &op;
        EXPECT_EQ(run_external("a test", {}, &o, [this](std::uint64_t id) { id_ = id; }), SEA_OK);
    }
    ~gate() { EXPECT_EQ(sea_wait(op, 30), SEA_OK); }
    gate(const gate &) = delete;
    gate &operator=(const gate &) = delete;
    void open() { end_external(id_, SEA_OK); }

    sea_op op = SEA_OP_NONE;

  private:
    std::uint64_t id_ = 0;
};

} // namespace

// As short messages do.
TEST_F(JobOfOne, any_number_of_operations_that_end_as_they_start_may_wait_for_one)
{
    constexpr int all = 60'000;
    int begun = 0;
    gate first;
    const sea_opts then = no_waiting(0, first.op);
    for (int i = 0; i < all; ++i)
        ASSERT_EQ(run_external("a test", {}, &then,
                               [&](std::uint64_t id) {
                                   ++begun;
                                   end_external(engine_held, id, SEA_OK);
                               }),
                  SEA_OK);
    EXPECT_EQ(begun, 0);
    first.open();
    EXPECT_EQ(begun, all);
}

// What lets them start may lie in what the program does next.
TEST_F(JobOfOne, a_call_that_only_starts_does_not_wait_for_operations_that_wait_themselves)
{
    sea_addr words = SEA_NULL;
    ASSERT_EQ(sea_heap_alloc(0, 64, &words), SEA_OK);
    const std::uint64_t *memory = static_cast<std::uint64_t *>(sea_local(words));
    sea_set_timeout(1);
    for (const bool in_line : {false, true}) { // behind one that is ordered and waits; or each for itself
        std::memset(sea_local(words), 0, 64);
        const std::uint64_t one = 1;
        gate closed;
        sea_opts first = no_waiting(in_line ? SEA_ORDERED : 0u, closed.op), others = first;
        if (in_line) others.after = SEA_OP_NONE;
        for (std::uint32_t i = 0; i < most_unfinished; ++i)
            ASSERT_EQ(sea_put(words, &one, 8, i == 0 ? &first : &others), SEA_OK);
        sea_opts now = no_waiting();
        now.target_counter = words + 8;
        const auto waits = [] {
            const locked lock = enter();
            return std::uint64_t(engine().counts->process().waits);
        };
        const std::uint64_t before = waits();
        EXPECT_EQ(sea_put(words + 16, &one, 8, &now), SEA_OK);
        EXPECT_EQ(waits(), before);
        EXPECT_EQ(memory[1], 1u);
        EXPECT_EQ(memory[0], 0u);
        closed.open();
        EXPECT_EQ(sea_fence(0), SEA_OK);
        EXPECT_EQ(memory[0], 1u);
        const locked lock = enter();
        EXPECT_EQ(under_way(engine().peer_of(0)), 0u);
    }
    sea_set_timeout(SEA_FOREVER);
    EXPECT_EQ(sea_heap_free(words), SEA_OK);
}

namespace {

std::atomic<int> faults_blocked{-1}, others_blocked{-1};

void *look_at_signals(const sea_am *, sea_am_complete_fn *, void **)
{
    if (!is_dispatcher) return nullptr;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    const auto count = [&](std::initializer_list<int> signals) {
        int n = 0;
        for (int s : signals) n += sigismember(&blocked, s);
        return n;
    };
    others_blocked = count({SIGINT, SIGTERM, SIGCHLD, SIGALRM, SIGUSR1});
    faults_blocked = count({SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS});
    return nullptr;
}

} // namespace

// The program may live on faults in memory of its own, which its handlers of messages touch, too.
TEST_F(JobOfOne, the_dispatcher_takes_its_own_faults_and_no_other_signals_of_the_program)
{
    ASSERT_EQ(sea_am_register(5, look_at_signals, nullptr), SEA_OK);
    const sea_opts o = no_waiting();
    for (const nanoseconds end = now_ns() + 20'000'000'000; faults_blocked < 0 && now_ns() < end;) {
        ASSERT_EQ(sea_am_send(0, 5, nullptr, 0, nullptr, 0, &o), SEA_OK);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(faults_blocked, 0);
    EXPECT_EQ(others_blocked, 5);
    EXPECT_EQ(sea_fence(0), SEA_OK);
}

namespace {

std::atomic<int> long_ones{0}, completed{0}, short_ones{0};
std::array<std::byte, 100'000> place_for_data;

void *take_long_one(const sea_am *, sea_am_complete_fn *complete, void **)
{
    ++long_ones;
    *complete = [](int, void *, std::size_t, void *) { ++completed; };
    return place_for_data.data();
}

void *take_short_one(const sea_am *, sea_am_complete_fn *, void **)
{
    ++short_ones;
    return nullptr;
}

// As it comes from a transport: without header and target counter.
void arrives(int source, frame_type type, int id, std::uint64_t data_bytes)
{
    std::array<std::byte, 24> payload{};
    std::memcpy(payload.data() + 16, &data_bytes, 8);
    frame head{};
    head.type = type;
    head.flags = frame_flags::ordered | frame_flags::last;
    head.aux = std::uint16_t(id);
    head.id = 77;
    engine().receive(source, head, {payload.data(), type == frame_type::am_long ? 24u : 16u});
}

} // namespace

// Its data is still there, and nobody can be asked for it any more, when its handler says where it goes.
TEST_F(JobOfOne, messages_that_came_behind_a_long_one_of_a_rank_that_has_ended_are_run)
{
    constexpr int ended = 7;
    ASSERT_EQ(sea_am_register(6, take_long_one, nullptr), SEA_OK);
    ASSERT_EQ(sea_am_register(7, take_short_one, nullptr), SEA_OK);
    {
        const locked lock = enter();
        ASSERT_EQ(engine().route(ended), nullptr);
        arrives(ended, frame_type::am_long, 6, place_for_data.size());
        for (int i = 0; i < 5; ++i) arrives(ended, frame_type::am, 7, 0);
    }
    const auto idle = [] {
        const locked lock = enter();
        return engine().handlers.empty() && !engine().handlers.running;
    };
    for (const nanoseconds end = now_ns() + 20'000'000'000; !idle() && now_ns() < end;) sea_poll();
    EXPECT_EQ(long_ones, 1);
    EXPECT_EQ(completed, 0);
    EXPECT_EQ(short_ones, 5);
}
