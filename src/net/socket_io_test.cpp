// SPDX-License-Identifier: Apache-2.0
// The express socket beside the main one: nothing that arrives is lost when it opens, changes its peer or its mode.
#include "net/socket_io.hpp"

#include "net/test_network.hpp"
#include "net/train.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/udp.h>
#include <set>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

void send_number(const open_socket &from, const open_socket &to, std::uint64_t number, std::size_t bytes = 64)
{
    std::vector<std::byte> data(bytes);
    std::memcpy(data.data(), &number, sizeof number);
    EXPECT_EQ(sendto(from.socket.fd, data.data(), bytes, 0, &to.where.any, to.where.size), ssize_t(bytes));
}

// Many datagrams of one size in one send, as GRO may deliver them again.
void send_batch(const open_socket &from, const open_socket &to, std::uint64_t first, unsigned count, std::size_t bytes)
{
    std::vector<std::byte> data(bytes * count);
    for (unsigned i = 0; i < count; ++i) {
        std::uint64_t number = first + i;
        std::memcpy(data.data() + i * bytes, &number, sizeof number);
    }
    int segment = int(bytes), whole = 0;
    EXPECT_EQ(setsockopt(from.socket.fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment), 0);
    EXPECT_EQ(sendto(from.socket.fd, data.data(), data.size(), 0, &to.where.any, to.where.size), ssize_t(data.size()));
    EXPECT_EQ(setsockopt(from.socket.fd, IPPROTO_UDP, UDP_SEGMENT, &whole, sizeof whole), 0);
}

std::vector<std::uint64_t> take_in_order(socket_io &io)
{
    std::vector<std::uint64_t> got;
    for (int empty = 0; empty < 10;) { // the main socket has its turn every few times
        std::size_t n = io.receive([&](const datagram_port::arrivals &batch) {
            for (auto all = batch.bytes; !all.empty(); all = all.subspan(std::min(batch.segment, all.size()))) {
                std::uint64_t number;
                ASSERT_GE(all.size(), sizeof number);
                std::memcpy(&number, all.data(), sizeof number);
                got.push_back(number);
            }
        });
        empty = n ? 0 : empty + 1;
    }
    return got;
}

void take_all(socket_io &io, std::multiset<std::uint64_t> &got)
{
    for (std::uint64_t number : take_in_order(io)) got.insert(number);
}

std::multiset<std::uint64_t> numbers(std::uint64_t first, std::uint64_t end)
{
    std::multiset<std::uint64_t> all;
    for (; first < end; ++first) all.insert(first);
    return all;
}

} // namespace

TEST(socket_io, hears_everybody_whoever_is_preferred)
{
    for (bool name_sources : {false, true}) {
        open_socket a, b, c;
        socket_io io(a.socket.fd, name_sources);
        std::multiset<std::uint64_t> got;
        std::uint64_t next = 0;
        for (int round = 0; round < 40; ++round) {
            for (int i = 0; i < 20; ++i) {
                send_number(b, a, next++);
                send_number(c, a, next++);
            }
            take_all(io, got);
            if (round % 5 == 2) io.prefer(b.where);
            if (round % 5 == 4) io.prefer(c.where);
        }
        EXPECT_EQ(got, numbers(0, next));
    }
}

// Seven streams into one rank took turns as the busiest. What was overtaken each time was taken for lost and sent
// again, and the streams that this hit were slower from then on.
TEST(socket_io, lets_nothing_be_overtaken_when_another_peer_is_preferred)
{
    open_socket a, b, c;
    socket_io io(a.socket.fd, false);
    std::uint64_t next = 0;
    for (int round = 0; round < 40; ++round) {
        const auto &favourite = round % 2 ? b : c;
        std::vector<std::uint64_t> sent;
        const auto send_some = [&] {
            for (int i = 0; i < 20; ++i) {
                sent.push_back(next);
                send_number(favourite, a, next, next % 2 ? 64 : 56); // sizes that are not joined
                ++next;
            }
        };
        send_some();
        EXPECT_FALSE(io.prefer(favourite.where)) << "something waits";
        send_some();
        EXPECT_EQ(take_in_order(io), sent);
        EXPECT_EQ(io.prefer(favourite.where), round == 0) << "the first time there are other descriptors";
        sent.clear();
        send_some();
        EXPECT_EQ(take_in_order(io), sent);
    }
    EXPECT_NE(io.wake_fds()[1], -1);
}

