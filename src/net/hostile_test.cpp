// SPDX-License-Identifier: Apache-2.0
// Datagrams that nobody should send, over real sockets: made up, changed, cut, repeated, sent back, of other ranks and
// jobs. They are dropped, counted by their reason, answered by nothing, and change nothing, also while good ones pass.
#include "net/crypto.hpp"
#include "net/flood_guard.hpp"
#include "net/link.hpp"
#include "net/test_pair.hpp"

#include <arpa/inet.h>
#include <functional>
#include <poll.h>
#include <sys/socket.h>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

using bytes = std::vector<std::byte>;

void send_to(int fd, std::uint16_t port, const bytes &packet)
{
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(sendto(fd, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr *>(&to), sizeof to),
              ssize_t(packet.size()));
}

bytes in_one(const datagram &d)
{
    bytes all;
    for (unsigned i = 0; i < d.count; ++i) all.insert(all.end(), d.pieces[i].begin(), d.pieces[i].end());
    return all;
}

// A UDP socket on loopback without any option.
class plain_socket {
  public:
    plain_socket() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))
    {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof own;
        EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr *>(&own), size), 0);
        getsockname(fd_, reinterpret_cast<sockaddr *>(&own), &size);
        port_ = ntohs(own.sin_port);
        int room = 8 << 20;
        setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    }
    ~plain_socket() { ::close(fd_); }
    plain_socket(const plain_socket &) = delete;
    plain_socket &operator=(const plain_socket &) = delete;

    int fd() const { return fd_; }
    std::uint16_t port() const { return port_; }
    bool receive(bytes *packet) const
    {
        packet->resize(1 << 16);
        ssize_t n = recv(fd_, packet->data(), packet->size(), 0);
        packet->resize(std::size_t(std::max<ssize_t>(n, 0)));
        return n >= 0;
    }

  private:
    int fd_;
    std::uint16_t port_ = 0;
};

// Speaks for rank 0 through its socket, so that a test decides what goes on the wire, how often and how damaged.
class impostor {
  public:
    explicit impostor(pair &p, std::uint32_t source = 0, std::uint32_t target = 1, std::uint8_t key_byte = 1,
                      secure_mode mode = secure_mode::auth)
        : pair_(p), cipher_(mode), link_(config(source, target, key_byte, mode), cipher_, nobody_, pool_)
    {
    }
    ~impostor() { link_.settle_all(SEA_OK); }

    bytes put_packet(std::uint64_t position, const bytes &data)
    {
        outgoing m = put(position, data, nullptr);
        link_.send(m);
        link_.flush();
        datagram d;
        EXPECT_TRUE(link_.build(now_ns(), &d));
        return in_one(d);
    }
    // From the socket of one rank to that of the other, which then polls.
    void deliver(int from, const bytes &packet)
    {
        send_to(pair_.sockets[from].fd, pair_.sockets[1 - from].port, packet);
        for (int i = 0; i < 3; ++i) pair_.ends[1 - from]->poll(now_ns());
    }

    static link_config config(std::uint32_t source, std::uint32_t target, std::uint8_t key_byte,
                              secure_mode mode = secure_mode::auth)
    {
        job_key key{};
        key[31] = key_byte;
        link_config c;
        c.own_rank = source;
        c.peer_rank = target;
        c.job_tag = derive_job_tag(key);
        c.out = derive_keys(mode, key, source, target, 0);
        c.in = derive_keys(mode, key, target, source, 0);
        return c;
    }

  private:
    pair &pair_;
    memory_sink nobody_;
    crypto cipher_;
    bundle_pool pool_;
    net::link link_;
};

bool has_link(pair &p, int end) { return p.counts[end].find(1 - end) != nullptr; }

void expect_untouched(pair &p)
{
    EXPECT_EQ(p.sinks[0].frames + p.sinks[1].frames, 0u);
    for (int end : {0, 1}) EXPECT_FALSE(has_link(p, end)) << "end " << end;
}

