// SPDX-License-Identifier: Apache-2.0
#include "net/page_lender.hpp"

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/pages.hpp"
#include "net/send_pieces.hpp"

#include <algorithm>
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
constexpr std::size_t least_along = page_bytes;  // is lent beside a long piece

std::uintptr_t number_of(const void *at) { return reinterpret_cast<std::uintptr_t>(at); }

std::size_t pages_of(const iovec &p) { return onesea::pages_of(p.iov_base, p.iov_len); }

std::size_t pages_of(std::span<const iovec> pieces)
{
    std::size_t pages = 0;
    for (const iovec &p : pieces) pages += pages_of(p);
    return pages;
}

std::size_t bytes_of(std::span<const iovec> pieces)
{
    std::size_t bytes = 0;
    for (const iovec &p : pieces) bytes += p.iov_len;
    return bytes;
}

bool any_long(std::span<const iovec> pieces)
{
    return std::ranges::any_of(pieces, [](const iovec &p) { return p.iov_len >= least_lent; });
}

// How the pieces go that one splice() cannot carry. All but the short ones at the front are lent if they are few pages;
// else the first long one, or of one that takes too many fragments whole pages, as many as there may be.
struct division {
    using pieces_array = std::array<iovec, most_pieces + 1>;
    pieces_array before, lent, behind;
    std::size_t before_count = 0, lent_count = 0, behind_count = 0;

    explicit division(std::span<const iovec> pieces)
    {
        std::size_t at = 0;
        while (at < pieces.size() && pieces[at].iov_len < least_along) add(before, &before_count, pieces[at++]);
        if (any_long(pieces) && pages_of(pieces.subspan(at)) <= std::min(free_fragments(0), most_spliced)) {
            for (const iovec &p : pieces.subspan(at)) add(lent, &lent_count, p);
            return;
        }
        while (at < pieces.size() && pieces[at].iov_len < least_lent) add(before, &before_count, pieces[at++]);
        if (at == pieces.size()) return;
        const auto rest = pieces.subspan(at + 1);
        iovec first = pieces[at];
        if (pages_of(first) > free_fragments(bytes_of(rest))) first = whole_pages(first, bytes_of(rest) + page_bytes);
        lent[lent_count++] = first;
        auto *const end = static_cast<std::byte *>(first.iov_base) + first.iov_len;
        const iovec cut{end, number_of(pieces[at].iov_base) + pieces[at].iov_len - number_of(end)};
        const std::size_t pages = pages_of(first) + pages_of(cut) + pages_of(rest);
        const bool all = pages <= std::min(free_fragments(0), most_spliced);
        add(all ? lent : behind, all ? &lent_count : &behind_count, cut);
        for (const iovec &p : rest) add(all ? lent : behind, all ? &lent_count : &behind_count, p);
    }
    std::size_t before_bytes() const { return bytes_of({before.data(), before_count}); }
    std::size_t lent_bytes() const { return bytes_of({lent.data(), lent_count}); }
    std::size_t behind_bytes() const { return bytes_of({behind.data(), behind_count}); }
    std::size_t bytes() const { return before_bytes() + lent_bytes() + behind_bytes(); }
    bool possible() const
    {
        return lent_count > 0 && lent[0].iov_len > 0 && before_bytes() > 0 && bytes() <= gso_bytes &&
               pages_of({lent.data(), lent_count}) <= free_fragments(behind_bytes());
    }

  private:
    std::size_t free_fragments(std::size_t copied_behind) const // for pages
    {
        const std::size_t copied = fragments_of(before_bytes()) + fragments_of(copied_behind);
        return most_fragments - std::min(copied, most_fragments);
    }
    iovec whole_pages(const iovec &piece, std::size_t about_behind)
    {
        const std::size_t head = -number_of(piece.iov_base) % page_bytes;
        add(before, &before_count, {piece.iov_base, head});
        const std::size_t pages = std::min((piece.iov_len - head) / page_bytes, free_fragments(about_behind));
        return {static_cast<std::byte *>(piece.iov_base) + head, pages * page_bytes};
    }
    static void add(pieces_array &to, std::size_t *count, const iovec &p)
    {
        if (p.iov_len) to[(*count)++] = p;
    }
};

} // namespace

bool page_lender::open_pipe()
{
    int ends[2];
    if (in_ >= 0) return true;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    out_ = above_standard(ends[0]);
    in_ = above_standard(ends[1]);
    if (out_ >= 0 && in_ >= 0 && fcntl(in_, F_SETPIPE_SZ, pipe_bytes) >= pipe_bytes) return true;
    close_pipe();
    return false;
}

void page_lender::close_pipe()
{
    for (int *end : {&in_, &out_})
        if (*end >= 0) ::close(std::exchange(*end, -1));
}

// Memory that is not there, or that the kernel cannot refer to, is no reason to give up: the next may be another.
bool page_lender::fill_pipe(std::span<const iovec> lent, std::size_t bytes)
{
    if (!open_pipe()) {
        given_up_ = true;
        return false;
    }
    const ssize_t n = vmsplice(in_, lent.data(), lent.size(), SPLICE_F_NONBLOCK);
    if (n == ssize_t(bytes)) return true;
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
    return failed(error);
}

int page_lender::failed(int error)
{
    if (++failures_ == most_failures) {
        given_up_ = true;
        log(level::info, "the kernel does not send pages of the program ({}); they are copied", std::strerror(error));
    }
    return not_lent;
}

int page_lender::send_all(int fd, std::span<const iovec> pieces, std::size_t bytes)
{
    if (!fill_pipe(pieces, bytes)) return not_lent;
    const ssize_t sent = splice(out_, nullptr, fd, nullptr, bytes, 0);
    const int error = sent < 0 ? errno : EIO;
    if (sent != ssize_t(bytes)) close_pipe();
    if (sent >= 0 && sent != ssize_t(bytes)) return failed(error);
    if (sent < 0) return error == EINVAL || error == EOPNOTSUPP ? failed(error) : error; // nothing has begun
    failures_ = 0;
    return 0;
}

int page_lender::send(int fd, const endpoint *to, std::span<const iovec> pieces, std::size_t segment, bool alone)
{
    if (given_up_) return not_lent;
    bool may_lend = true;
    for (const iovec &p : pieces)
        if (p.iov_len >= least_along) may_lend &= huge_pages_.may_lend(p.iov_base, p.iov_len, alone);
    if (!may_lend) return not_lent;
    const std::size_t all = bytes_of(pieces);
    if (!to && !segment && pages_of(pieces) <= most_spliced && any_long(pieces) && all <= gso_bytes)
        return send_all(fd, pieces, all);
    division d(pieces);
    const std::span<const iovec> lent(d.lent.data(), d.lent_count);
    if (!d.possible() || !fill_pipe(lent, d.lent_bytes())) return not_lent;
    // In one segment, or the kernel sums up the bytes of a datagram that comes in several calls.
    if (send_pieces(fd, to, {d.before.data(), d.before_count}, segment ? segment : d.bytes(), MSG_MORE) < 0) {
        const int error = errno; // nothing has begun
        close_pipe();
        return error;
    }
    const unsigned more = d.behind_count ? SPLICE_F_MORE : 0;
    const ssize_t spliced = splice(out_, nullptr, fd, nullptr, d.lent_bytes(), more);
    if (spliced != ssize_t(d.lent_bytes())) return cut_off(fd, spliced < 0 ? errno : EIO);
    if (d.behind_count && send_pieces(fd, nullptr, {d.behind.data(), d.behind_count}, 0) < 0) return cut_off(fd, errno);
    failures_ = 0;
    return 0;
}

} // namespace onesea::net
