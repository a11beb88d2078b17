// SPDX-License-Identifier: Apache-2.0
#include "net/page_lender.hpp"

#include "base/pages.hpp"
#include "huge_pages_here.hpp"
#include "net/udp_socket.hpp"
#include "onesea.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <poll.h>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace onesea;
using namespace onesea::net;

namespace {

using bytes_of = std::vector<std::byte>;

struct bound_socket {
    udp_socket socket;
    endpoint where;
    explicit bound_socket(const char *address = "127.0.0.1")
    {
        EXPECT_EQ(open_udp_socket(address, &socket), SEA_OK);
        where.size = sizeof where.v6;
        EXPECT_EQ(getsockname(socket.fd, &where.any, &where.size), 0);
    }
    ~bound_socket() { ::close(socket.fd); }
    bound_socket(const bound_socket &) = delete;
    bound_socket &operator=(const bound_socket &) = delete;

    // The next datagram; empty: there is none.
    bytes_of receive() const
    {
        bytes_of all(1 << 17);
        const ssize_t n = recv(socket.fd, all.data(), all.size(), MSG_DONTWAIT);
        all.resize(n > 0 ? std::size_t(n) : 0);
        return all;
    }
};

struct own_pages {
    std::size_t bytes;
    std::byte *at;
    explicit own_pages(std::size_t n)
        : bytes(n),
          at(static_cast<std::byte *>(mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        std::mt19937_64 random(n);
        std::generate(at, at + n, [&] { return std::byte(random()); });
    }
    ~own_pages() { munmap(at, bytes); }
    own_pages(const own_pages &) = delete;
    own_pages &operator=(const own_pages &) = delete;
};

bytes_of joined(std::span<const iovec> pieces)
{
    bytes_of all;
    for (const iovec &p : pieces) {
        auto *from = static_cast<const std::byte *>(p.iov_base);
        all.insert(all.end(), from, from + p.iov_len);
    }
    return all;
}

bool kernel_lends() { return !huge_pages_here::kernel_before(6, 5); }

} // namespace

TEST(page_lender, sends_datagrams_whole_wherever_their_pieces_begin_and_end)
{
    if (!kernel_lends()) GTEST_SKIP() << "a kernel before 6.5 may have to copy";
    own_pages memory(1 << 18);
    std::byte head[56] = {std::byte(1)}, tail[64] = {std::byte(2)};
    std::mt19937 random(1);
    for (const char *address : {"127.0.0.1", "::1"})
        for (bool connected : {false, true}) {
            udp_socket probe;
            if (open_udp_socket(address, &probe) != SEA_OK) continue; // no IPv6 here
            ::close(probe.fd);
            bound_socket from(address), to(address);
            page_lender lender;
            int split = 0;
            if (connected) {
                ASSERT_EQ(connect(from.socket.fd, &to.where.any, to.where.size), 0);
            }
            for (int i = 0; i < 500; ++i) {
                const std::size_t offset = random() % 9000, bytes = 20'480 + random() % 44'000;
                const std::size_t ahead = random() % 3 ? 0 : random() % std::min<std::size_t>(20'000, 64'900 - bytes);
                const std::size_t behind = std::min<std::size_t>(random() % 65, 64'900 - bytes - ahead);
                const iovec pieces[] = {{head, 1 + random() % 56},
                                        {memory.at + 80'000 + random() % 5000, ahead},
                                        {memory.at + offset, bytes},
                                        {tail, behind}};
                const int error = lender.send(from.socket.fd, connected ? nullptr : &to.where, pieces);
                if (error == page_lender::not_lent)
                    ++split;
                else
                    ASSERT_EQ(error, 0) << offset << ", " << bytes << ", " << ahead << ", " << behind;
                ASSERT_EQ(to.receive(), error ? bytes_of() : joined(pieces));
            }
            EXPECT_LE(split, 20) << "seldom what is copied takes one fragment more";
            EXPECT_FALSE(lender.given_up());
            EXPECT_TRUE(to.receive().empty());
        }
}

TEST(page_lender, copies_nothing_of_a_long_piece)
{
    if (!kernel_lends()) GTEST_SKIP() << "a kernel before 6.5 may have to copy";
    own_pages memory(15 * page_bytes);
    bound_socket from, to;
    page_lender lender;
    std::byte head[56] = {};
    const iovec pieces[] = {{head, sizeof head}, {memory.at, memory.bytes}};
    ASSERT_EQ(lender.send(from.socket.fd, &to.where, pieces), 0);
    std::fill(memory.at, memory.at + memory.bytes, std::byte(7));
    EXPECT_EQ(to.receive(), joined(pieces));
}

TEST(page_lender, copies_nothing_of_what_lies_beside_a_long_piece_where_all_are_few_pages)
{
    if (!kernel_lends()) GTEST_SKIP() << "a kernel before 6.5 may have to copy";
    own_pages memory(15 * page_bytes);
    bound_socket from, to;
    page_lender lender;
    std::byte head[56] = {};
    const iovec pieces[] = {{head, sizeof head},
                            {memory.at, 2 * page_bytes},
                            {memory.at + 3 * page_bytes, 10 * page_bytes},
                            {memory.at + 14 * page_bytes, 24}};
    ASSERT_EQ(lender.send(from.socket.fd, &to.where, pieces), 0);
    std::fill(memory.at, memory.at + memory.bytes, std::byte(7));
    EXPECT_EQ(to.receive(), joined(pieces));
}

TEST(page_lender, copies_nothing_at_all_of_what_goes_through_a_connected_socket)
{
    if (!kernel_lends()) GTEST_SKIP() << "a kernel before 6.5 may have to copy";
    own_pages memory(14 * page_bytes), ends(page_bytes);
    bound_socket from, to;
    ASSERT_EQ(connect(from.socket.fd, &to.where.any, to.where.size), 0);
    page_lender lender;
    const iovec pieces[] = {{ends.at, 56}, {memory.at, memory.bytes}, {ends.at + 1000, 24}};
    ASSERT_EQ(lender.send(from.socket.fd, nullptr, pieces), 0);
    std::fill(memory.at, memory.at + memory.bytes, std::byte(7));
    std::fill(ends.at, ends.at + ends.bytes, std::byte(8));
    EXPECT_EQ(to.receive(), joined(pieces));
}

// The kernel cuts it, and joins it again.
TEST(page_lender, sends_in_datagrams_of_a_length)
{
    if (!kernel_lends()) GTEST_SKIP() << "a kernel before 6.5 may have to copy";
    own_pages memory(15 * page_bytes);
    bound_socket from, to;
    page_lender lender;
    std::byte head[56] = {std::byte(1)}, tail[24] = {std::byte(2)};
    const int no = 0, on = 1;
    ASSERT_EQ(connect(from.socket.fd, &to.where.any, to.where.size), 0);
    for (const endpoint *where : {(const endpoint *)nullptr, (const endpoint *)&to.where})
        for (std::size_t at : {std::size_t(0), std::size_t(1000)}) {
            const iovec pieces[] = {{head, sizeof head}, {memory.at + at, 50'000}, {tail, sizeof tail}};
            ASSERT_EQ(setsockopt(to.socket.fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on), 0);
            ASSERT_EQ(lender.send(from.socket.fd, where, pieces, 1464), 0);
            EXPECT_EQ(to.receive(), joined(pieces));
            ASSERT_EQ(setsockopt(to.socket.fd, IPPROTO_UDP, UDP_GRO, &no, sizeof no), 0);
            ASSERT_EQ(lender.send(from.socket.fd, where, pieces, 1464), 0);
            bytes_of all;
            for (bytes_of one = to.receive(); !one.empty(); one = to.receive()) {
                EXPECT_EQ(one.size(), std::min<std::size_t>(1464, 50'080 - all.size()));
                all.insert(all.end(), one.begin(), one.end());
            }
            EXPECT_EQ(all, joined(pieces));
        }
}

TEST(page_lender, leaves_to_others_what_it_cannot_send_and_goes_on)
{
    own_pages memory(32 * page_bytes);
    bound_socket from, to;
    page_lender lender;
    std::byte head[56] = {std::byte(3)};
    ASSERT_EQ(munmap(memory.at + 16 * page_bytes, page_bytes), 0);
    const iovec holed[] = {{head, sizeof head}, {memory.at + 10 * page_bytes, 12 * page_bytes}};
    const iovec small[] = {{head, sizeof head}, {memory.at, 1000}};
    const iovec bare[] = {{memory.at, 8 * page_bytes}}; // no short piece to begin with
    const iovec good[] = {{head, sizeof head}, {memory.at + 100, 8 * page_bytes}};
    for (int i = 0; i < 10; ++i) {
        for (std::span<const iovec> pieces :
             {std::span<const iovec>(holed), std::span<const iovec>(small), std::span<const iovec>(bare)})
            EXPECT_EQ(lender.send(from.socket.fd, &to.where, pieces), page_lender::not_lent);
        EXPECT_TRUE(to.receive().empty());
        if (!kernel_lends()) continue;
        EXPECT_EQ(lender.send(from.socket.fd, &to.where, good), 0);
        EXPECT_EQ(to.receive(), joined(good));
    }
}

TEST(page_lender, forgets_what_was_refused)
{
    if (!kernel_lends()) GTEST_SKIP() << "a kernel before 6.5 may have to copy";
    own_pages memory(32 * page_bytes);
    bound_socket from, to;
    endpoint nobody;
    {
        bound_socket gone;
        nobody = gone.where;
    }
    page_lender lender;
    std::byte head[56] = {std::byte(3)};
    const iovec lost[] = {{head, sizeof head}, {memory.at, 10 * page_bytes}};
    const iovec good[] = {{head, 8}, {memory.at + 11 * page_bytes, 10 * page_bytes}, {head, 16}};
    ASSERT_EQ(connect(from.socket.fd, &nobody.any, nobody.size), 0);
    EXPECT_EQ(lender.send(from.socket.fd, nullptr, lost), 0);
    EXPECT_EQ(lender.send(from.socket.fd, nullptr, lost), ECONNREFUSED); // of the first one
    ASSERT_EQ(connect(from.socket.fd, &to.where.any, to.where.size), 0);
    for (int i = 0; i < 3 && lender.send(from.socket.fd, nullptr, good) != 0; ++i) {
    }
    EXPECT_EQ(to.receive(), joined(good));
    EXPECT_FALSE(lender.given_up());
}

// What lies in the pipe when a send fails would go with the next one, in its place.
TEST(page_lender, sends_nothing_of_what_was_refused_before)
{
    if (!kernel_lends()) GTEST_SKIP() << "a kernel before 6.5 may have to copy";
    own_pages memory(32 * page_bytes);
    bound_socket from, to;
    endpoint everybody = to.where;
    everybody.v4.sin_addr.s_addr = INADDR_BROADCAST; // which a socket must have asked for
    page_lender lender;
    std::byte head[56] = {std::byte(3)};
    const iovec refused[] = {{head, sizeof head}, {memory.at, 6 * page_bytes}};
    const iovec good[] = {{head, sizeof head}, {memory.at + 10 * page_bytes, 6 * page_bytes}};
    for (int i = 0; i < 3; ++i) {
        EXPECT_NE(lender.send(from.socket.fd, &everybody, refused), 0);
        EXPECT_EQ(lender.send(from.socket.fd, &to.where, good), 0);
        EXPECT_EQ(to.receive(), joined(good));
    }
}

// The kernel has the beginning of the datagram and refuses it as a whole: in more segments than it cuts in one send.
TEST(page_lender, sends_nothing_of_what_failed_in_the_middle)
{
    if (!kernel_lends()) GTEST_SKIP() << "a kernel before 6.5 may have to copy";
    own_pages memory(32 * page_bytes);
    bound_socket from, to;
    page_lender lender;
    std::byte head[56] = {std::byte(3)}, tail[24] = {std::byte(4)};
    const iovec refused[] = {{head, sizeof head}, {memory.at, 10 * page_bytes}};
    const iovec refused_later[] = {{head, sizeof head}, {memory.at + 100, 15 * page_bytes}, {tail, sizeof tail}};
    const iovec good[] = {{head, sizeof head}, {memory.at + 10 * page_bytes, 10 * page_bytes}, {tail, sizeof tail}};
    for (int i = 0; i < 10; ++i)
        for (std::span<const iovec> pieces : {std::span<const iovec>(refused), std::span<const iovec>(refused_later)}) {
            EXPECT_NE(lender.send(from.socket.fd, &to.where, pieces, 100), 0);
            EXPECT_TRUE(to.receive().empty());
            EXPECT_EQ(lender.send(from.socket.fd, &to.where, good), 0);
            EXPECT_EQ(to.receive(), joined(good));
        }
    EXPECT_FALSE(lender.given_up()) << "what goes well in between ends a row of failures";
    for (int i = 0; i < 4; ++i) EXPECT_EQ(lender.send(from.socket.fd, &to.where, refused, 100), page_lender::not_lent);
    EXPECT_TRUE(lender.given_up());
}

// Less than an area again and again, as a program does that waits after each message. On the processor that sends the
// kernel still has the last datagrams when all were received.
TEST(page_lender, gathers_in_huge_pages_what_goes_again_and_again_wherever_it_was_received)
{
    if (!kernel_lends()) GTEST_SKIP() << "a kernel before 6.5 may have to copy";
    if (const std::string why = huge_pages_here::why_none(false); !why.empty()) GTEST_SKIP() << why;
    const huge_pages_here::memory memory(false, 1);
    constexpr std::size_t bytes = 15 * page_bytes, all = 2 * bytes; // for which the usual socket has room
    std::byte *const part = memory.at + 100 * page_bytes;
    bound_socket from, to;
    ASSERT_EQ(connect(from.socket.fd, &to.where.any, to.where.size), 0);
    std::atomic<unsigned> received{0};
    std::jthread receiver([&] {
        pollfd wait{to.socket.fd, POLLIN, 0};
        while (poll(&wait, 1, 10'000) == 1 && to.receive().size() > 1) ++received;
        received = UINT_MAX; // over, or lost
    });
    page_lender lender;
    std::byte head[56] = {};
    unsigned sent = 0, copied = 0;
    for (std::size_t n = 0; n < (huge_pages::worth + 2) * huge_pages::area_bytes; n += all) {
        for (std::size_t at = 0; at < all; at += bytes) {
            const iovec pieces[] = {{head, sizeof head}, {part + at, bytes}};
            const int error = lender.send(from.socket.fd, nullptr, pieces, 0, at == 0);
            if (error == page_lender::not_lent && ++copied)
                ASSERT_EQ(::writev(from.socket.fd, pieces, 2), ssize_t(bytes + sizeof head));
            else
                ASSERT_EQ(error, 0);
            ++sent;
        }
        while (received < sent) std::this_thread::yield();
    }
    EXPECT_EQ(received, sent) << "none was lost";
    EXPECT_EQ(::send(from.socket.fd, head, 1, 0), 1);
    receiver.join();
    EXPECT_EQ(copied, 1u);
    EXPECT_EQ(huge_pages_here::kilobytes("AnonHugePages", memory.at), memory.bytes / 1024);
    EXPECT_TRUE(memory.unharmed());
}

TEST(page_lender, gives_up_without_descriptors)
{
    own_pages memory(8 * page_bytes);
    bound_socket from, to;
    page_lender lender;
    std::byte head[56] = {};
    const iovec pieces[] = {{head, sizeof head}, {memory.at, memory.bytes}};
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    EXPECT_EQ(lender.send(from.socket.fd, &to.where, pieces), page_lender::not_lent);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(lender.given_up());
    EXPECT_EQ(lender.send(from.socket.fd, &to.where, pieces), page_lender::not_lent);
}
