// SPDX-License-Identifier: Apache-2.0
// The out descriptor is watched only while something is queued. If the other side closes, what is queued is dropped:
// nobody would read it.
#include "agent/channel.hpp"

#include "agent/descriptors.hpp"
#include "agent/hosts.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace onesea::agent {
channel::channel(event_loop &loop, int in, int out, on_message received, on_end ended)
    : loop_(loop), in_(in), out_(out), received_(std::move(received)), ended_fn_(std::move(ended))
{
    no_wait(in_);
    loop_.watch(in_, EPOLLIN, [this](std::uint32_t events) {
        if (events & EPOLLOUT) write_some();
        if (events & ~std::uint32_t(EPOLLOUT)) arrived();
    });
    if (out_ == in_) return;
    no_wait(out_);
    loop_.watch(out_, 0, [this](std::uint32_t events) {
        if (events & EPOLLOUT)
            write_some();
        else
            loop_.forget(out_); // broken; the end of the other direction tells
    });
}

channel::~channel()
{
    ended_fn_ = nullptr;
    finish({});
    close(in_);
    if (out_ != in_) close(out_);
}

void channel::finish(const std::string &why)
{
    if (ended_) return;
    ended_ = true;
    loop_.forget(in_);
    if (out_ != in_) loop_.forget(out_);
    out_buffer_.clear();
    out_start_ = 0;
    if (auto fn = std::exchange(ended_fn_, nullptr)) fn(why);
}

void channel::update()
{
    if (ended_) return;
    const std::uint32_t in = EPOLLIN, out = queued() ? std::uint32_t(EPOLLOUT) : 0u;
    if (out_ == in_)
        loop_.change(in_, in | out);
    else
        loop_.change(out_, out);
}

void channel::send(const nlohmann::json &head, std::string_view body)
{
    if (ended_) return;
    bool idle = queued() == 0;
    if (idle) {
        out_buffer_.clear();
        out_start_ = 0;
    }
    out_buffer_ += encode(head, body);
    if (idle) write_some();
    if (level_ && queued() > level_) above_ = true;
}

void channel::when_below(std::size_t level, std::function<void()> fn)
{
    level_ = level;
    below_ = std::move(fn);
}

void channel::write_some()
{
    while (queued()) {
        ssize_t n = write(out_, out_buffer_.data() + out_start_, queued());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        // A broken line is noticed by the reader, after what had still arrived was handled.
        if (n < 0) out_start_ = out_buffer_.size();
        if (n >= 0) out_start_ += std::size_t(n);
    }
    if (out_start_ > (1u << 20) && out_start_ * 2 > out_buffer_.size()) {
        out_buffer_.erase(0, out_start_);
        out_start_ = 0;
    }
    update();
    if (above_ && queued() <= level_ / 2) {
        above_ = false;
        below_();
    }
}

void channel::flush_blocking(double seconds)
{
    std::uint64_t until = now_ns() + std::uint64_t(seconds * 1e9);
    while (!ended_ && queued() && now_ns() < until) {
        pollfd p{out_, POLLOUT, 0};
        poll(&p, 1, 50);
        write_some();
    }
}

void channel::arrived()
{
    static thread_local std::array<char, 1 << 16> bytes;
    ssize_t n = read(in_, bytes.data(), bytes.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) return finish(errno == ECONNRESET ? "" : strerror(errno));
    if (n == 0) return finish({});
    decoder_.feed({bytes.data(), std::size_t(n)});
    for (message m; !ended_;) {
        auto what = decoder_.next(&m);
        if (what == decoder::outcome::incomplete) return;
        if (what == decoder::outcome::damaged) return finish(decoder_.error());
        try {
            received_(m);
        } catch (const nlohmann::json::exception &e) {
            return finish(std::string("a message that is not understood: ") + e.what());
        } catch (const request_error &e) {
            return finish(e.what());
        }
    }
}

} // namespace onesea::agent
