// SPDX-License-Identifier: Apache-2.0
#include "net/page_lender.hpp"

#include "base/log.hpp"
#include "net/send_pieces.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace onesea::net {
namespace {

constexpr int pipe_bytes = 32 * int(page_bytes); // one of its buffers for each page; the usual 16 are too few
constexpr unsigned most_failures = 4;            // in a row

std::uintptr_t number_of(const void *at) { return reinterpret_cast<std::uintptr_t>(at); }

// How the pieces go: the first long one is lent; of one that takes too many fragments whole pages, as many as there may
// be.
struct division {
    std::array<iovec, most_pieces + 1> before, behind;
    std::size_t before_count = 0, behind_count = 0, before_bytes = 0, behind_bytes = 0;
    iovec lent{};

    explicit division(std::span<const iovec> pieces)
    {
        std::size_t at = 0;
        while (at < pieces.size() && pieces[at].iov_len < least_lent) add_before(pieces[at++]);
        if (at == pieces.size()) return;
        lent = pieces[at];
        for (const iovec &p : pieces.subspan(at + 1)) behind_bytes += p.iov_len;
        if (!fits()) lend_whole_pages();
        behind_bytes = 0;
        const std::size_t rest = number_of(pieces[at].iov_base) + pieces[at].iov_len - number_of(end_of_lent());
        add_behind({end_of_lent(), rest});
        for (const iovec &p : pieces.subspan(at + 1)) add_behind(p);
    }
    std::size_t bytes() const { return before_bytes + lent.iov_len + behind_bytes; }
    bool possible() const { return lent.iov_len > 0 && before_bytes > 0 && bytes() <= gso_bytes && fits(); }

  private:
    std::byte *end_of_lent() const { return static_cast<std::byte *>(lent.iov_base) + lent.iov_len; }
    std::size_t free_fragments() const // for pages
    {
        const std::size_t copied = fragments_of(before_bytes) + fragments_of(behind_bytes);
        return most_fragments - std::min(copied, most_fragments);
    }
    bool fits() const
    {
        const std::uintptr_t first = number_of(lent.iov_base);
        return (first + lent.iov_len - 1) / page_bytes - first / page_bytes + 1 <= free_fragments();
    }
    void lend_whole_pages()
    {
        const std::size_t head = -number_of(lent.iov_base) % page_bytes;
        add_before({lent.iov_base, head});
        behind_bytes += page_bytes; // about: what is cut off
        const std::size_t pages = std::min((lent.iov_len - head) / page_bytes, free_fragments());
        lent = {static_cast<std::byte *>(lent.iov_base) + head, pages * page_bytes};
    }
    void add_before(const iovec &p)
    {
        if (p.iov_len) before[before_count++] = p;
        before_bytes += p.iov_len;
    }
    void add_behind(const iovec &p)
    {
        if (p.iov_len) behind[behind_count++] = p;
        behind_bytes += p.iov_len;
    }
};

} // namespace

bool page_lender::open_pipe()
{
    int ends[2];
    if (in_ >= 0) return true;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    out_ = ends[0];
    in_ = ends[1];
    if (fcntl(in_, F_SETPIPE_SZ, pipe_bytes) >= pipe_bytes) return true;
    close_pipe();
    return false;
}

void page_lender::close_pipe()
{
    for (int *end : {&in_, &out_})
        if (*end >= 0) ::close(std::exchange(*end, -1));
}

// Memory that is not there, or that the kernel cannot refer to, is no reason to give up: the next may be another.
bool page_lender::fill_pipe(const iovec &lent)
{
    if (!open_pipe()) {
        given_up_ = true;
        return false;
    }
    const ssize_t n = vmsplice(in_, &lent, 1, SPLICE_F_NONBLOCK);
    if (n == ssize_t(lent.iov_len)) return true;
    if (n < 0 && errno != EFAULT && errno != ENOMEM) given_up_ = true;
    if (n >= 0) close_pipe(); // what is in it was not wanted
    return false;
}

// In the middle of a datagram: what the kernel has of it goes, and is dropped where it arrives.
int page_lender::cut_off(int fd, int error)
{
    const int no = 0;
    setsockopt(fd, IPPROTO_UDP, UDP_CORK, &no, sizeof no);
    close_pipe();
    if (error == EAGAIN || error == ENOBUFS || error == ENOMEM) return error;
    if (++failures_ == most_failures) {
        given_up_ = true;
        log(level::info, "the kernel does not send pages of the program ({}); they are copied", std::strerror(error));
    }
    return not_lent;
}

int page_lender::send(int fd, const endpoint *to, std::span<const iovec> pieces)
{
    if (given_up_) return not_lent;
    division d(pieces);
    if (!d.possible() || !fill_pipe(d.lent)) return not_lent;
    // In one segment, or the kernel sums up the bytes of a datagram that comes in several calls.
    if (send_pieces(fd, to, {d.before.data(), d.before_count}, d.bytes(), MSG_MORE) < 0) {
        const int error = errno; // nothing has begun
        close_pipe();
        return error;
    }
    const unsigned more = d.behind_count ? SPLICE_F_MORE : 0;
    const ssize_t lent = splice(out_, nullptr, fd, nullptr, d.lent.iov_len, more);
    if (lent != ssize_t(d.lent.iov_len)) return cut_off(fd, lent < 0 ? errno : EIO);
    if (d.behind_count && send_pieces(fd, nullptr, {d.behind.data(), d.behind_count}, 0) < 0) return cut_off(fd, errno);
    failures_ = 0;
    return 0;
}

} // namespace onesea::net
