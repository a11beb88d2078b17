// SPDX-License-Identifier: Apache-2.0
// Who makes progress, and how a process waits.
//
// A thread inside wait() polls the transports itself: first it spins for a bounded time (short, and yielding, when
// more ranks than cores share the machine), then one of the waiting threads sleeps in ppoll() for all of them while
// the others sleep on a condition variable. When no thread is inside the library the dispatcher does the same for the
// program that computes.
//
// Handing over must cost nothing in a program that calls often. So the dispatcher is not woken when a wait returns: as
// long as waits keep coming it only looks now and then whether they still do, and goes to the socket when they do not.
// Calls that only start something make no progress: behind them the dispatcher looks soon, so that what was held back
// goes in time. Where they follow each other closely they make progress themselves, and it looks later. Where one has
// the lock when the dispatcher wants it, or waits for it, the dispatcher asks it to look in its place, and keeps away
// for a moment. A thread that comes in while the dispatcher sleeps in ppoll() kicks it out once. After many looks
// during which a thread of the program slept inside the library, the dispatcher parks without a timer; that thread
// unparks it when it leaves.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "core/away_time.hpp"
#include "core/engine.hpp"

#include <cmath>
#include <optional>
#include <sched.h>
#include <utility>

namespace onesea::core {
namespace {

constexpr nanoseconds between_let_outs = 10'000; // of what is held, by calls that did not wait
constexpr nanoseconds spin_alone = 200'000;
// More ranks than processors: who waits lets the others compute, and looks again behind them. That may last longer at
// the beginning of a wait than behind each thing that came and did not end it, as where others put into the memory of a
// rank that waits for all of it.
constexpr nanoseconds first_spin_crowded = 500'000, spin_crowded = 20'000;
constexpr nanoseconds look_due = 200'000; // after the last one, where starts make progress themselves ...
constexpr unsigned starts_per_look = 64;  // ... and each so many of them read the clock
constexpr int handlers_at_once = 256;

// Looked at in every round: found by one instruction instead of a call, as in a program that is linked to the library.
[[gnu::tls_model("initial-exec")]] thread_local bool in_handler = false;
[[gnu::tls_model("initial-exec")]] thread_local double time_limit = SEA_FOREVER;

void kick() { engine().sleep.wake.kick(); }

// The thread that sleeps for all, also if what it looks at before throws.
class sleeper_for_all {
  public:
    sleeper_for_all()
    {
        auto &s = engine().sleep;
        s.blocked = true;
        ++s.arms;
        s.blocked_by_dispatcher = is_dispatcher && !in_handler; // a handler may wait like the program
    }
    ~sleeper_for_all()
    {
        auto &s = engine().sleep;
        s.wake.forget_time();
        engine().for_each_transport([](transport &t) { t.disarm(); });
        s.blocked = false;
        if (s.parked) s.changed.notify_all();
    }
    sleeper_for_all(const sleeper_for_all &) = delete;
    sleeper_for_all &operator=(const sleeper_for_all &) = delete;
};

} // namespace

// Who finds work in each round keeps a processor that others want, too: the kernel gives them their share of it.
void breathe(locked &lock, bool busy)
{
    auto &s = engine().sleep;
    lock.unlock();
    if ((s.oversubscribed && !busy) || s.entering.load(std::memory_order_relaxed))
        sched_yield();
    else
        __builtin_ia32_pause();
    lock.lock();
}

namespace {

void note_wait(nanoseconds began, nanoseconds now)
{
    process_counts &c = engine().counts->process();
    ++c.waits;
    c.wait_ns += now - began;
}

// What is written under the engine lock alone, and looked at without it: no other thread adds meanwhile.
template <class T>
T add(std::atomic<T> &counter, T n)
{
    const T now = counter.load(std::memory_order_relaxed) + n;
    counter.store(now, std::memory_order_release);
    return now;
}

// A thread of the program, or a handler, that makes progress itself, also if that throws.
class waiter {
  public:
    bool slept = false;