TEST(socket_io, takes_batches_apart_before_and_after_it_went_over_to_plain_receives)
{
    open_socket a, b;
    socket_io io(a.socket.fd, false);
    EXPECT_TRUE(io.prefer(b.where));
    std::multiset<std::uint64_t> got;
    std::uint64_t next = 0;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 400; ++i) { // small ones, one by one: plain at the latest now
            send_number(b, a, next++);
            if (i % 10 == 9) take_all(io, got);
        }
        for (int i = 0; i < 20; ++i, next += 40) send_batch(b, a, next, 40, 1400);
        send_number(b, a, next++);
        take_all(io, got);
    }
    EXPECT_EQ(got, numbers(0, next));
}

// Each is a full datagram and the short end of the same send, which is no reason not to join them again.
TEST(socket_io, goes_back_to_joined_receives_where_two_datagrams_belong_together)
{
    open_socket a, b;
    socket_io io(a.socket.fd, false);
    EXPECT_TRUE(io.prefer(b.where));
    for (std::uint64_t i = 0; i < 400; ++i) {
        send_number(b, a, i);
        (void)take_in_order(io);
    }
    const int segment = 1400;
    ASSERT_EQ(setsockopt(b.socket.fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment), 0);
    unsigned receives = 0;
    for (int i = 0; i < 10; ++i) {
        send_number(b, a, 0, 2048);
        receives = 0;
        for (int empty = 0; empty < 10;) {
            const std::size_t n = io.receive([](const datagram_port::arrivals &) {});
            receives += n > 0;
            empty = n ? 0 : empty + 1;
        }
    }
    EXPECT_EQ(receives, 1u);
}

TEST(socket_io, sends_to_everybody_whoever_is_preferred)
{
    open_socket a, b, c;
    socket_io io(a.socket.fd, false), at_b(b.socket.fd, false), at_c(c.socket.fd, false);
    io.prefer(b.where);
    std::multiset<std::uint64_t> b_got, c_got;
    for (std::uint64_t n = 0; n < 200; ++n) {
        datagram d;
        std::memcpy(d.small, &n, sizeof n);
        d.pieces[0] = {d.small, 64};
        d.count = 1;
        d.bytes = 64;
        EXPECT_EQ(io.send(n % 2 ? c.where : b.where, {&d, 1}), 1u);
        if (n == 100) io.prefer(c.where);
    }
    take_all(at_b, b_got);
    take_all(at_c, c_got);
    EXPECT_EQ(b_got.size(), 100u);
    EXPECT_EQ(c_got.size(), 100u);
    for (std::uint64_t n : b_got) EXPECT_EQ(n % 2, 0u);
}

