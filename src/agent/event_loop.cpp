// SPDX-License-Identifier: Apache-2.0
// epoll, level triggered. A descriptor that is forgotten and whose number is used again within one round might get an
// event that was meant for its predecessor; callbacks read without blocking, so it does no harm.
#include "agent/event_loop.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <stdexcept>
#include <sys/epoll.h>
#include <unistd.h>

namespace onesea::agent {

int granted(int fd, const char *call)
{
    if (fd >= 0) return fd;
    throw std::runtime_error(fmt::format("{}: {}{}", call, strerror(errno),
                                         errno == EMFILE ? " (raise the limit of open files: ulimit -n)" : ""));
}

event_loop::event_loop() : epoll_(granted(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {}

event_loop::~event_loop() { close(epoll_); }

bool event_loop::watch(int fd, std::uint32_t events, callback fn)
{
    epoll_event e{};
    e.events = events;
    e.data.fd = fd;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &e) != 0) {
        if (errno == EPERM) return false;
        throw std::runtime_error(fmt::format("epoll_ctl of descriptor {} failed: {}", fd, strerror(errno)));
    }
    watched_[fd] = std::make_shared<watched>(watched{events, std::move(fn)});
    return true;
}

void event_loop::change(int fd, std::uint32_t events)
{
    auto found = watched_.find(fd);
    if (found == watched_.end() || found->second->events == events) return;
    found->second->events = events;
    epoll_event e{};
    e.events = events;
    e.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &e);
}

void event_loop::forget(int fd)
{
    if (watched_.erase(fd)) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

event_loop::timer event_loop::after(double seconds, std::function<void()> fn)
{
    timer t{now_ns() + std::uint64_t(seconds * 1e9), ++timers_made_};
    timers_.emplace(t, std::move(fn));
    return t;
}

void event_loop::cancel(timer t) { timers_.erase(t); }

void event_loop::run_timers()
{
    std::uint64_t now = now_ns();
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
        auto fn = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
        fn();
    }
}

void event_loop::run_once()
{
    int wait_ms = -1;
    if (!timers_.empty()) {
        std::uint64_t now = now_ns(), due = timers_.begin()->first.first;
        wait_ms = due <= now ? 0 : int(std::min<std::uint64_t>((due - now + 999'999) / 1'000'000, 60'000));
    }
    std::array<epoll_event, 64> events;
    int n = epoll_wait(epoll_, events.data(), int(events.size()), wait_ms);
    for (int i = 0; i < n; ++i) {
        auto found = watched_.find(events[std::size_t(i)].data.fd);
        if (found == watched_.end()) continue;
        auto keep = found->second; // the callback may forget itself
        keep->fn(events[std::size_t(i)].events);
    }
    run_timers();
}

} // namespace onesea::agent