    waiter()
    {
        auto &s = engine().sleep;
        s.waiters.fetch_add(1); // a barrier, too: who nudges makes true what is waited for, and looks at this
        if (s.blocked && s.blocked_by_dispatcher) kick();
    }
    ~waiter()
    {
        auto &s = engine().sleep;
        count_word &since = engine().counts->waiting_since();
        if (add(s.waiters, -1) == 0 && since != 0) since.set(0);
        // Behind a handler that has called the dispatcher goes on at once.
        add<std::uint64_t>(is_dispatcher ? s.handler_polls : s.polls, 1);
        if (s.parked)
            s.changed.notify_all(); // one of them polls now
        else if (slept && s.dispatcher_parked.load())
            wake_dispatcher();
    }
    static void began(nanoseconds now)
    {
        if (count_word &since = engine().counts->waiting_since(); since == 0) since.set(now);
    }
    waiter(const waiter &) = delete;
    waiter &operator=(const waiter &) = delete;
};

} // namespace

bool block(locked &lock, nanoseconds until, function_ref<bool()> ready)
{
    auto &e = engine();
    auto &s = e.sleep;
    if (s.blocked) {
        const std::uint64_t armed = s.arms;
        if (ready()) return true;
        if (!s.blocked || s.arms != armed) return false; // the lock was let go meanwhile
        ++e.counts->process().sleeps;
        ++s.parked;
        if (until == never)
            s.changed.wait(lock);
        else
            s.changed.wait_for(lock, std::chrono::nanoseconds(until - std::min(until, now_ns())));
        --s.parked;
        return false;
    }
    ++e.counts->process().sleeps;
    const sleeper_for_all sleeper;
    bool quiet = true;
    e.for_each_transport([&](transport &t) {
        quiet &= t.arm(s.waiters.load() > 0);
        until = std::min(until, t.deadline());
    });
    const nanoseconds rest = quiet ? sources_rest() : 0;
    if (rest != never && rest != 0) until = std::min(until, now_ns() + rest);
    s.blocked_until = until;
    const bool now_ready = ready();
    if (!now_ready && quiet && rest != 0) {
        e.sleep.place.look_around();
        lock.unlock();
        e.sleep.place.sleep(until);
        lock.lock();
        e.sleep.place.woken();
    }
    return now_ready;
}

locked enter()
{
    auto &e = engine();
    locked lock(e.mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
        e.sleep.entering.fetch_add(1, std::memory_order_relaxed);
        lock.lock();
        e.sleep.entering.fetch_sub(1, std::memory_order_relaxed);
    }
    return lock;
}

bool progress_once() noexcept
{
    auto &e = engine();
    nanoseconds now = e.sleep.last_look = now_ns();
    bool any = false;
    e.for_each_transport([&](transport &t) { any |= t.poll(now); });
    any |= poll_sources();
    if (e.arena.header().membership.load(std::memory_order_acquire) != e.seen_membership) {
        check_membership();
        any = true;
    }
    if (!e.startable.empty()) run_startable();
    if (any) notify_progress();
    return any;
}

void notify_progress()
{
    auto &s = engine().sleep;
    if (s.parked) s.changed.notify_all();
    if (s.blocked && !s.blocked_by_dispatcher) kick();
}

// Of two threads that count at the same moment one is enough.
static std::uint64_t count_start()
{
    auto &starts = engine().sleep.starts;
    const std::uint64_t now = starts.load(std::memory_order_relaxed) + 1;
    starts.store(now, std::memory_order_relaxed);
    return now;
}

// The dispatcher keeps away where a program starts very many, so that they look themselves.
[[gnu::noinline]] static void look_if_due()
{
    auto &s = engine().sleep;
    if (s.waiters.load(std::memory_order_relaxed) == 0 && now_ns() - s.last_look > look_due) progress_once();
}

static bool look_is_asked() { return engine().sleep.look_asked.load(std::memory_order_relaxed); }

[[gnu::noinline]] static void look_when_asked()
{
    auto &s = engine().sleep;
    s.look_asked.store(false, std::memory_order_relaxed);
    if (s.waiters.load(std::memory_order_relaxed) == 0) progress_once();
}

// What the caller started may have to be done before the sleeper would look: it asks what it asked when it fell
// asleep.
[[gnu::noinline]] static void wake_sleeper_in_time()
{
    auto &e = engine();
    nanoseconds &until = e.sleep.blocked_until;
    nanoseconds deadline = e.startable.empty() && !e.answers_follow() ? never : 0;
    e.for_each_transport([&](const transport &t) { deadline = std::min(deadline, t.deadline()); });
    if (deadline >= until) {
        const nanoseconds rest = sources_rest();
        if (rest != never) deadline = rest == 0 ? 0 : now_ns() + rest;
    }
    if (deadline >= until) return;
    if (deadline != 0 && e.sleep.wake.wake_at(deadline))
        until = deadline;
    else
        kick();
}

// The caller goes back to the program and leaves something that this process has to go on with: the dispatcher is not
// to be away for long.
[[gnu::noinline]] static void call_back()
{
    auto &s = engine().sleep;
    s.called_back.store(true, std::memory_order_relaxed);
    if (s.away_until.load(std::memory_order_relaxed) > now_ns() + away_time::shortest) wake_dispatcher();
}

static bool holds_something()
{
    bool held = false;
    engine().for_each_transport([&](const transport &t) { held |= t.holds(); });
    return held;
}

static void call_back_if_held()
{
    auto &s = engine().sleep;
    if (s.away_until.load(std::memory_order_relaxed) == 0 || s.called_back.load(std::memory_order_relaxed)) return;
    if (holds_something()) call_back();
}

void leave_long_transfer()
{
    if (!engine().sleep.called_back.load(std::memory_order_relaxed)) call_back();
}

void started()
{
    const std::uint64_t starts = count_start();
    call_back_if_held();
    if (engine().sleep.blocked)
        wake_sleeper_in_time();
    else if (look_is_asked()) [[unlikely]]
        look_when_asked();
    else if (starts % starts_per_look == 0)
        look_if_due();
}

void wake_if_late(engine_held_t)
{
    if (engine().sleep.blocked) wake_sleeper_in_time();
}

void wake_for_deadlines(engine_held_t held)
{
    count_start();
    call_back_if_held();
    wake_if_late(held);
}

bool anybody_waits() { return engine().sleep.waiters.load(std::memory_order_relaxed) > 0; }

void left_open(bool less_rest)
{
    count_start();
    if (!less_rest || !engine().sleep.blocked) return;
    const locked lock = enter();
    wake_if_late(engine_held);
}

void wake_dispatcher_soon()
{
    count_start();
    if (engine().sleep.blocked) kick();
}

bool inside_handler() { return in_handler; }

bool engine_state::answers_follow() const
{
    return handlers.any_beside() || (!in_handler && !handlers.running && !handlers.empty());
}

namespace {

// While a handler of the program runs, the dispatcher takes over as if the program computed, and the stand-in for the
// dispatcher.
class away_for_handlers {
  public:
    away_for_handlers()
    {
        auto &s = engine().sleep;
        if (is_dispatcher) {
            s.stands_in.begin();
            return;
        }
        add<std::uint64_t>(s.polls, 1); // it comes at the next look, not at once
        add(s.waiters, -1);
        if (s.dispatcher_parked.load()) wake_dispatcher();
    }
    ~away_for_handlers()
    {
        auto &s = engine().sleep;
        if (is_dispatcher) {
            s.stands_in.end();
            return;
        }
        s.waiters.fetch_add(1);
        if (s.blocked && s.blocked_by_dispatcher) kick();
    }
};

class handlers_run {
  public:
    handlers_run() { in_handler = engine().handlers.running = true; }
    ~handlers_run() { in_handler = engine().handlers.running = false; }
    handlers_run(const handlers_run &) = delete;
    handlers_run &operator=(const handlers_run &) = delete;
};

// Also within a handler of the program, whose thread goes on with that behind it.
class beside_run {
  public:
    beside_run() : before_(std::exchange(in_handler, true)) { ++engine().handlers.running_beside; }
    ~beside_run()
    {
        --engine().handlers.running_beside;
        in_handler = before_;
    }
    beside_run(const beside_run &) = delete;
    beside_run &operator=(const beside_run &) = delete;

