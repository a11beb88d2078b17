// SPDX-License-Identifier: Apache-2.0
// The dispatcher and its stand-in around handlers of the program, which computes meanwhile.
#include "base/clock.hpp"
#include "core/engine.hpp"
#include "core/job_of_one.hpp"

#include <atomic>
#include <chrono>
#include <thread>

using namespace onesea;
using namespace onesea::core;

namespace {

constexpr int id = 9;
constexpr auto long_time = std::chrono::milliseconds(400);

std::atomic<int> run{0}, run_by_dispatcher{0};
std::atomic<std::uint64_t> polls_before{0}, polls_behind{0};

void *call_from_handler(const sea_am *, sea_am_complete_fn *, void **)
{
    if (is_dispatcher) {
        polls_before = engine().sleep.polls.load();
        EXPECT_EQ(sea_poll(), SEA_OK);
        polls_behind = engine().sleep.polls.load();
        ++run_by_dispatcher;
    }
    ++run;
    return nullptr;
}

void *take_long(const sea_am *, sea_am_complete_fn *, void **)
{
    std::this_thread::sleep_for(long_time);
    run_by_dispatcher += is_dispatcher;
    ++run;
    return nullptr;
}

void send_to_self()
{
    sea_opts o = SEA_OPTS_INIT;
    o.flags = SEA_NOWAIT;
    ASSERT_EQ(sea_am_send(0, id, nullptr, 0, nullptr, 0, &o), SEA_OK);
}

bool comes(const std::atomic<int> &word, int value)
{
    for (const nanoseconds end = now_ns() + 20'000'000'000; word < value && now_ns() < end;)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return word >= value;
}

// Of the thread that sleeps for all.
std::uint64_t sleeps()
{
    const locked lock = enter();
    return engine().counts->process().sleeps;
}

} // namespace

// It would keep away from a program that calls by itself, and what comes next would wait for a millisecond.
TEST_F(JobOfOne, the_dispatcher_takes_no_call_of_a_handler_that_it_runs_for_one_of_the_program)
{
    ASSERT_EQ(sea_am_register(id, call_from_handler, nullptr), SEA_OK);
    for (int i = 1; i <= 200 && run_by_dispatcher == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        send_to_self();
        ASSERT_TRUE(comes(run, i));
    }
    ASSERT_GT(run_by_dispatcher, 0);
    EXPECT_EQ(polls_behind, polls_before);
    EXPECT_EQ(sea_fence(0), SEA_OK);
}

// Nothing comes and nothing is due: then it looks no more often than the dispatcher would.
TEST_F(JobOfOne, who_stands_in_for_the_dispatcher_sleeps_while_nothing_is_to_be_done)
{
    ASSERT_EQ(sea_am_register(id, take_long, nullptr), SEA_OK);
    run = run_by_dispatcher = 0;
    for (int i = 1; i <= 20 && run_by_dispatcher == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the dispatcher sleeps
        const std::uint64_t before = sleeps();
        send_to_self();
        std::this_thread::sleep_for(long_time * 3 / 4);
        EXPECT_LT(sleeps() - before, 50u);
        ASSERT_TRUE(comes(run, i));
    }
    ASSERT_GT(run_by_dispatcher, 0);
    EXPECT_EQ(sea_fence(0), SEA_OK);
}
