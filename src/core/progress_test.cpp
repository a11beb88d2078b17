// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"
#include "core/away_time.hpp"
#include "core/engine.hpp"
#include "core/job_of_one.hpp"

#include <atomic>
#include <memory>
#include <new>
#include <sys/eventfd.h>
#include <thread>
#include <utility>

using namespace onesea;
using namespace onesea::core;

namespace {

class idle_transport : public transport {
  public:
    std::uint32_t capabilities() const override { return 0; }
    bool reach(int) const override { return false; }
    std::size_t max_frame(int) const override { return 1280; }
    const path_tuning &tuning(int) const override { return tuning_; }
    void send(int, const outgoing &) override {}
    void flush() override {}
    bool poll(nanoseconds) override { return false; }
    wake_set wake_fds() const override { return {-1, -1}; }
    bool arm(bool) override { return true; }
    void disarm() override {}
    nanoseconds deadline() const override { return never; }
    void peer_gone(int, bool) override {}
    bool idle() const override { return true; }
    void close() override {}

  private:
    path_tuning tuning_;
};

// A neighbour writes just before it would ring, and the last look was before.
class late_neighbour final : public idle_transport {
  public:
    bool written = false;

    bool arm(bool for_memory) override
    {
        written |= for_memory; // for_memory: by who waits, and not by the dispatcher
        return true;
    }
};

// What is sent waits for company, until its time has come or flush() is called.
class holding_transport final : public idle_transport {
  public:
    std::atomic<unsigned> flushed{0}, timed_out{0}, polls{0};

    void hold(nanoseconds until)
    {
        due_ = until;
        holds_ = true;
    }
    void flush() override
    {
        if (holds_.exchange(false)) ++flushed;
        due_ = never;
    }
    bool poll(nanoseconds now) override
    {
        ++polls;
        if (now < due_ || !holds_.exchange(false)) return false;
        due_ = never;
        ++timed_out;
        return true;
    }
    nanoseconds deadline() const override { return due_; }

  private:
    nanoseconds due_ = never;
};

// Always has more; a poll takes in much of it, or stops where the thread may go on.
class generous_transport final : public idle_transport {
  public:
    static constexpr int at_once = 100;
    int taken_in = 0;

    bool poll(nanoseconds) override
    {
        for (int i = 0; i < at_once; ++i) {
            ++taken_in;
            if (engine().may_go_on()) break;
        }
        return true;
    }
};

// Has more at every look.
class busy_transport final : public idle_transport {
  public:
    unsigned looks_of_program = 0;

    bool poll(nanoseconds) override
    {
        looks_of_program += !is_dispatcher;
        return true;
    }
};

// Has a descriptor, at which it is told that it was readable.
class ringing_transport final : public idle_transport {
  public:
    std::atomic<int> woken{0};

    void ring() const { eventfd_write(bell(), 1); }
    wake_set wake_fds() const override { return {-1, bell()}; }
    void was_woken() override
    {
        eventfd_t count;
        eventfd_read(bell(), &count);
        ++woken;
    }

  private:
    static int bell()
    {
        static const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); // stays: the dispatcher may be falling asleep
        return fd;
    }
};

// Work of a layer above, as the messages have it: nothing of it is known to a transport.
std::atomic<bool> work_above{false};

[[maybe_unused]] const bool source_added = [] {
    add_progress_source({[] { return work_above.exchange(false); }, [] { return work_above ? 0 : never; }, nullptr});
    return true;
}();

// Another transport of it, for as long as this lives.
template <class Transport>
class added {
  public:
    added()
    {
        auto made = std::make_unique<Transport>();
        made_ = made.get();
        locked lock = enter();
        engine().net = std::move(made);
    }
    ~added()
    {
        locked lock = enter();
        engine().net.reset();
    }
    Transport *operator->() { return made_; }

  private:
    Transport *made_;
};

TEST_F(JobOfOne, who_falls_asleep_looks_once_more_after_it_has_asked_to_be_woken)
{
    added<late_neighbour> neighbour;
    locked lock = enter();
    const nanoseconds limit = deadline_after(30);
    EXPECT_EQ(wait(
                  lock, [&] { return neighbour->written; }, limit),
              SEA_OK);
    EXPECT_LT(now_ns(), limit) << "it slept until its time was over";
}