  private:
    const bool before_;
};

using pop_fn = bool (handler_queue::*)(handler_task *);

void run_some_handlers(locked &lock, pop_fn pop)
{
    handler_task task;
    for (int i = 0; i < handlers_at_once && (engine().handlers.*pop)(&task); ++i) {
        run_handler(lock, task);
        run_startable();
    }
}

void send_what_handlers_left()
{
    engine().for_each_transport([](transport &t) { t.flush(); });
    notify_progress();
}

} // namespace

void run_handlers_beside(locked &lock)
{
    if (!engine().handlers.any_beside()) return;
    {
        const beside_run running;
        run_some_handlers(lock, &handler_queue::pop_beside);
    }
    send_what_handlers_left();
}

void run_handlers(locked &lock)
{
    auto &e = engine();
    if (e.handlers.any_beside()) { // they may copy much
        std::optional<away_for_handlers> away;
        if (!in_handler) away.emplace();
        run_handlers_beside(lock);
    }
    if (in_handler || e.handlers.running || e.handlers.empty()) return;
    {
        const handlers_run running;
        away_for_handlers away;
        run_some_handlers(lock, &handler_queue::pop);
    }
    send_what_handlers_left();
}

bool held_is_due()
{
    if (!holds_something()) return false;
    auto &s = engine().sleep;
    const nanoseconds now = now_ns();
    if (now < s.next_let_out.load(std::memory_order_relaxed)) return false;
    s.next_let_out.store(now + between_let_outs, std::memory_order_relaxed);
    return true;
}

void send_held(const locked &)
{
    engine().for_each_transport([](transport &t) { t.flush(); });
}

void poll_round(locked &lock)
{
    const waiter here;
    send_held(lock);
    progress_once();
    run_handlers(lock);
}

namespace {

class watching {
  public:
    explicit watching(const function_ref<bool()> *ready) { engine().sleep.watched = ready; }
    ~watching() { engine().sleep.watched = nullptr; }
    watching(const watching &) = delete;
    watching &operator=(const watching &) = delete;
};

int wait(locked &lock, function_ref<bool()> ready, nanoseconds deadline, nanoseconds nap, bool watched)
{
    if (ready()) {
        if (held_is_due()) send_held(lock);
        return SEA_OK;
    }
    auto &s = engine().sleep;
    waiter here;
    send_held(lock);
    if (engine().net) nap = std::min(nap, longest_silence);
    const nanoseconds first_spin = s.oversubscribed ? first_spin_crowded : spin_alone;
    const nanoseconds spin = s.oversubscribed ? spin_crowded : spin_alone;
    nanoseconds spin_until = 0, began = 0; // set by the first look
    int status = SEA_OK;
    while (true) {
        bool any = [&] {
            const watching what(watched ? &ready : nullptr);
            return progress_once();
        }();
        if (!began) here.began(began = s.last_look);
        if (ready()) break;
        run_handlers(lock);
        if (ready()) break;
        nanoseconds now = s.last_look;
        if (now >= deadline) {
            status = fail(SEA_ERR_TIMEOUT, "the time given has passed");
            break;
        }
        if (spin_until == 0) spin_until = now + first_spin;
        if (any) spin_until = std::max(spin_until, now + spin);
        if (now < spin_until || engine().answers_follow()) {
            breathe(lock, any);
        } else {
            here.slept = true;
            if (block(lock, std::min(deadline, nap == never ? never : now + nap), ready)) break;
        }
        if (ready()) break;
    }
    note_wait(began, here.slept ? now_ns() : s.last_look);
    return status;
}

} // namespace

int wait(locked &lock, function_ref<bool()> ready, nanoseconds deadline, nanoseconds nap)
{
    return wait(lock, ready, deadline, nap, false);
}

int wait_watched(locked &lock, function_ref<bool()> ready, nanoseconds deadline)
{
    return wait(lock, ready, deadline, never, true);
}

nanoseconds thread_deadline() { return deadline_after(time_limit); }

namespace {

class without_lock {
  public:
    explicit without_lock(locked &lock) : lock_(lock) { lock_.unlock(); }
    ~without_lock() { lock_.lock(); }
    without_lock(const without_lock &) = delete;
    without_lock &operator=(const without_lock &) = delete;

