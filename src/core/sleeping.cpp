// SPDX-License-Identifier: Apache-2.0
#include "core/sleeping.hpp"

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "core/engine.hpp"

#include <cerrno>
#include <sys/epoll.h>
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

int sleeping_place::open(const wakers &wake, int lifeline)
{
    rare_fd_ = above_standard(epoll_create1(EPOLL_CLOEXEC));
    if (rare_fd_ < 0) return errno;
    fds_.fill({-1, POLLIN, 0});
    fds_[0].fd = rare_fd_;
    return watch(wake.kicks()) && watch(wake.times()) && (lifeline < 0 || watch(lifeline)) ? 0 : errno;
}

bool sleeping_place::watch(int fd)
{
    epoll_event event{EPOLLIN, {.fd = fd}};
    return epoll_ctl(rare_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void sleeping_place::close()
{
    if (rare_fd_ >= 0) ::close(std::exchange(rare_fd_, -1));
}

void sleeping_place::look_around()
{
    auto next = fds_.begin() + 1;
    engine().for_each_transport([&](transport &t) {
        for (int fd : t.wake_fds()) next++->fd = fd;
    });
    while (next != fds_.end()) next++->fd = -1; // poll() passes over it
}

void sleeping_place::sleep(nanoseconds until)
{
    timespec left{}, *limit = nullptr;
    if (until != never) {
        const nanoseconds now = now_ns();
        left = as_timespec(until > now ? until - now : 0);
        limit = &left;
    }
    if (ppoll(fds_.data(), fds_.size(), limit, nullptr) <= 0) {
        for (pollfd &fd : fds_) fd.revents = 0; // an interrupted call has left them as they were
        return;
    }
    for (const pollfd &fd : fds_)
        if (fd.revents & POLLNVAL) end_without_descriptors();
    if (fds_[0].revents) take_rare();
}

void sleeping_place::take_rare()
{
    auto &e = engine();
    std::array<epoll_event, 3> events;
    const int n = epoll_wait(rare_fd_, events.data(), int(events.size()), 0);
    for (int i = 0; i < n; ++i) {
        const int fd = events[std::size_t(i)].data.fd;
        if (fd == e.sleep.wake.kicks()) e.sleep.wake.take_kicks();
        if (fd == e.inherited.lifeline_fd) end_with_agent();
    }
}

void sleeping_place::woken()
{
    auto next = fds_.begin() + 1;
    engine().for_each_transport([&](transport &t) {
        bool any = false;
        for (unsigned i = 0; i < transport::most_wake_fds; ++i) any |= next++->revents != 0;
        if (any) t.was_woken();
    });
}

} // namespace onesea::core