constexpr secure_mode tagged_modes[] = {secure_mode::auth, secure_mode::encrypt};

// With the kernel's help and without: what it does not keep out has to be refused all the same.
struct filtered_pair : pair {
    filtered_pair(bool filter, secure_mode mode = secure_mode::auth, bool same_key = true)
        : pair("127.0.0.1", mode, 1500, "", wanted_socket_buffer, same_key, filter)
    {
    }
};

class with_and_without_filter : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(hostile, with_and_without_filter, testing::Bool(),
                         [](auto &filter) { return filter.param ? "filter" : "no_filter"; });

} // namespace

TEST_P(with_and_without_filter, strangers_with_another_key_get_no_answer_and_no_state)
{
    filtered_pair p(GetParam(), secure_mode::auth, false); // two different keys
    auto data = noise(100);
    wait_for w;
    p.ends[0]->send(1, put(0, data, &w));
    EXPECT_FALSE(p.run([&] { return w.status != 1; }, 200 * millisecond));
    EXPECT_EQ(p.sinks[1].frames, 0u);
    EXPECT_FALSE(has_link(p, 1));
    EXPECT_GT(GetParam() ? p.drops(1).kept_out : p.drops(1).not_ours, 0u);
    EXPECT_EQ(dropped(p.drops(0)), 0u);
}

TEST_P(with_and_without_filter, garbage_is_dropped_and_counted)
{
    filtered_pair p(GetParam());
    plain_socket stranger;
    std::mt19937_64 random(5);
    for (int i = 0; i < 200; ++i) {
        auto junk = noise(random() % 2000);
        if (!junk.empty() && i % 2) junk[0] = std::byte(protocol_version);
        send_to(stranger.fd(), p.sockets[1].port, junk);
    }
    expect_long_put(p, 100'000);
    EXPECT_EQ(p.sinks[1].bytes, 100'000u);
    EXPECT_EQ(GetParam() ? p.drops(1).kept_out : p.drops(1).not_ours, 200u);
    EXPECT_EQ(dropped(p.drops(1)), 200u);
    bytes answer;
    EXPECT_FALSE(stranger.receive(&answer)) << "nothing is answered";
}

TEST(hostile, a_replayed_datagram_is_executed_once)
{
    for (auto mode : {secure_mode::off, secure_mode::auth, secure_mode::encrypt}) {
        pair p("127.0.0.1", mode, 1500);
        impostor i(p, 0, 1, 1, mode);
        auto packet = i.put_packet(0, noise(64));
        for (int n = 0; n < 5; ++n) i.deliver(0, packet);
        EXPECT_EQ(p.sinks[1].frames, 1u);
        EXPECT_EQ(p.drops(1).replayed, 4u);
        EXPECT_EQ(dropped(p.drops(1)), 4u);
    }
}

// Recorded at the beginning and delivered when the window of numbers has moved far on.
TEST(hostile, an_old_datagram_is_dropped_however_late_it_comes)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    impostor i(p);
    auto old = i.put_packet(0, noise(64));
    i.deliver(0, old);
    for (unsigned n = 1; n <= replay_window + 100; ++n) {
        net::link_config c = impostor::config(0, 1, 1);
        packet_header h;
        h.job_tag = c.job_tag;
        h.source = 0;
        h.target = 1;
        h.number = n;
        bytes empty(header_bytes + tag_bytes);
        write_header(empty.data(), h);
        crypto cipher(secure_mode::auth);
        cipher.seal(c.out, n, empty);
        i.deliver(0, empty);
    }
    EXPECT_EQ(dropped(p.drops(1)), 0u);
    i.deliver(0, old);
    EXPECT_EQ(p.sinks[1].frames, 1u);
    EXPECT_EQ(p.drops(1).replayed, 1u);
}

TEST_P(with_and_without_filter, a_datagram_cut_at_any_length_or_with_any_bit_changed_is_dropped)
{
    for (auto mode : tagged_modes) {
        filtered_pair p(GetParam(), mode);
        impostor i(p, 0, 1, 1, mode);
        auto packet = i.put_packet(0, noise(64));
        std::uint64_t sent = 0;
        for (std::size_t n = 0; n < packet.size(); ++n) {
            i.deliver(0, {packet.begin(), packet.begin() + std::ptrdiff_t(n)});
            auto changed = packet;
            changed[n] ^= std::byte(1 << n % 8);
            i.deliver(0, changed);
            sent += n || GetParam() ? 2 : 1; // nothing is read of an empty one, so only the kernel counts it
        }
        expect_untouched(p);
        const auto &drops = p.drops(1);
        EXPECT_EQ(p.strangers(1) + drops.forged, sent);
        EXPECT_EQ(drops.kept_out > 0, GetParam());
        EXPECT_GT(drops.forged, packet.size() - header_bytes) << "whatever is behind the header is covered by the tag";
        i.deliver(0, packet);
        EXPECT_EQ(p.sinks[1].frames, 1u) << "what was dropped must not have used up the packet's number";
    }
}

TEST(hostile, a_datagram_with_anything_behind_it_is_dropped)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    impostor i(p);
    auto packet = i.put_packet(0, noise(64));
    for (std::size_t more = 1; more <= 64; ++more) {
        auto longer = packet;
        longer.resize(packet.size() + more);
        i.deliver(0, longer);
    }
    expect_untouched(p);
    EXPECT_EQ(dropped(p.drops(1)), 64u);
}

