// SPDX-License-Identifier: Apache-2.0
#include "net/socket_io.hpp"

#include "base/log.hpp"
#include "base/pages.hpp"
#include "net/send_pieces.hpp"
#include "net/socket_filter.hpp"
#include "net/train.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace onesea::net {
namespace {

constexpr unsigned long_empty = 32; // looks

// These three are without the C library's preparations for a thread that is cancelled meanwhile, which cost a twentieth
// of the call.
ssize_t quick_send(int fd, std::span<const std::byte> bytes)
{
    return syscall(SYS_sendto, fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
}

ssize_t quick_receive(int fd, std::span<std::byte> room)
{
    return syscall(SYS_recvfrom, fd, room.data(), room.size(), MSG_DONTWAIT, nullptr, nullptr);
}

ssize_t quick_receive(int fd, msghdr *message) { return syscall(SYS_recvmsg, fd, message, MSG_DONTWAIT); }

bool something_waits(int fd)
{
    int bytes = 0; // of the first datagram
    return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

// How many at the front go in one send: equal sizes, only the last may be shorter.
unsigned share_a_send(std::span<const datagram> d, bool gso)
{
    unsigned n = 1;
    std::size_t total = d[0].bytes, pieces = d[0].count;
    while (gso && n < d.size() && n < gso_segments && !d[0].train && !d[n].train && d[n - 1].bytes == d[0].bytes &&
           d[n].bytes <= d[0].bytes && total + d[n].bytes <= gso_bytes && pieces + d[n].count <= most_pieces_of_send) {
        pieces += d[n].count;
        total += d[n++].bytes;
    }
    return n;
}

// At most most_pieces_of_send. What lies one behind the other is one piece.
std::size_t as_iovecs(std::span<const datagram> group, iovec *pieces)
{
    std::size_t count = 0;
    for (const datagram &d : group)
        for (unsigned i = 0; i < d.count; ++i) {
            auto *at = const_cast<std::byte *>(d.pieces[i].data());
            if (count && static_cast<std::byte *>(pieces[count - 1].iov_base) + pieces[count - 1].iov_len == at)
                pieces[count - 1].iov_len += d.pieces[i].size();
            else
                pieces[count++] = {at, d.pieces[i].size()};
        }
    return count;
}

} // namespace

socket_io::socket_io(int fd, bool name_sources)
    : fd_(fd), name_sources_(name_sources),
      buffer_(static_cast<std::byte *>(::operator new[](buffer_bytes, std::align_val_t(page_bytes)))),
      send_pieces_(std::make_unique_for_overwrite<iovec[]>(most_pieces_of_send))
{
    receive_bytes_ = std::size_t(std::max(option_of(fd, SOL_SOCKET, SO_RCVBUF), 0));
}

// What a peer sent before comes from one socket, what it sends from now on from the other: what waits would be
// overtaken and look lost. So a change is made only while nothing waits, and what comes meanwhile is read first.
bool socket_io::prefer(const endpoint &peer)
{
    if (express_.leads_to(peer) || something_waits(fd_) || (express_.fd() >= 0 && something_waits(express_.fd())))
        return false;
    const bool opened = express_.connect_to(peer, fd_);
    main_busy_ = true;
    turn_ |= 1; // the main one is next
    return opened;
}

// The express socket needs none: the kernel gives it datagrams of its peer only.
void socket_io::admit(const entry_rules &rules)
{
    if (!attach_filter(fd_, rules) && std::exchange(filtered_, false))
        log(level::info, "the kernel takes no filter for the socket ({}); going on without", std::strerror(errno));
}

std::uint64_t socket_io::dropped_before()
{
    const std::uint32_t main = kernel_drops(fd_), express = express_.fd() < 0 ? 0 : kernel_drops(express_.fd());
    dropped_before_ += main - std::exchange(seen_main_, main);
    dropped_before_ += express - std::exchange(seen_express_, express);
    return dropped_before_;
}

int socket_io::send_group(const endpoint &to, std::span<const datagram> group)
{
    const bool express = is_express(to);
    const int fd = express ? express_.fd() : fd_;
    if (express && group.size() == 1 && group[0].count == 1) {
        auto piece = group[0].pieces[0];
        return quick_send(fd, piece) >= 0 ? 0 : errno;
    }
    const std::span<iovec> pieces(send_pieces_.get(), as_iovecs(group, send_pieces_.get()));
    if (group.size() == 1 && group[0].lasting && gso_) return send_lent(to, pieces, 0, group[0].alone);
    return send_in_one(to, pieces, group.size() > 1 ? group[0].bytes : 0);
}

int socket_io::send_lent(const endpoint &to, std::span<iovec> pieces, std::size_t segment, bool alone)
{
    const bool express = is_express(to);
    const int error = lender_.send(express ? express_.fd() : fd_, express ? nullptr : &to, pieces, segment, alone);
    return error != page_lender::not_lent ? error : send_in_one(to, pieces, segment);
}

// Whose datagrams are not cut by the kernel, does not come in one piece either.
int socket_io::send_bare_train(const endpoint &to, const datagram &packet)
{
    iovec pieces[most_pieces];
    const std::size_t count = as_iovecs({&packet, 1}, pieces);
    if (!gso_) return EOPNOTSUPP;
    return packet.lasting ? send_lent(to, {pieces, count}, packet.train, packet.alone)
                          : send_in_one(to, {pieces, count}, packet.train);
}

int socket_io::send_train(const endpoint &to, const datagram &packet)
{
    if (packet.bare) return send_bare_train(to, packet);
    cut_train train(packet);
    if (gso_) return send_in_one(to, train.whole(), packet.train);
    for (unsigned i = 0; i < train.count(); ++i)
        if (int error = send_in_one(to, train.at(i), 0)) return error;
    return 0;
}

int socket_io::send_in_one(const endpoint &to, std::span<iovec> pieces, std::size_t segment)
{
    const bool express = is_express(to);
    return send_pieces(express ? express_.fd() : fd_, express ? nullptr : &to, pieces, segment) >= 0 ? 0 : errno;
}

// The path takes less than the interfaces promised: better in fragments than not at all.
void socket_io::allow_fragments(bool v4)
{
    const int value = v4 ? IP_PMTUDISC_OMIT : IPV6_PMTUDISC_DONT;
    for (int fd : {fd_, express_.fd()}) {
        if (fd < 0) continue;
        if (v4)
            setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &value, sizeof value);
        else
            setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &value, sizeof value);
    }
    log(level::warn, "a datagram is too long for the path; IP fragments it from now on. Are all mtus equal?");
}

