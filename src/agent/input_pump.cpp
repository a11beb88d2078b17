// SPDX-License-Identifier: Apache-2.0
// At most `window` bytes per rank are under way, so a rank that does not read costs bounded memory, and with
// --stdin all the slowest reader sets the pace. A terminal is read only while the launcher is in its foreground:
// reading it from the background would stop the whole job.
#include "agent/input_pump.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <unistd.h>

namespace onesea::agent {
namespace {

constexpr std::size_t window = 256 * 1024;
constexpr double background_retry_s = 0.5;

bool in_background() { return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp(); }

} // namespace

input_pump::input_pump(event_loop &loop, std::vector<unsigned> ranks, deliver give)
    : loop_(loop), ranks_(std::move(ranks)), give_(std::move(give))
{
    unsigned last = ranks_.empty() ? 0 : *std::max_element(ranks_.begin(), ranks_.end());
    outstanding_.resize(last + 1);
}

input_pump::~input_pump()
{
    if (watched_) loop_.forget(STDIN_FILENO);
    if (scheduled_) loop_.cancel(timer_);
}

void input_pump::start()
{
    open_ = !ranks_.empty();
    if (!open_) return;
    watched_ = loop_.watch(STDIN_FILENO, 0, [this](std::uint32_t) { pump(); });
    update();
}

bool input_pump::has_room() const
{
    return std::all_of(ranks_.begin(), ranks_.end(), [&](unsigned r) { return outstanding_[r] < window; });
}

void input_pump::update()
{
    bool wanted = open_ && !ranks_.empty() && has_room();
    bool later = wanted && watched_ && in_background();
    if (watched_) loop_.change(STDIN_FILENO, wanted && !later ? std::uint32_t(EPOLLIN) : 0u);
    if (!wanted || scheduled_ || (watched_ && !later)) return;
    scheduled_ = true; // a file is always ready and cannot be watched; a terminal may come back to us
    timer_ = loop_.after(watched_ ? background_retry_s : 0, [this] {
        scheduled_ = false;
        if (watched_)
            update();
        else
            pump();
    });
}

void input_pump::pump()
{
    static std::array<char, 1 << 16> bytes;
    if (!open_) return;
    if (in_background()) return update();
    ssize_t n = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return update();
    if (n <= 0) {
        open_ = false;
        if (watched_) loop_.forget(STDIN_FILENO);
        watched_ = false;
    }
    std::string_view piece(bytes.data(), n > 0 ? std::size_t(n) : 0);
    for (unsigned r : ranks_) {
        outstanding_[r] += piece.size();
        give_(r, piece);
    }
    update();
}

void input_pump::taken(unsigned rank, std::size_t bytes)
{
    if (rank >= outstanding_.size()) return;
    outstanding_[rank] -= std::min(bytes, outstanding_[rank]);
    update();
}

void input_pump::ended(unsigned rank)
{
    std::erase(ranks_, rank);
    update();
}

} // namespace onesea::agent
