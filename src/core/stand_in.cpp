// SPDX-License-Identifier: Apache-2.0
#include "core/stand_in.hpp"

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "core/engine.hpp"
#include "core/start_rate.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace onesea::core {
namespace {

constexpr nanoseconds long_run = 4'000'000;       // of handlers
constexpr nanoseconds shortest_pause = 1'000'000; // while others make progress; grows up to
constexpr nanoseconds longest_pause = 2 * long_run;
constexpr nanoseconds look_again = 1'000'000; // at the deadlines of what a program started

bool in_handlers(std::uint64_t run) { return run % 2 == 1; }

void pause_for(nanoseconds time) { std::this_thread::sleep_for(std::chrono::nanoseconds(time)); }

// Who else makes progress: a thread of the program, or the handler where it calls.
class others {
  public:
    bool make_progress()
    {
        auto &s = engine().sleep;
        const std::uint64_t now = s.polls.load() + s.handler_polls.load();
        return std::exchange(seen_, now) != now || s.waiters.load() > 0;
    }

  private:
    std::uint64_t seen_ = engine().sleep.polls.load() + engine().sleep.handler_polls.load();
};

} // namespace

void alarm_clock::open()
{
    fd_ = above_standard(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
}

void alarm_clock::close()
{
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void alarm_clock::set(std::int64_t nanoseconds_from_now)
{
    const itimerspec when{{0, 0}, {0, nanoseconds_from_now}};
    timerfd_settime(fd_, 0, &when, nullptr);
}

void alarm_clock::await() const
{
    std::uint64_t times;
    [[maybe_unused]] auto n = ::read(fd_, &times, sizeof times);
}

void stand_in::begin()
{
    const std::uint64_t run = runs_.fetch_add(1) + 1;
    if (!std::exchange(tried_, true)) return make(run);
    if (asleep_.load()) set_alarm(run);
}

void stand_in::make(std::uint64_t run)
{
    try {
        alarm_.open();
        alarm_of_ = run;
        alarm_.set(long_run);
        thread_ = own_thread([this] { stand_by(); });
    } catch (const std::system_error &e) {
        alarm_.close();
        log(level::warn, "no thread stands in for handlers that take long: {}", e.what());
    }
}

void stand_in::end()
{
    runs_.fetch_add(1);
    // Two that sleep for a program that computes would be one too many.
    auto &s = engine().sleep;
    if (s.blocked && s.blocked_by_dispatcher) s.wake.kick();
}

void stand_in::stop()
{
    if (!thread_.joinable()) return;
    {
        locked lock = enter();
        stop_ = true;
        engine().sleep.wake.kick();
    }
    alarm_.set(1);
    thread_.join();
    alarm_.close();
    stop_ = asleep_ = tried_ = false;
}

// By the dispatcher or by the stand-in, whoever is the first to see that none is set.
void stand_in::set_alarm(std::uint64_t run)
{
    if (!asleep_.exchange(false)) return;
    alarm_of_ = run;
    alarm_.set(long_run);
}

void stand_in::stand_by()
{
    is_dispatcher = true;
    while (true) {
        alarm_.await();
        if (stop_.load()) return;
        if (const std::uint64_t run = runs_.load(); in_handlers(run) && run == alarm_of_.load()) serve(run);
        asleep_ = true; // who begins after this sees it; who began before is seen here
        if (const std::uint64_t run = runs_.load(); in_handlers(run)) set_alarm(run);
    }
}

void stand_in::serve(std::uint64_t run)
{
    auto &s = engine().sleep;
    others all;
    start_rate starts;
    starts.is_high(s.starts.load(std::memory_order_relaxed), now_ns());
    nanoseconds pause = shortest_pause;
    while (kept(run)) {
        if (all.make_progress()) {
            pause_for(std::exchange(pause, std::min(2 * pause, longest_pause)));
            continue;
        }
        pause = shortest_pause;
        locked lock = enter();
        const bool any = progress_once();
        run_handlers_beside(lock);
        if (any || !kept(run) || s.waiters.load() > 0 || engine().handlers.any_beside()) continue;
        starts.is_high(s.starts.load(std::memory_order_relaxed), s.last_look);
        block(lock, starts.any() ? s.last_look + look_again : never, [] { return false; });
    }
}

} // namespace onesea::core