unsigned socket_io::send(const endpoint &to, std::span<const datagram> datagrams)
{
    unsigned done = 0;
    bool fragments_allowed = false;
    around_express_ = false;
    while (done < datagrams.size()) {
        const unsigned n = share_a_send(datagrams.subspan(done), gso_);
        const bool train = datagrams[done].train;
        int error = train ? send_train(to, datagrams[done]) : send_group(to, datagrams.subspan(done, n));
        if (error == 0) [[likely]] {
            done += n;
            continue;
        }
        if (error == EAGAIN || error == ENOBUFS || error == ENOMEM) return done;
        if (error == EINTR) continue;
        if (is_express(to)) { // by ICMP, it may be, which only a connected socket is told; nothing was sent
            around_express_ = true;
            continue;
        }
        const bool not_cut =
            error == EIO || error == EINVAL || error == EMSGSIZE; // it cuts nothing that it would fragment
        if (not_cut && (n > 1 || train) && gso_) {
            gso_ = false;
            log(level::info, "the kernel does not cut sends for this path ({}); going on without",
                std::strerror(error));
            continue;
        }
        if (error == EMSGSIZE && !fragments_allowed) {
            fragments_allowed = true;
            allow_fragments(to.any.sa_family == AF_INET);
            continue;
        }
        log(level::debug, "sending: {}", std::strerror(error)); // it counts as lost and is sent again
        done += n;
    }
    return done;
}

// The express socket first; the others are asked where it is empty and they seem to have something, and every eighth
// time, or every sixteenth where nothing has come from them for long. As long as both have something they take turns.
bool socket_io::receive_batch(const aside &wanted, arrivals *batch)
{
    if (express_.fd() < 0) return receive_from(fd_, wanted, batch);
    const bool main_first = ++turn_ % (main_busy_ ? 2 : 16) == 0; // however busy the express is
    const bool main_often = main_empty_ < long_empty && turn_ % 8 == 0;
    const bool main_too = !main_first && (main_often || main_busy_ || slept_);
    slept_ = false;
    if (main_first && receive_main(wanted, batch)) return true;
    return receive_express(wanted, batch) || (main_too && receive_main(wanted, batch));
}

bool socket_io::receive_main(const aside &wanted, arrivals *batch)
{
    main_busy_ = receive_from(fd_, wanted, batch);
    main_empty_ = main_busy_ ? 0 : std::min(main_empty_ + 1, long_empty);
    return main_busy_;
}

bool socket_io::receive_express(const aside &wanted, arrivals *batch)
{
    if (!express_.plain() || name_sources_ || !wanted.place.empty()) {
        bool any = receive_from(express_.fd(), wanted, batch);
        if (!any)
            express_.was_empty();
        else if (batch->segment < batch->bytes.size())
            express_.took_many();
        else
            express_.took_one(batch->bytes.size());
        return any;
    }
    ssize_t n = quick_receive(express_.fd(), {buffer_.get(), buffer_bytes});
    if (n < 0 && errno != ECONNREFUSED) return false;
    batch->bytes = {buffer_.get(), std::size_t(std::max<ssize_t>(n, 0))};
    batch->segment = std::max<std::size_t>(batch->bytes.size(), 1);
    express_.took_one(batch->bytes.size());
    return true;
}

// The buffer, but for what is to lie aside.
std::size_t socket_io::lay_out(const aside &wanted, iovec *pieces) const
{
    pieces[0] = {buffer_.get(), buffer_bytes};
    if (wanted.place.empty()) return 1;
    const std::size_t behind = wanted.from + wanted.place.size();
    pieces[0].iov_len = wanted.from;
    pieces[1] = {wanted.place.data(), wanted.place.size()};
    pieces[2] = {buffer_.get() + behind, buffer_bytes - behind};
    return 3;
}

bool socket_io::receive_from(int fd, const aside &wanted, arrivals *batch)
{
    iovec pieces[3];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_name = name_sources_ ? &batch->from.any : nullptr;
    message.msg_namelen = name_sources_ ? sizeof batch->from.v6 : 0;
    message.msg_iov = pieces;
    message.msg_iovlen = lay_out(wanted, pieces);
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n = quick_receive(fd, &message);
    batch->parted = n < 0 && errno == EFAULT && !wanted.place.empty();
    if (n < 0) return batch->parted || errno == ECONNREFUSED; // a dead peer's answer; there may be more behind it
    batch->from.size = message.msg_namelen;
    batch->bytes = {buffer_.get(), std::size_t(n)};
    batch->segment = std::max<std::size_t>(batch->bytes.size(), 1);
    for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
        int size = 0;
        std::memcpy(&size, CMSG_DATA(c), sizeof size);
        if (size > 0) batch->segment = std::size_t(size);
    }
    batch->parted = !wanted.place.empty() && batch->bytes.size() > wanted.from;
    return true;
}

} // namespace onesea::net