// Without tags there is nothing but the address.
TEST(hostile, in_mode_off_a_datagram_from_another_address_is_dropped)
{
    pair p("127.0.0.1", secure_mode::off, 1500);
    impostor i(p, 0, 1, 1, secure_mode::off);
    plain_socket stranger;
    send_to(stranger.fd(), p.sockets[1].port, i.put_packet(0, noise(64)));
    for (int n = 0; n < 3; ++n) p.ends[1]->poll(now_ns());
    expect_untouched(p);
    EXPECT_EQ(p.drops(1).forged, 1u);
}

TEST_P(with_and_without_filter, reflected_datagrams_and_those_of_other_ranks_and_jobs_are_dropped)
{
    for (auto mode : tagged_modes) {
        filtered_pair p(GetParam(), mode);
        impostor good(p, 0, 1, 1, mode), other_target(p, 0, 7, 1, mode), other_source(p, 7, 1, 1, mode),
            self(p, 1, 1, 1, mode), other_job(p, 0, 1, 2, mode);
        good.deliver(1, good.put_packet(0, noise(64))); // comes back to rank 0, which is said to have sent it
        EXPECT_EQ(p.strangers(0), 1u);
        for (impostor *bad : {&other_target, &other_source, &self, &other_job})
            bad->deliver(0, bad->put_packet(0, noise(64)));
        EXPECT_EQ(p.strangers(1), 4u);
        EXPECT_EQ(p.drops(1).kept_out, GetParam() ? 3u : 0u) << "whether there is a rank 7 only the transport knows";
        auto renamed = good.put_packet(0, noise(64)); // swapped ranks, the tag of the other direction
        std::swap(renamed[8], renamed[12]);
        good.deliver(1, renamed);
        EXPECT_EQ(p.drops(0).forged, 1u);
        auto relabelled = other_job.put_packet(0, noise(64)); // the clear name of this job, the tag of the other one
        auto genuine = good.put_packet(0, noise(64));
        std::copy(genuine.begin() + 4, genuine.begin() + 8, relabelled.begin() + 4);
        good.deliver(0, relabelled);
        EXPECT_EQ(p.drops(1).forged, 1u);
        expect_untouched(p);
        expect_long_put(p, 10'000);
    }
}

// What only a rank of the job can make: a good tag, and nonsense behind it.
TEST(hostile, a_peer_of_the_job_cannot_confuse_the_decoder)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    impostor i(p);
    crypto cipher(secure_mode::auth);
    const link_config c = impostor::config(0, 1, 1);
    std::mt19937_64 random(9);
    std::uint64_t sent = 0;
    for (int n = 0; n < 3000; ++n) {
        auto packet = noise(header_bytes + tag_bytes + 8 * (random() % 40));
        packet_header h;
        h.flags = std::uint8_t(random() & ~unsigned(packet_flags::close | packet_flags::broken));
        h.ack_bytes = std::uint16_t(8 * (random() % 12));
        h.job_tag = c.job_tag;
        h.target = 1;
        h.number = std::uint64_t(n);
        h.bundle = random() % 3 ? random() % 4 : random();
        write_header(packet.data(), h);
        cipher.seal(c.out, h.number, packet);
        i.deliver(0, packet);
        ++sent;
    }
    const auto &drops = p.drops(1);
    EXPECT_EQ(drops.forged + drops.replayed, 0u);
    EXPECT_GT(drops.malformed + drops.not_ours, sent / 2);
    EXPECT_GT(drops.malformed, 0u);
}