  private:
    locked &lock_;
};

} // namespace

int wait_until(bool (*ready)(void *), void *argument, nanoseconds deadline)
{
    // The condition is looked at without the lock, since its owner may hold a lock of its own when it calls nudge().
    // A nudge that comes meanwhile is seen by its number.
    auto &s = engine().sleep;
    locked lock = enter();
    auto look = [&] {
        while (true) {
            std::uint64_t before = s.nudges;
            const bool yes = [&] {
                const without_lock here(lock);
                return ready(argument);
            }();
            if (yes || s.nudges == before) return yes;
        }
    };
    return wait(lock, look, deadline);
}

int wait_watched(bool (*ready)(void *), void *argument, nanoseconds deadline)
{
    locked lock = enter();
    return wait_watched(
        lock, [&] { return ready(argument); }, deadline);
}

bool take_in(engine_held_t) { return progress_once(); }

void nudge()
{
    auto &s = engine().sleep;
    if (s.waiters.load() == 0) return;
    locked lock = enter();
    nudge(engine_held);
}

void nudge(engine_held_t)
{
    ++engine().sleep.nudges;
    notify_progress();
}

} // namespace onesea::core

using namespace onesea;
using namespace onesea::core;

int sea_set_timeout(double seconds)
{
    if (std::isnan(seconds)) return fail(SEA_ERR_INVALID, "sea_set_timeout: the time is not a number");
    if (seconds < 0 && seconds != SEA_FOREVER)
        return fail(SEA_ERR_INVALID, "sea_set_timeout: {} seconds are no time", seconds);
    time_limit = seconds;
    return SEA_OK;
}

double sea_timeout(void) { return time_limit; }

int sea_poll(void)
{
    if (int s = check_started("sea_poll")) return s;
    locked lock = enter();
    poll_round(lock);
    return SEA_OK;
}

double sea_time(void) { return double(now_ns()) * 1e-9; }
