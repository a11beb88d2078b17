// SPDX-License-Identifier: Apache-2.0
// The dispatcher: the thread that makes progress and runs handlers while no thread of the program is inside the
// library. When it looks, and for how long it keeps away: see progress.cpp.
#include "base/clock.hpp"
#include "core/away_time.hpp"
#include "core/engine.hpp"
#include "core/short_turns.hpp"
#include "core/start_rate.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <utility>

namespace onesea::core {

[[gnu::tls_model("initial-exec")]] constinit thread_local bool is_dispatcher = false;

void wake_dispatcher()
{
    auto &s = engine().sleep;
    std::lock_guard away(s.away_mutex);
    s.dispatcher_wake.notify_one();
}

namespace {

constexpr int looks_before_parking = 8;
constexpr nanoseconds look_again = 1'000'000;      // at the deadlines of what a program started
constexpr unsigned long timer_slack = 1000;        // ns; what is held back waits a few us
constexpr std::uint64_t dispatcher_turn = 100'000; // ns; kernels give no shorter ones
constexpr nanoseconds stall_limit = 10'000'000;    // of a round: so long others wait for this rank
constexpr nanoseconds way_given = 100'000;         // to a thread of the program
constexpr int tries_for_lock = 200;                // short calls are over by then, what sends is not

// The program makes progress itself, or did since the last look: the dispatcher keeps away from the transports.
bool program_makes_progress(std::uint64_t &seen)
{
    auto &s = engine().sleep;
    std::uint64_t now = s.polls.load();
    bool was_here = s.waiters.load() > 0 || now != seen;
    seen = now;
    return was_here;
}

bool program_sleeps_here()
{
    auto &s = engine().sleep;
    return s.waiters.load() > 0 && s.blocked.load();
}

// Stays away without the engine lock, so that a program that spins is not disturbed.
void stay_away(std::unique_lock<std::mutex> &away, nanoseconds time)
{
    engine().sleep.dispatcher_wake.wait_for(away, std::chrono::nanoseconds(time));
}

// Until the thread of the program that sleeps in the library leaves it.
void park(std::unique_lock<std::mutex> &away)
{
    auto &s = engine().sleep;
    s.dispatcher_parked = true; // whoever leaves the library after this sees it; who left before is seen here
    if (program_sleeps_here()) s.dispatcher_wake.wait(away);
    s.dispatcher_parked = false;
}

// While the program makes progress, or did so since the last look.
class attendance {
  public:
    void look_later(nanoseconds now)
    {
        auto &s = engine().sleep;
        std::unique_lock away(s.away_mutex);
        if (s.stop.load()) return;
        if (s.called_back.exchange(false)) over();
        if (!program_sleeps_here()) {
            const nanoseconds time = time_.next(now);
            s.away_until = now + time;
            stay_away(away, time);
            s.away_until = 0;
        } else if (++sleeping_ <= looks_before_parking) {
            stay_away(away, away_time::shortest);
        } else {
            over();
            park(away);
        }
    }
    void over() { time_.reset(), sleeping_ = 0; }

  private:
    away_time time_;
    int sleeping_ = 0; // looks at a program that slept in the library
};

// How long a round has taken is known when the next one begins, or before the dispatcher sleeps: no clock is read for
// it while work keeps coming.
void note_round(nanoseconds began, nanoseconds now)
{
    process_counts &c = engine().counts->process();
    ++c.rounds;
    if (now - began <= stall_limit) return;
    ++c.stalls;
    if (now - began > c.longest_stall_ns) c.longest_stall_ns.set(now - began);
}

// Two threads that take turns at the lock wake each other for every packet. So where the program has it, or wants it,
// the program is asked to look behind what it does now.
void give_way()
{
    auto &s = engine().sleep;
    s.look_asked = true;
    std::unique_lock away(s.away_mutex);
    if (!s.stop.load()) stay_away(away, way_given);
}

// Not owned: the program has the lock. It is waited for where nobody has looked since it was asked.
locked enter_if_free()
{
    auto &s = engine().sleep;
    if (s.look_asked) {
        s.look_asked = false;
        return enter();
    }
    locked lock(engine().mutex, std::try_to_lock);
    for (int i = 1; i < tries_for_lock && !lock.owns_lock(); ++i) {
        __builtin_ia32_pause();
        lock.try_lock();
    }
    return lock;
}

void dispatch()
{
    is_dispatcher = true;
    prctl(PR_SET_TIMERSLACK, timer_slack);
    wish_for_turns_of(dispatcher_turn);
    auto &s = engine().sleep;
    std::uint64_t seen = 0;
    start_rate starts;
    attendance attended;
    nanoseconds began = 0; // the last round, if its end has not been seen
    while (!s.stop.load()) {
        if (program_makes_progress(seen)) {
            const nanoseconds now = now_ns();
            if (began) note_round(std::exchange(began, 0), now);
            attended.look_later(now);
            continue;
        }
        attended.over();
        locked lock = enter_if_free();
        if (!lock.owns_lock()) {
            if (began) note_round(std::exchange(began, 0), now_ns());
            give_way();
            continue;
        }
        bool any = progress_once();
        if (began) note_round(began, s.last_look);
        began = s.last_look;
        run_handlers(lock);
        const bool is_wanted = s.entering.load(std::memory_order_relaxed) > 0;
        if (!is_wanted && (any || engine().answers_follow())) continue;
        const nanoseconds now = now_ns();
        note_round(std::exchange(began, 0), now);
        if (is_wanted) {
            lock.unlock();
            give_way();
            continue;
        }
        if (starts.is_high(s.starts.load(std::memory_order_relaxed), now)) {
            lock.unlock();
            std::unique_lock away(s.away_mutex);
            if (!s.stop.load()) stay_away(away, away_time::shortest);
        } else if (!s.stop.load() && s.waiters.load() == 0 && !engine().shm->comes_at_once()) {
            block(lock, starts.any() ? now + look_again : never, [] { return false; }); // more may come without a kick
        }
    }
}

// From the threads that are made meanwhile: the program's handlers of them run in its own.
class signals_kept_out {
  public:
    signals_kept_out()
    {
        sigset_t all;
        sigfillset(&all);
        // Its own faults end the process if they are blocked, though the program may live on them.
        for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&all, fault);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~signals_kept_out() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_kept_out(const signals_kept_out &) = delete;
    signals_kept_out &operator=(const signals_kept_out &) = delete;

  private:
    sigset_t before_;
};

} // namespace

std::thread own_thread(std::function<void()> run)
{
    const signals_kept_out here;
    try {
        std::thread made(std::move(run));
        pthread_setname_np(made.native_handle(), "onesea");
        return made;
    } catch (const std::system_error &refused) {
        throw std::system_error(refused.code(), "no thread can be started (ulimit -u, or pids.max of the cgroup)");
    }
}

void start_dispatcher()
{
    auto &s = engine().sleep;
    s.stop = false;
    s.dispatcher = own_thread(dispatch);
}

void stop_dispatcher()
{
    auto &s = engine().sleep;
    {
        locked lock(engine().mutex);
        s.stop = true;
        s.changed.notify_all();
        s.wake.kick();
    }
    wake_dispatcher();
    if (s.dispatcher.joinable()) s.dispatcher.join();
    s.stands_in.stop();
}

} // namespace onesea::core