TEST_F(JobOfOne, who_says_what_it_waits_for_goes_on_before_more_is_taken_in)
{
    added<generous_transport> more;
    locked lock = enter();
    const auto third_has_come = [&] { return more->taken_in >= 3; };
    more->taken_in = 0; // the dispatcher may have been there
    EXPECT_EQ(wait_watched(lock, third_has_come, never), SEA_OK);
    EXPECT_EQ(more->taken_in, 3);
    EXPECT_FALSE(engine().may_go_on()) << "nobody waits any more";
    more->taken_in = 0;
    EXPECT_EQ(wait(lock, third_has_come, never), SEA_OK);
    EXPECT_EQ(more->taken_in % generous_transport::at_once, 0) << "it did not say so";
}

// As where there is no memory for what it makes of what it sees.
TEST_F(JobOfOne, a_wait_that_ends_by_an_exception_holds_up_nobody)
{
    const auto &s = engine().sleep;
    const auto nobody_waits = [&] { return s.waiters == 0 && !(s.blocked && !s.blocked_by_dispatcher); };
    locked lock = enter();
    int looks = 0;
    const auto throws_while_it_spins = [&]() -> bool { return ++looks > 3 ? throw std::bad_alloc() : false; };
    EXPECT_THROW(wait(lock, throws_while_it_spins, never), std::bad_alloc);
    EXPECT_TRUE(lock.owns_lock() && nobody_waits());
    const auto throws_when_it_falls_asleep = [&]() -> bool {
        return s.blocked && !s.blocked_by_dispatcher ? throw std::bad_alloc() : false;
    };
    EXPECT_THROW(wait(lock, throws_when_it_falls_asleep, never), std::bad_alloc);
    EXPECT_TRUE(lock.owns_lock() && nobody_waits());
    lock.unlock();
    EXPECT_THROW(wait_until([](void *) -> bool { throw std::bad_alloc(); }, nullptr, never), std::bad_alloc);
    lock.lock(); // nobody has it
    EXPECT_TRUE(nobody_waits());
}

// The program may compute for long behind a call that finds what it waits for.
TEST_F(JobOfOne, a_call_that_need_not_wait_sends_what_was_held_back)
{
    added<holding_transport> held;
    sea_counter there{1};
    {
        locked lock = enter();
        held->hold(never);
    }
    EXPECT_EQ(sea_counter_wait(&there, 1, SEA_FOREVER), SEA_OK);
    EXPECT_EQ(held->flushed, 1u);
    const unsigned calls = 10'000;
    for (unsigned i = 0; i < calls; ++i) {
        {
            locked lock = enter();
            held->hold(never);
        }
        EXPECT_EQ(sea_counter_wait(&there, 1, SEA_FOREVER), SEA_OK);
    }
    EXPECT_LT(held->flushed, calls) << "or nothing would ever share a packet";
}

