// SPDX-License-Identifier: Apache-2.0
#include "core/stand_in.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "core/engine.hpp"

#include <chrono>
#include <system_error>
#include <utility>

namespace onesea::core {
namespace {

constexpr std::chrono::milliseconds look{4}, keep_away{1};
constexpr int looks_before_parking = 8;
constexpr nanoseconds look_again = 1'000'000; // at the deadlines of what a program started

bool in_handlers(std::uint64_t run) { return run % 2 == 1; }

} // namespace

void stand_in::begin()
{
    runs_.fetch_add(1);
    if (!std::exchange(tried_, true)) return make();
    if (!parked_.load()) return;
    std::lock_guard lock(mutex_);
    wake_.notify_one();
}

void stand_in::make()
{
    try {
        thread_ = own_thread([this] { stand_by(); });
    } catch (const std::system_error &e) {
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
        engine().sleep.changed.notify_all();
        engine().sleep.wake.kick();
        std::lock_guard own(mutex_);
        wake_.notify_one();
    }
    thread_.join();
    stop_ = tried_ = false;
}

void stand_in::stand_by()
{
    is_dispatcher = true;
    std::uint64_t seen = 0;
    int idle = 0;
    while (!stop_.load()) {
        const std::uint64_t now = runs_.load();
        if (now == seen && in_handlers(now)) {
            serve(now);
            continue;
        }
        idle = now == seen ? idle + 1 : 0;
        seen = now;
        std::unique_lock lock(mutex_);
        if (idle < looks_before_parking) {
            if (!stop_.load()) wake_.wait_for(lock, look);
            continue;
        }
        parked_ = true; // who begins after this sees it; who began before is seen here
        while (kept(now)) wake_.wait(lock);
        parked_ = false;
    }
}

void stand_in::serve(std::uint64_t run)
{
    auto &s = engine().sleep;
    std::uint64_t polls = s.polls.load() + s.handler_polls.load();
    while (kept(run)) {
        const std::uint64_t now = s.polls.load() + s.handler_polls.load();
        if (s.waiters.load() > 0 || now != polls) { // the program does, or the handler
            polls = now;
            std::unique_lock lock(mutex_);
            if (!stop_.load()) wake_.wait_for(lock, keep_away);
            continue;
        }
        locked lock = enter();
        if (progress_once() || !kept(run)) continue;
        block(lock, s.last_look + look_again, [] { return false; });
    }
}

} // namespace onesea::core
