// SPDX-License-Identifier: Apache-2.0
#include "core/sleeping.hpp"

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "core/engine.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

namespace onesea::core {
namespace {

timespec as_timespec(nanoseconds t) { return {time_t(t / 1'000'000'000), long(t % 1'000'000'000)}; }

[[noreturn]] void end_with_agent()
{
    log_line(level::error, "the agent of this node has died; this rank ends");
    _exit(125);
}

// Nothing would wake this rank any more, or numbers that mean other files by now are written to.
[[noreturn]] void end_without_descriptors()
{
    log_line(level::error,
             "the program has closed descriptors that the library holds open, or called it during sea_finalize(); this "
             "rank ends");
    _exit(125);
}

} // namespace

int wakers::open()
{
    kick_fd_ = above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    time_fd_ = above_standard(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    return kick_fd_ < 0 || time_fd_ < 0 ? errno : 0;
}

void wakers::close()
{
    for (int *fd : {&kick_fd_, &time_fd_})
        if (*fd >= 0) ::close(std::exchange(*fd, -1));
    time_set_ = false;
}

void wakers::kick()
{
    std::uint64_t one = 1;
    if (kick_fd_ >= 0 && ::write(kick_fd_, &one, sizeof one) < 0 && errno == EBADF) end_without_descriptors();
}

void wakers::take_kicks()
{
    std::uint64_t count;
    [[maybe_unused]] auto n = ::read(kick_fd_, &count, sizeof count);
}

bool wakers::wake_at(nanoseconds at)
{
    const itimerspec when{{0, 0}, as_timespec(std::max<nanoseconds>(at, 1))}; // 0 would be no time at all
    time_set_ = timerfd_settime(time_fd_, TFD_TIMER_ABSTIME, &when, nullptr) == 0;
    return time_set_;
}

void wakers::forget_time()
{
    const itimerspec none{};
    if (std::exchange(time_set_, false)) timerfd_settime(time_fd_, 0, &none, nullptr);
}

sleeping_place::sleeping_place()
{
    auto &e = engine();
    add(e.sleep.wake.kicks());
    add(e.sleep.wake.times());
    add(e.inherited.lifeline_fd);
    e.for_each_transport([&](transport &t) {
        for (int fd : t.wake_fds()) add(fd);
    });
}

void sleeping_place::add(int fd)
{
    if (fd >= 0) fds_[n_++] = {fd, POLLIN, 0};
}

void sleeping_place::sleep(nanoseconds until)
{
    timespec left{}, *limit = nullptr;
    if (until != never) {
        const nanoseconds now = now_ns();
        left = as_timespec(until > now ? until - now : 0);
        limit = &left;
    }
    if (ppoll(fds_.data(), n_, limit, nullptr) <= 0) return;
    for (unsigned i = 0; i < n_; ++i)
        if (fds_[i].revents & POLLNVAL) end_without_descriptors();
    auto &e = engine();
    if (fds_[0].revents) e.sleep.wake.take_kicks();
    if (e.inherited.lifeline_fd >= 0 && fds_[2].revents) end_with_agent();
}

} // namespace onesea::core