// It computes between its puts, and never makes a call that waits.
TEST_F(JobOfOne, what_was_held_back_goes_in_time_though_the_program_only_starts_operations)
{
    added<holding_transport> held;
    for (int i = 0; i < 500 && held->timed_out < 10; ++i) {
        {
            locked lock = enter();
            held->hold(now_ns() + 20'000);
            i % 2 ? started() : wake_for_deadlines(engine_held);
        }
        for (const nanoseconds end = now_ns() + 300'000; now_ns() < end;) continue;
    }
    EXPECT_GE(held->timed_out, 10u) << "the dispatcher kept away while operations were started";
    EXPECT_EQ(held->flushed, 0u);
}

// The dispatcher is away for 4 ms from a program that has called for so long, and would be again, since it was called
// lately. The best of some times: a busy machine makes them longer, not shorter.
TEST_F(JobOfOne, what_needs_this_process_ends_a_long_absence_of_the_dispatcher)
{
    added<holding_transport> held;
    const auto leaves = [&](bool much) {
        locked lock = enter();
        if (!much) held->hold(now_ns() + 20'000);
        much ? leave_long_transfer() : wake_for_deadlines(engine_held);
    };
    for (bool much : {false, true}) {
        nanoseconds best = never;
        for (int i = 0; i < 20; ++i) {
            for (const nanoseconds end = now_ns() + 40'000'000; now_ns() < end;) ASSERT_EQ(sea_poll(), SEA_OK);
            const nanoseconds began = now_ns();
            const unsigned before = held->polls;
            leaves(much);
            // Where the thread lost its processor just now, the dispatcher may be there already, and need not look.
            while (held->polls == before && now_ns() - began < 100'000'000) continue;
            best = std::min(best, now_ns() - began);
        }
        EXPECT_LT(best, away_time::longest) << (much ? "much is to be moved" : "something is held back");
    }
}

TEST_F(JobOfOne, what_went_at_once_wakes_nobody)
{
    added<holding_transport> idle;
    auto looks = [&] {
        locked lock = enter();
        return idle->polls.load();
    };
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // the dispatcher sleeps
    const unsigned calls = 200, before = looks();
    for (unsigned i = 0; i < calls; ++i) {
        {
            locked lock = enter();
            wake_for_deadlines(engine_held);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    EXPECT_LT(looks() - before, calls / 2);
}

// The time of what was started came to be known while the dispatcher slept. It takes no processor from the program
// before that time, and is there then.
TEST_F(JobOfOne, a_time_that_is_told_to_the_sleeper_wakes_it_then_and_not_at_once)
{
    added<holding_transport> held;
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // the dispatcher sleeps
    const nanoseconds due = now_ns() + 2'000'000'000;
    unsigned before;
    {
        locked lock = enter();
        before = held->polls;
        held->hold(due);
        wake_for_deadlines(engine_held);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const unsigned looks = held->polls - before;
    if (now_ns() < due) {
        EXPECT_EQ(looks, 0u);
    }
    for (const nanoseconds end = due + 10'000'000'000; held->timed_out == 0 && now_ns() < end;)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(held->timed_out, 1u) << "it slept on";
}

TEST_F(JobOfOne, what_a_layer_above_has_to_do_is_done_though_the_program_makes_no_other_call)
{
    for (auto *end_of_call : {+[] { started(); }, +[] { wake_for_deadlines(engine_held); }}) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50)); // the dispatcher sleeps
        {
            locked lock = enter();
            work_above = true;
            end_of_call();
        }
        for (const nanoseconds end = now_ns() + 10'000'000'000; work_above && now_ns() < end;)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        EXPECT_FALSE(work_above.exchange(false)) << "it slept on";
    }
}

TEST_F(JobOfOne, a_call_that_has_the_lock_is_asked_to_look_in_place_of_the_dispatcher)
{
    added<busy_transport> busy;
    auto &asked = engine().sleep.look_asked;
    const nanoseconds limit = deadline_after(20);
    while (now_ns() < limit) {
        if (engine().sleep.blocked) engine().sleep.wake.kick();
        {
            locked lock = enter();
            for (const nanoseconds end = now_ns() + 1'000'000; !asked && now_ns() < end;) continue;
            if (asked) {
                const unsigned before = busy->looks_of_program;
                started();
                const bool still_asked = asked; // once more, if this took long
                const bool looked = busy->looks_of_program == before + 1;
                ASSERT_TRUE(looked || !still_asked);
                if (looked && !still_asked) return;
            }
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // for the dispatcher, which waited for the lock
    }
    FAIL() << "nobody was asked in time";
}

TEST_F(JobOfOne, a_transport_is_told_when_its_descriptor_has_woken_who_slept_and_not_when_something_else_has)
{
    added<ringing_transport> rung;
    auto &s = engine().sleep;
    const auto eventually = [](auto &&condition) {
        for (const nanoseconds end = deadline_after(20); now_ns() < end;) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        return false;
    };
    std::uint64_t seen = 0;
    const auto sleeps_anew = [&] {
        locked lock = enter();
        return s.blocked && std::exchange(seen, s.arms) != s.arms;
    };
    for (int i = 1; i <= 20; ++i) {
        ASSERT_TRUE(eventually(sleeps_anew)) << i;
        s.wake.kick();
        ASSERT_TRUE(eventually(sleeps_anew)) << i;
        ASSERT_EQ(rung->woken, i - 1);
        rung->ring();
        ASSERT_TRUE(eventually([&] { return rung->woken == i; })) << i;
    }
}

// Another thread turns the epoch again before the first has seen that its own has ended.
TEST_F(JobOfOne, a_fence_waits_for_nothing_that_began_behind_a_later_one)
{
    peer *p = nullptr;
    unsigned epoch = 0;
    auto turned = [&] {
        locked lock = enter();
        return p->epoch != epoch;
    };
    {
        locked lock = enter();
        p = &engine().peer_of(0);
        epoch = p->epoch;
        ++p->unfinished[epoch];
    }
    std::atomic<int> status{-1};
    std::thread first([&] {
        sea_set_timeout(20);
        status = sea_fence(0);
    });
    while (!turned()) std::this_thread::yield();
    {
        locked lock = enter();
        --p->unfinished[epoch];
        EXPECT_EQ(fence_everything(lock, deadline_after(20)), SEA_OK);
        ++p->unfinished[p->epoch];
        nudge(engine_held);
    }
    first.join();
    EXPECT_EQ(status, SEA_OK);
    locked lock = enter();
    --p->unfinished[p->epoch];
}

} // namespace
