// SPDX-License-Identifier: Apache-2.0
// stdout is shared with whoever started us, so it must not become non-blocking. Instead each write is small enough that
// a pipe which poll() calls writable takes it whole (PIPE_BUF bytes). Regular files always take everything. A terminal
// promises nothing of the kind, and the room in a pipe may be taken by another writer before we write: both are opened
// once more, for us alone, without blocking. A socket is told with each write.
#include "agent/byte_sink.hpp"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace onesea::agent {

namespace {

mode_t kind_of(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 ? info.st_mode & S_IFMT : 0;
}

int own_opening(int fd)
{
    if (!isatty(fd) && kind_of(fd) != S_IFIFO) return -1;
    return open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

} // namespace

byte_sink::byte_sink(event_loop &loop, int fd)
    : loop_(loop), own_(own_opening(fd)), fd_(own_ < 0 ? fd : own_), kind_(kind_of(fd_))
{
}

byte_sink::~byte_sink()
{
    if (watched_) loop_.forget(fd_);
    if (own_ >= 0) close(own_);
}

bool byte_sink::ready() const
{
    pollfd p{fd_, POLLOUT, 0};
    return poll(&p, 1, 0) > 0;
}

void byte_sink::write(std::string_view bytes)
{
    if (error_ || bytes.empty()) return;
    bool idle = queued() == 0;
    buffer_ += bytes;
    if (idle) write_some();
}

void byte_sink::write_some()
{
    const bool file = kind_ == S_IFREG;
    while (queued() && (file || ready())) {
        std::size_t piece = file ? queued() : std::min<std::size_t>(queued(), PIPE_BUF);
        const char *from = buffer_.data() + start_;
        ssize_t n = kind_ == S_IFSOCK ? send(fd_, from, piece, MSG_DONTWAIT | MSG_NOSIGNAL) : ::write(fd_, from, piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) {
            error_ = errno;
            start_ = buffer_.size();
            break;
        }
        start_ += std::size_t(n);
    }
    if (start_ == buffer_.size() || start_ > (1u << 20)) {
        buffer_.erase(0, start_);
        start_ = 0;
    }
    if (queued() && !watched_)
        watched_ = loop_.watch(fd_, EPOLLOUT, [this](std::uint32_t) { write_some(); });
    else if (!queued() && watched_) {
        loop_.forget(fd_);
        watched_ = false;
    }
    if (progress_) progress_();
}

} // namespace onesea::agent