TEST(socket_io, sends_a_train_datagram_by_datagram_where_the_kernel_cuts_none)
{
    open_socket a, b;
    const int on = 1;
    ASSERT_EQ(setsockopt(a.socket.fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0); // cutting wants checksums
    socket_io io(a.socket.fd, false), at_b(b.socket.fd, false);
    std::vector<std::byte> packet(10'000);
    for (std::size_t i = 0; i < packet.size(); ++i) packet[i] = std::byte(i * 7 + i / 256);
    datagram d;
    d.pieces[0] = packet;
    d.count = 1;
    d.bytes = packet.size();
    d.train = 1400;
    EXPECT_TRUE(io.gso());
    EXPECT_EQ(io.send(b.where, {&d, 1}), 1u);
    EXPECT_FALSE(io.gso());

    cut_train expected(d);
    unsigned come = 0;
    auto compare = [&](const datagram_port::arrivals &batch) {
        for (auto all = batch.bytes; !all.empty(); all = all.subspan(std::min(batch.segment, all.size()))) {
            ASSERT_LT(come, expected.count());
            std::vector<std::byte> sent;
            for (const iovec &piece : expected.at(come++)) {
                auto *from = static_cast<const std::byte *>(piece.iov_base);
                sent.insert(sent.end(), from, from + piece.iov_len);
            }
            EXPECT_TRUE(std::ranges::equal(all.first(std::min(batch.segment, all.size())), sent)) << come;
        }
    };
    for (int empty = 0; empty < 10;) empty = at_b.receive(compare) ? 0 : empty + 1;
    EXPECT_EQ(come, expected.count());
}

// It would not come in one piece: it counts as lost, and the link makes no more.
TEST(socket_io, sends_no_bare_train_where_the_kernel_cuts_none)
{
    open_socket a, b;
    const int on = 1;
    ASSERT_EQ(setsockopt(a.socket.fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
    socket_io io(a.socket.fd, false), at_b(b.socket.fd, false);
    const std::vector<std::byte> packet(50'000);
    for (const bool lasting : {true, false}) {
        datagram d;
        d.pieces[0] = std::span(packet).first(64);
        d.pieces[1] = std::span(packet).subspan(64);
        d.count = 2;
        d.bytes = packet.size();
        d.train = 1400;
        d.bare = true;
        d.lasting = lasting;
        EXPECT_EQ(io.send(b.where, {&d, 1}), 1u);
        EXPECT_FALSE(io.gso());
    }
    EXPECT_EQ(at_b.receive([](const datagram_port::arrivals &) {}), 0u);
}

// It is asked less often where the express socket is busy. Where that is silent, one look finds that there is more, and
// each further one takes it.
TEST(socket_io, hears_the_others_at_little_cost_while_the_preferred_peer_is_silent)
{
    open_socket a, b, c;
    socket_io io(a.socket.fd, false);
    ASSERT_TRUE(io.prefer(b.where));
    for (std::uint64_t n = 0; n < 50; ++n) send_number(c, a, n, n % 2 ? 64 : 56); // sizes that are not joined
    unsigned calls = 0, got = 0;
    auto count = [&](const datagram_port::arrivals &batch) {
        got += unsigned((batch.bytes.size() + batch.segment - 1) / batch.segment);
    };
    for (; got < 50 && calls < 1000; ++calls) io.receive(count);
    EXPECT_EQ(got, 50u);
    EXPECT_LE(calls, 50u + 8);
}

TEST(socket_io, hears_the_others_soon_after_a_long_silence_of_all)
{
    open_socket a, b, c;
    socket_io io(a.socket.fd, false);
    ASSERT_TRUE(io.prefer(b.where));
    auto looks_until_heard = [&] {
        unsigned looks = 1;
        while (looks < 100 && !io.receive([](const datagram_port::arrivals &) {})) ++looks;
        return looks;
    };
    for (int i = 0; i < 1001; ++i) EXPECT_FALSE(io.receive([](const datagram_port::arrivals &) {}));
    send_number(c, a, 1);
    EXPECT_LE(looks_until_heard(), 16u);
    EXPECT_EQ(looks_until_heard(), 100u);
    send_number(c, a, 2);
    EXPECT_LE(looks_until_heard(), 8u) << "it was heard of lately";
}

TEST(socket_io, the_preferred_peer_leaves_the_others_their_turn)
{
    open_socket a, b, c;
    socket_io io(a.socket.fd, false);
    ASSERT_TRUE(io.prefer(b.where));
    unsigned others = 0;
    auto count = [&](const datagram_port::arrivals &batch) {
        std::uint64_t number;
        std::memcpy(&number, batch.bytes.data(), sizeof number);
        others += unsigned(number);
    };
    for (int i = 0; i < 200; ++i) { // neither is ever empty
        for (std::size_t bytes : {56, 64}) send_number(b, a, 0, bytes);
        for (std::size_t bytes : {56, 64}) send_number(c, a, 1, bytes);
        io.receive(count);
    }
    EXPECT_GE(others, 80u);
    EXPECT_LE(others, 120u);
}

TEST(socket_io, looks_everywhere_once_after_a_sleep)
{
    open_socket a, b, c;
    socket_io io(a.socket.fd, false);
    ASSERT_TRUE(io.prefer(b.where));
    std::multiset<std::uint64_t> got;
    auto take_one = [&] {
        return io.receive([&](const datagram_port::arrivals &batch) {
            std::uint64_t number;
            std::memcpy(&number, batch.bytes.data(), sizeof number);
            got.insert(number);
        });
    };
    send_number(c, a, 1);
    io.slept();
    EXPECT_TRUE(take_one()) << "it may have been the main socket that woke";
    EXPECT_FALSE(take_one());

    send_number(b, a, 2);
    send_number(c, a, 3);
    io.slept();
    EXPECT_TRUE(take_one());
    EXPECT_EQ(got, (std::multiset<std::uint64_t>{1, 2})) << "the preferred peer's comes first";
    EXPECT_FALSE(take_one()) << "an exchange with it does not pay for a look at the other socket each time";
    take_all(io, got);
    EXPECT_EQ(got, numbers(1, 4));
}

TEST(socket_io, gives_the_express_socket_buffers_as_large_as_those_of_the_main_one)
{
    open_socket a, b;
    socket_io io(a.socket.fd, false);
    ASSERT_TRUE(io.prefer(b.where));
    for (int buffer : {SO_RCVBUF, SO_SNDBUF})
        EXPECT_EQ(option_of(io.wake_fds()[1], SOL_SOCKET, buffer), option_of(a.socket.fd, SOL_SOCKET, buffer));
}

TEST(socket_io, seldom_tries_again_where_no_express_socket_can_be_had)
{
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1; // it shares its port with nobody
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&own), sizeof own), 0);
    open_socket b;
    {
        socket_io io(fd, false);
        EXPECT_FALSE(io.prefer(b.where));
        ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
        EXPECT_FALSE(io.prefer(b.where)) << "a try each millisecond is dear";
        EXPECT_EQ(io.wake_fds()[1], -1);
        unsigned calls = 1;
        while (calls <= 2 * express_socket::calls_between_tries && !io.prefer(b.where)) ++calls;
        EXPECT_GE(calls, express_socket::calls_between_tries);
        EXPECT_NE(io.wake_fds()[1], -1) << "what was short is there now";
    }
    ::close(fd);
}

namespace {

// In a network of its own, whose interface takes less than what is sent.
int send_through_a_narrow_path()
{
    if (!enter_own_network(1300)) return not_allowed;
    open_socket a, b;
    socket_io io(a.socket.fd, false), at_b(b.socket.fd, false);
    std::vector<std::byte> data(1472 * 10);
    std::vector<datagram> many(10);
    for (std::uint64_t n = 0; n < many.size(); ++n) {
        std::memcpy(&data[n * 1472], &n, sizeof n);
        many[n].pieces[0] = std::span(data).subspan(n * 1472, 1472);
        many[n].count = 1;
        many[n].bytes = 1472;
    }
    if (io.send(b.where, many) != many.size()) return missed;
    std::multiset<std::uint64_t> got;
    take_all(at_b, got);
    return got == numbers(0, many.size()) ? passed : missed;
}

} // namespace

TEST(socket_io, gets_many_at_once_through_a_path_that_takes_less_than_the_interface_promised)
{
    in_a_process_of_its_own(send_through_a_narrow_path);
}

namespace {

std::vector<std::byte> counted(std::size_t bytes)
{
    std::vector<std::byte> all(bytes);
    for (std::size_t i = 0; i < bytes; ++i) all[i] = std::byte(i * 7 + i / 256);
    return all;
}

// What came, put together again; how many datagrams it was.
std::size_t take_aside(socket_io &io, const datagram_port::aside &wanted, std::vector<std::byte> *all)
{
    std::size_t count = 0;
    for (int looks = 0; count == 0 && looks < 10; ++looks)
        io.receive(
            [&](const datagram_port::arrivals &batch) {
                count = (batch.bytes.size() + batch.segment - 1) / batch.segment;
                all->assign(batch.bytes.begin(), batch.bytes.end());
                EXPECT_EQ(batch.parted, all->size() > wanted.from);
                if (!batch.parted) return;
                const std::size_t part = std::min(all->size() - wanted.from, wanted.place.size());
                std::copy_n(wanted.place.begin(), part, all->begin() + std::ptrdiff_t(wanted.from));
            },
            wanted);
    return count;
}

} // namespace

TEST(socket_io, lays_aside_what_is_wanted_there)
{
    for (bool preferred : {false, true}) {
        open_socket a, b;
        socket_io io(a.socket.fd, false);
        if (preferred) {
            ASSERT_TRUE(io.prefer(b.where));
        }
        std::vector<std::byte> place(30'000), got;
        const datagram_port::aside wanted{96, place};
        for (std::size_t bytes : {48, 96, 97, 5000, 30'000, 30'096, 30'097, 60'000}) {
            const auto sent = counted(bytes);
            EXPECT_EQ(sendto(b.socket.fd, sent.data(), bytes, 0, &a.where.any, a.where.size), ssize_t(bytes));
            std::ranges::fill(place, std::byte(0));
            EXPECT_EQ(take_aside(io, wanted, &got), 1u);
            EXPECT_TRUE(got == sent) << bytes;
        }
        send_batch(b, a, 1, 40, 1000); // as many as the kernel joins
        unsigned come = 0;
        while (const std::size_t n = take_aside(io, wanted, &got))
            for (std::size_t i = 0; i < n; ++i) {
                std::uint64_t number;
                std::memcpy(&number, got.data() + 1000 * i, sizeof number);
                EXPECT_EQ(number, ++come);
            }
        EXPECT_EQ(come, 40u);
    }
}

TEST(socket_io, tells_that_it_cannot_write_aside)
{
    open_socket a, b;
    socket_io io(a.socket.fd, false);
    constexpr std::size_t bytes = 4096;
    void *page = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    send_number(b, a, 1, 1000);
    send_number(b, a, 2, 1008);
    bool told = false;
    auto hear = [&](const datagram_port::arrivals &batch) { told = batch.parted && batch.bytes.empty(); };
    EXPECT_GT(io.receive(hear, {96, {static_cast<std::byte *>(page), bytes}}), 0u);
    EXPECT_TRUE(told);
    EXPECT_EQ(take_in_order(io), std::vector<std::uint64_t>{2});
    munmap(page, bytes);
}