// ---- floods ----

namespace {

// A microsecond at most for each packet, however slow this machine is: what comes between two looks for floods is many.
class flood_clock {
  public:
    nanoseconds next() { return std::min(now_ns(), now_ += microsecond); }

  private:
    nanoseconds now_ = now_ns();
};

// Headers of this job, to rank 1, with wrong tags.
void send_forged(const plain_socket &from, pair &p, unsigned count, std::uint32_t source = 0)
{
    packet_header h;
    h.flags = packet_flags::bundle;
    h.job_tag = impostor::config(0, 1, 1).job_tag;
    h.source = source;
    h.target = 1;
    bytes packet = noise(200);
    flood_clock clock;
    for (h.number = 0; h.number < count; ++h.number) {
        write_header(packet.data(), h);
        send_to(from.fd(), p.sockets[1].port, packet);
        p.ends[1]->poll(clock.next());
    }
}

// Until the kernel drops them.
void flood_until_closed(const plain_socket &from, pair &p)
{
    for (int i = 0; i < 10 && p.drops(1).kept_out == 0; ++i) send_forged(from, p, 3000); // three looks
    ASSERT_GT(p.drops(1).kept_out, 0u);
}

// The same packet again and again, until the kernel drops it.
void flood_until_closed(const plain_socket &from, pair &p, const bytes &packet)
{
    flood_clock clock;
    for (int n = 0; n < 30'000 && p.drops(1).kept_out == 0; ++n) {
        send_to(from.fd(), p.sockets[1].port, packet);
        p.ends[1]->poll(clock.next());
    }
    EXPECT_GT(p.drops(1).kept_out, 0u);
}

void poll_for(pair &p, nanoseconds time)
{
    EXPECT_FALSE(p.run([] { return false; }, time));
}

} // namespace

TEST(hostile, a_flood_of_forged_packets_is_left_to_the_kernel_until_it_is_over)
{
    for (auto mode : {secure_mode::off, secure_mode::auth, secure_mode::encrypt}) {
        pair p("127.0.0.1", mode, 1500);
        plain_socket stranger;
        flood_until_closed(stranger, p);
        poll_for(p, 2 * millisecond); // what had been let in before
        const std::uint64_t looked_at = p.drops(1).forged, kept_out = p.drops(1).kept_out;
        EXPECT_GT(looked_at, flood_guard::many);
        send_forged(stranger, p, 1000);
        EXPECT_EQ(p.drops(1).forged, looked_at);
        EXPECT_EQ(p.drops(1).kept_out, kept_out + 1000);
        expect_long_put(p, 100'000);
        for (int n = 0; n < 500 && p.drops(1).forged == looked_at; ++n) {
            send_forged(stranger, p, 1);
            poll_for(p, 20 * millisecond);
        }
        EXPECT_GT(p.drops(1).forged, looked_at) << "open again";
    }
}

TEST(hostile, a_flood_in_the_name_of_nobody_or_of_old_packets_is_left_to_the_kernel_too)
{
    pair nobody("127.0.0.1", secure_mode::auth, 1500), again("127.0.0.1", secure_mode::auth, 1500);
    plain_socket stranger;
    for (int i = 0; i < 10 && nobody.drops(1).kept_out == 0; ++i) send_forged(stranger, nobody, 3000, 77);
    EXPECT_GT(nobody.drops(1).kept_out, 0u);
    impostor i(again);
    const bytes packet = i.put_packet(0, noise(64));
    i.deliver(0, packet);
    flood_until_closed(stranger, again, packet);
    EXPECT_GT(again.drops(1).replayed, flood_guard::many);
    EXPECT_EQ(again.sinks[1].frames, 1u);
}

// Nothing that comes behind it says so.
TEST(hostile, beginnings_of_trains_that_never_end_are_counted_and_left_to_the_kernel)
{
    for (const unsigned more : {0u, unsigned(packet_flags::more)}) {
        SCOPED_TRACE(more);
        pair p("127.0.0.1", secure_mode::auth, 1500);
        plain_socket stranger;
        packet_header h;
        h.flags = std::uint8_t(packet_flags::bundle | packet_flags::first | more);
        h.job_tag = impostor::config(0, 1, 1).job_tag;
        h.target = 1;
        h.train = more ? 1000 : 60'000;
        bytes packet = noise(1000);
        write_header(packet.data(), h);
        flood_until_closed(stranger, p, packet);
        EXPECT_GT(p.drops(1).not_ours, flood_guard::many);
    }
}

TEST(hostile, who_joins_during_a_flood_gets_in)
{
    pair p("127.0.0.1", secure_mode::auth, 1500);
    plain_socket stranger;
    flood_until_closed(stranger, p);
    p.known[0] = false;
    for (auto until = now_ns() + 2 * flood_guard::while_closed; now_ns() < until;) send_forged(stranger, p, 10);
    p.known[0] = true; // it was closed anew meanwhile, without rank 0
    auto data = noise(100);
    wait_for w;
    p.ends[0]->send(1, put(0, data, &w));
    p.ends[0]->flush();
    ASSERT_TRUE(p.run([&] {
        send_forged(stranger, p, 10);
        return w.status != 1;
    }));
    EXPECT_EQ(w.status, SEA_OK);
}

// ---- between two that talk ----

namespace {

// Sits between the two: sees every datagram and may add what it likes.
class man_in_the_middle {
  public:
    using meddle = std::function<void(int from, const bytes &packet)>;

    explicit man_in_the_middle(pair &p) : pair_(p)
    {
        for (int rank : {0, 1}) p.seen_at[rank] = faces_[rank].port();
    }
    // To a rank, as if from the other one.
    void send(int to, const bytes &packet) const { send_to(faces_[1 - to].fd(), pair_.sockets[to].port, packet); }
    // Passes everything on, a copy to `also`.
    void pass(const meddle &also) const
    {
        bytes packet;
        for (int to : {0, 1})
            for (int n = 0; n < 64 && faces_[to].receive(&packet); ++n) {
                send(to, packet);
                also(1 - to, packet);
            }
    }
    // Two long puts at once and many short ones, while `also` happens to every datagram.
    void expect_traffic_unharmed(const meddle &also)
    {
        const auto data = noise(300'000), word = noise(8);
        wait_for whole[2], words[100];
        for (int from : {0, 1}) pair_.ends[from]->send(1 - from, put(8000, data, &whole[from]));
        for (int i = 0; i < 100; ++i) pair_.ends[0]->send(1, put(8 * std::uint64_t(i), word, &words[i]));
        auto settled = [](const wait_for &w) { return w.status != 1; };
        ASSERT_TRUE(pair_.run([&] {
            pass(also);
            return settled(whole[0]) && settled(whole[1]) && std::all_of(words, words + 100, settled);
        }));
        for (const wait_for &w : words) EXPECT_EQ(w.status, SEA_OK);
        for (int to : {0, 1}) {
            EXPECT_EQ(whole[to].status, SEA_OK);
            EXPECT_EQ(std::memcmp(pair_.sinks[to].memory.data() + 8000, data.data(), data.size()), 0);
            EXPECT_EQ(pair_.sinks[to].bytes, data.size() + (to ? 800 : 0)) << "executed once";
        }
        EXPECT_EQ(std::memcmp(pair_.sinks[1].memory.data() + 8 * 57, word.data(), 8), 0);
    }

  private:
    pair &pair_;
    plain_socket faces_[2]; // where a rank is to be found, for the other one
};

class on_the_wire : public testing::TestWithParam<secure_mode> {
  protected:
    filtered_pair p{false, GetParam()}; // here the counts shall tell what the transport refused
    man_in_the_middle man{p};
    std::uint64_t added = 0;
    void add(int to, const bytes &packet)
    {
        man.send(to, packet);
        ++added;
    }
    std::uint64_t drops(count_word process_counts::*reason) { return p.drops(0).*reason + p.drops(1).*reason; }
    std::uint64_t all_drops() { return dropped(p.drops(0)) + dropped(p.drops(1)); }
};

} // namespace

INSTANTIATE_TEST_SUITE_P(hostile, on_the_wire, testing::ValuesIn(tagged_modes),
                         [](auto &mode) { return mode.param == secure_mode::auth ? "auth" : "encrypt"; });

TEST_P(on_the_wire, replayed_datagrams_change_nothing)
{
    std::vector<bytes> seen[2];
    std::mt19937_64 random(1);
    man.expect_traffic_unharmed([&](int from, const bytes &packet) {
        seen[from].push_back(packet);
        add(1 - from, packet);
        add(1 - from, seen[from][random() % seen[from].size()]);
    });
    EXPECT_GT(drops(&process_counts::replayed), added / 2) << "some of the last ones may still be on their way";
    EXPECT_EQ(all_drops(), drops(&process_counts::replayed));
}

TEST_P(on_the_wire, datagrams_sent_back_to_their_sender_change_nothing)
{
    man.expect_traffic_unharmed([&](int from, const bytes &packet) { add(from, packet); });
    EXPECT_GT(drops(&process_counts::not_ours), added / 2);
    EXPECT_EQ(all_drops(), drops(&process_counts::not_ours));
}

TEST_P(on_the_wire, changed_and_cut_datagrams_change_nothing)
{
    std::mt19937_64 random(2);
    man.expect_traffic_unharmed([&](int from, const bytes &packet) {
        auto changed = packet, cut = packet;
        changed[header_bytes + random() % (packet.size() - header_bytes)] ^= std::byte(1 << random() % 8);
        cut.resize(random() % packet.size());
        add(1 - from, changed);
        add(1 - from, cut);
    });
    EXPECT_GT(drops(&process_counts::forged), added / 4);
    EXPECT_GT(drops(&process_counts::not_ours), 0u);
    EXPECT_EQ(all_drops(), drops(&process_counts::forged) + drops(&process_counts::not_ours));
}

// The numbers of packets yet to come, so that the real ones would look like replays if these were believed.
TEST_P(on_the_wire, forged_numbers_and_flags_change_nothing)
{
    std::mt19937_64 random(3);
    man.expect_traffic_unharmed([&](int from, const bytes &packet) {
        auto ahead = packet, closing = packet;
        ahead[16] ^= std::byte(1 + random() % 255);
        closing[1] = std::byte(packet_flags::close);
        add(1 - from, ahead);
        add(1 - from, closing);
        closing[1] = std::byte(packet_flags::broken | packet_flags::ask_ack);
        add(1 - from, closing);
    });
    EXPECT_GT(drops(&process_counts::forged), added / 2);
    EXPECT_EQ(all_drops(), drops(&process_counts::forged));
}
