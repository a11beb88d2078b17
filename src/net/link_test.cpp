// SPDX-License-Identifier: Apache-2.0
// Two links over the simulated network, and what may happen to their datagrams.
// ONESEA_SEEDS=N runs N random seeds instead of the default.
#include "net/link_world.hpp"

#include <cstdlib>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

// A little of everything, in both directions.
void mixed_traffic(world &w)
{
    w.a.ask(8, false, false, false);
    w.a.ask(5000, true, false, true);
    w.a.ask(0, false, true, false);
    w.a.ask(100, false, true, true);
    w.a.ask(2500, true, true, false);
    w.b.ask(16, false, false, true);
    w.b.ask(3000, true, false, false);
    w.a.ask(24, false, false, false);
    w.b.ask(8, false, true, false);
}

// One thread executes all of it: the thread sanitizer, which takes minutes for as much, sees no more in the rest.
std::uint64_t seeds(std::uint64_t usual)
{
    const char *text = std::getenv("ONESEA_SEEDS");
    if (text) return std::strtoull(text, nullptr, 10);
#if defined(__SANITIZE_THREAD__)
    usual /= 10;
#endif
    return usual;
}

} // namespace

TEST(link, delivers_every_kind_of_message_once_without_loss)
{
    for (auto mode : {secure_mode::off, secure_mode::auth, secure_mode::encrypt})
        for (std::size_t limit : {1400, 1472, 8968, 61512}) {
            world w(1, {}, mode, limit);
            mixed_traffic(w);
            w.a.ask(1 << 20, true, false, false);
            ASSERT_TRUE(w.finish());
            w.expect_all_good();
            EXPECT_EQ(w.net.at(0).counts().packets_lost + w.net.at(1).counts().packets_lost, 0u);
            EXPECT_EQ(w.net.at(0).counts().probes, 0u);
        }
}

TEST(link, survives_the_loss_of_any_one_datagram)
{
    for (int side = 0; side < 2; ++side)
        for (unsigned n = 0;; ++n) {
            world w(1);
            bool hit = false;
            w.net.set_verdict([&](int from, unsigned nth) {
                bool lose = from == side && nth == n;
                hit |= lose;
                return !lose;
            });
            mixed_traffic(w);
            ASSERT_TRUE(w.finish()) << "side " << side << " datagram " << n;
            w.expect_all_good();
            if (!hit) break;
        }
}

TEST(link, survives_every_pattern_of_loss_among_the_first_ten_datagrams)
{
    for (int side = 0; side < 2; ++side)
        for (unsigned bits = 0; bits < 1024; ++bits) {
            world w(bits);
            w.net.set_verdict([&](int from, unsigned nth) { return from != side || nth >= 10 || !(bits >> nth & 1); });
            mixed_traffic(w);
            ASSERT_TRUE(w.finish()) << "side " << side << " bits " << bits;
            w.expect_all_good();
            if (HasFailure()) FAIL() << "side " << side << " bits " << bits;
        }
}

static void random_run(std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    auto up_to = [&](std::uint64_t n) { return random() % (n + 1); };
    sim_rates rates;
    rates.loss = double(up_to(30)) / 100;
    rates.dup = double(up_to(10)) / 100;
    rates.corrupt = double(up_to(5)) / 100;
    rates.delay = microsecond * (1 + up_to(500));
    rates.jitter = microsecond * up_to(300);
    rates.inbox_bytes = (64 + up_to(4000)) * 1024;
    constexpr std::size_t limits[] = {1400, 1472, 8968, 61512};
    const auto mode = up_to(3) == 0 ? secure_mode::encrypt : secure_mode::auth;
    const std::size_t limit = limits[up_to(3)];
    world w(seed, rates, mode, limit, default_give_up, {&usual_tuning, &usual_tuning}, up_to(1));
    for (int i = 0; i < 40; ++i) {
        party &p = up_to(1) ? w.a : w.b;
        bool borrow = up_to(1);
        std::size_t bytes = borrow && up_to(3) == 0 ? up_to(100'000) : up_to(1000);
        p.ask(bytes, borrow, up_to(3) == 0, up_to(4) == 0);
        if (up_to(9) == 0) w.net.partition(w.net.now() + millisecond * up_to(300));
        if (up_to(9) == 0) w.net.stop(int(up_to(1)), w.net.now() + millisecond * up_to(3000));
        if (up_to(2) == 0) w.net.run([] { return false; }, w.net.now() + microsecond * up_to(2000));
    }
    ASSERT_TRUE(w.finish()) << "seed " << seed << ": hangs";
    w.expect_all_good();
}

TEST(link, executes_everything_exactly_once_through_random_damage)
{
    for (std::uint64_t seed = 1; seed <= seeds(5000); ++seed) {
        random_run(seed);
        if (HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST(link, repeats_a_run_from_its_seed)
{
    sim_rates rates{.loss = 0.1, .dup = 0.05, .corrupt = 0.02, .jitter = 50 * microsecond};
    std::uint64_t first[2] = {};
    for (auto &result : first) {
        world w(99, rates);
        mixed_traffic(w);
        ASSERT_TRUE(w.finish());
        result = w.net.now();
    }
    EXPECT_EQ(first[0], first[1]);
}

TEST(link, acknowledges_a_lone_message_at_once)
{
    world w(1);
    nanoseconds begin = w.net.now();
    w.a.ask(8, false, false, false);
    ASSERT_TRUE(w.net.run([&] { return w.a.all_settled(); }, w.net.now() + second));
    EXPECT_EQ(w.net.now() - begin, 20 * microsecond) << "two times the delay of the wire";
    EXPECT_EQ(w.net.at(1).counts().packets_out, 1u);
}

// The receiver would wait with its acknowledgement until much more has come.
TEST(link, asks_for_an_answer_when_its_own_window_is_full)
{
    const path_tuning narrow{.window = 16 * 1024}, wide{.window = 4 << 20};
    for (auto tunings : {std::array{&narrow, &wide}, std::array{&wide, &narrow}, std::array{&narrow, &narrow}}) {
        world w(1, {}, secure_mode::auth, 1472, default_give_up, tunings);
        for (auto side : {0, 1}) w.net.at(side).set_grant(1 << 20);
        const auto begin = w.net.now();
        w.a.ask(1'000'000, true, false, false);
        ASSERT_TRUE(w.finish());
        w.expect_all_good();
        EXPECT_LT(w.net.now() - begin, 10 * millisecond) << "some 100 windows of 20 us each";
    }
}

TEST(link, lets_small_messages_share_packets)
{
    world w(1);
    for (int i = 0; i < 1000; ++i) w.a.ask(8, false, false, false);
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
    EXPECT_LE(w.net.at(0).counts().packets_out, 30u) << "1000 frames of 32 bytes fill 23 packets";
}

// A few packets are under way; messages of 1000 bytes follow, where an mtu of 1500 takes one each.
struct follow_up {
    world w{1};
    net::link &l = w.net.at(0);
    std::vector<std::byte> bytes = std::vector<std::byte>(1000);

    follow_up()
    {
        for (std::size_t i = 0; i < few_packets; ++i) {
            send(1);
            EXPECT_EQ(build_at(0), 1u) << "it may be the flag behind the data";
        }
    }
    ~follow_up() { l.settle_all(SEA_OK); }
    void send(unsigned n, std::size_t size = 1000)
    {
        outgoing m;
        m.payload = bytes.data();
        m.bytes = size;
        while (n-- > 0) l.send(m);
    }
    unsigned build_at(std::uint64_t now)
    {
        unsigned packets = 0;
        for (datagram d; l.build(now, &d); ++packets) EXPECT_LT(d.bytes, 1500u);
        return packets;
    }
};

// Small datagrams go many in one send: what comes behind a few that just went waits for company, first for little.
TEST(link, lets_small_packets_share_sends)
{
    follow_up f;
    f.send(3);
    EXPECT_EQ(f.build_at(1000), 0u) << "they wait for company";
    EXPECT_LE(f.l.deadline(), 1000 + hold_limit);
    f.send(1);
    EXPECT_GE(f.build_at(2000), 2u);
    for (std::size_t enough = 2 * std::size_t(path_tuning{}.batch); 2 * enough < f.l.most_in_one_send(); enough *= 2) {
        f.send(unsigned(enough / 1024) - 3);
        EXPECT_EQ(f.build_at(3000), 0u) << enough;
        f.send(5);
        EXPECT_GE(f.build_at(4000) * 1400u, enough);
    }
}

TEST(link, what_waits_for_company_goes_when_its_time_has_come)
{
    follow_up f;
    f.send(3);
    EXPECT_EQ(f.build_at(1000), 0u);
    unsigned packets = f.build_at(1000 + hold_limit);
    EXPECT_GE(packets, 2u) << "all full ones of them";
    f.l.flush();
    EXPECT_EQ(packets + f.build_at(2000 + hold_limit), 3u);
}

// Two of these fill a packet exactly. The last one has waited as long as the others.
TEST(link, what_is_left_behind_full_packets_when_the_time_has_come_goes_too)
{
    follow_up f;
    f.send(3, 688);
    EXPECT_EQ(f.build_at(1000), 0u);
    EXPECT_EQ(f.build_at(1000 + hold_limit), 2u);
}

// Where it is cut, a message gets a second head.
TEST(link, what_is_cut_off_full_packets_waits_for_company)
{
    follow_up f;
    f.bytes.resize(f.l.max_frame() + 100);
    outgoing m;
    m.payload = f.bytes.data();
    m.bytes = f.bytes.size();
    m.borrow = true;
    const auto several = unsigned(path_tuning{}.batch / f.bytes.size() + 1);
    for (unsigned i = 0; i < several; ++i) f.l.send(m);
    EXPECT_EQ(f.build_at(1000), several);
    EXPECT_TRUE(f.l.has_queued());
    EXPECT_EQ(f.build_at(2000), 0u);
    EXPECT_GE(f.build_at(2000 + hold_limit), 1u);
}

// Of pages that are lent there are less in a full packet than it has room for.
TEST(link, what_is_cut_off_full_packets_of_whole_pages_waits_for_company_if_the_peer_does_not_wait_for_it)
{
    for (const bool awaited : {false, true}) {
        world w(1, {}, secure_mode::auth, 61512);
        net::link &l = w.net.at(0);
        const std::vector<std::byte> bytes(60'000);
        outgoing m;
        m.payload = bytes.data();
        m.bytes = bytes.size();
        m.borrow = true;
        m.awaited = awaited;
        datagram d;
        for (std::size_t i = 0; i < few_packets / 2; ++i) {
            l.send(m);
            EXPECT_TRUE(l.build(0, &d) && l.build(0, &d));
        }
        l.send(m);
        EXPECT_TRUE(l.build(1000, &d));
        EXPECT_EQ(l.build(1000, &d), awaited);
        if (!awaited) {
            EXPECT_TRUE(l.build(1000 + hold_limit, &d));
        }
        EXPECT_FALSE(l.has_queued());
        l.settle_all(SEA_OK);
    }
}

TEST(link, what_is_left_behind_full_packets_does_not_wait_anew)
{
    follow_up f;
    f.send(5, 688);
    f.send(1, 400);
    EXPECT_EQ(f.build_at(1000), 0u);
    f.send(1, 136);
    EXPECT_EQ(f.build_at(hold_limit), 2u) << "it was enough; another two and a half messages stay";
    EXPECT_LE(f.l.deadline(), 1000 + hold_limit);
    EXPECT_EQ(f.build_at(1000 + hold_limit), 1u);
    f.send(3, 688);
    EXPECT_EQ(f.build_at(2000 + hold_limit), 0u) << "they have waited for nothing yet";
    EXPECT_EQ(f.build_at(2000 + 2 * hold_limit), 2u);
}

// The acknowledgement of those before may be late. They are no reason to wait for others, which are not in sight.
TEST(link, what_comes_alone_goes_at_once_whatever_is_under_way)
{
    follow_up f;
    for (std::uint64_t now = company_gap; now < 20 * company_gap; now += company_gap)
        for (std::size_t i = 0; i < few_packets; ++i) {
            f.send(1);
            EXPECT_EQ(f.build_at(now), 1u) << i << " at " << now;
        }
}

TEST(link, expects_company_sooner_where_a_crowd_came_last_time)
{
    follow_up f;
    auto two = [&](std::uint64_t now) {
        f.send(1);
        EXPECT_EQ(f.build_at(now), 1u) << "what comes first waits for nobody";
        f.send(1);
        return f.build_at(now);
    };
    f.send(1);
    EXPECT_EQ(f.build_at(1000), 0u);
    f.send(least_crowd - 1);
    f.l.flush();
    EXPECT_GE(f.build_at(1000), 4u);
    EXPECT_EQ(two(2 * company_gap), 0u) << "waits for the crowd";
    EXPECT_EQ(f.build_at(2 * company_gap + hold_limit), 1u) << "which did not come";
    EXPECT_EQ(two(4 * company_gap), 1u);
}

// Fewer sends cost the sender less, and it has the longer way.
TEST(link, begins_with_longer_sends_where_a_crowd_came_last_time)
{
    world w(1);
    auto packets_of = [&](std::size_t bytes) {
        const std::uint64_t before = w.net.at(0).counts().packets_out;
        for (; bytes >= 32; bytes -= 32) w.a.ask(8, false, false, false);
        return w.net.at(0).counts().packets_out - before;
    };
    const std::size_t batch = usual_tuning.batch;
    for (const bool crowd_came : {false, true}) {
        for (std::size_t i = 0; i < (crowd_came ? 1 : few_packets); ++i) packets_of(32);
        EXPECT_EQ(packets_of(batch / 2), 0u);
        EXPECT_EQ(packets_of(batch) == 0, crowd_came);
        EXPECT_EQ(packets_of(batch) == 0, !crowd_came);
        ASSERT_TRUE(w.finish());
    }
}

TEST(link, sends_probes_not_the_window_when_the_peer_is_silent)
{
    world w(1);
    w.a.ask(8, false, false, false);
    ASSERT_TRUE(w.finish());
    w.net.stop(1, w.net.now() + 10 * second);
    w.a.ask(200'000, true, false, false);
    std::uint64_t window = w.net.at(0).counts().packets_out;
    w.net.run([] { return false; }, w.net.now() + 9 * second);
    std::uint64_t probes = w.net.at(0).counts().packets_out - window;
    EXPECT_GE(probes, 4u);
    EXPECT_LE(probes, 2u * 32) << "two per time-out, doubling up to half a second";
    EXPECT_EQ(w.net.at(0).counts().packets_lost, 0u) << "silence is not loss";
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
}

TEST(link, finds_a_lost_packet_by_those_behind_it_without_waiting_for_a_probe)
{
    world w(1);
    w.net.set_verdict([](int from, unsigned nth) { return from != 0 || nth != 2; });
    nanoseconds begin = w.net.now();
    w.a.ask(20'000, true, false, false);
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
    EXPECT_EQ(w.net.at(0).counts().packets_lost, 1u);
    EXPECT_EQ(w.net.at(0).counts().probes, 0u);
    EXPECT_EQ(w.net.at(0).counts().spurious, 0u) << "a real loss is not taken for a late packet";
    EXPECT_LT(w.net.now() - begin, millisecond);
}

// Sends to a receiver that stands still for a while and whose inbox holds no more than the link may have in flight.
void send_to_a_stopped_receiver(const std::function<void(onesea::net::link &)> &limit)
{
    sim_rates rates;
    rates.inbox_bytes = first_grant;
    world w(1, rates);
    for (auto side : {0, 1}) limit(w.net.at(side));
    w.a.ask(4 << 20, true, false, false);
    w.net.stop(1, w.net.now() + 100 * millisecond);
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
    EXPECT_EQ(w.net.at(0).counts().packets_lost, 0u) << "the inbox never overflows";
}

TEST(link, never_has_more_in_flight_than_the_receiver_granted)
{
    send_to_a_stopped_receiver([](auto &l) { l.set_grant(first_grant / 2); });
}

TEST(link, never_has_more_in_flight_than_its_share_of_what_the_process_may_have)
{
    send_to_a_stopped_receiver([](auto &l) { l.set_grant(768 * 1024), l.set_room(first_grant / 2); });
}

TEST(link, gives_up_on_a_peer_that_stays_silent_and_says_so)
{
    world w(1, {}, secure_mode::auth, 1472, 2 * second);
    w.net.partition(never);
    w.a.ask(8, false, false, false);
    w.a.ask(100'000, true, false, false);
    w.a.ask(8, false, true, false);
    ASSERT_TRUE(w.net.run([&] { return w.a.all_settled(); }, w.net.now() + 10 * second));
    for (auto &r : w.a.requests) EXPECT_EQ(r.status, SEA_ERR_LINK);
    w.a.ask(8, false, false, false);
    EXPECT_EQ(w.a.requests.back().status, SEA_ERR_LINK) << "later messages fail too";
}

// Its answers were lost for so long that the target has given the link up. The origin has its request acknowledged and
// nothing outstanding: only the target can tell it that the answer will not come.
TEST(link, tells_the_peer_that_it_was_given_up_until_the_peer_has_heard_it)
{
    world w(1, {}, secure_mode::auth, 1472, 2 * second);
    w.b.ask(8, false, false, false);
    ASSERT_TRUE(w.finish());
    bool cut = true;
    w.net.set_verdict([&](int from, unsigned) { return from != 1 || !cut; });
    w.b.ask(8, false, false, false);
    ASSERT_TRUE(w.net.run([&] { return w.b.all_settled(); }, w.net.now() + 10 * second));
    EXPECT_EQ(w.b.requests.back().status, SEA_ERR_LINK);
    w.net.run([] { return false; }, w.net.now() + 60 * second);
    EXPECT_FALSE(w.net.at(0).has_failed());
    EXPECT_LE(w.net.at(1).counts().packets_out, 50u) << "less and less often";
    cut = false;
    ASSERT_TRUE(w.net.run([&] { return w.net.at(0).has_failed(); }, w.net.now() + 11 * second));
    w.net.run([] { return false; }, w.net.now() + second);
    for (int side : {0, 1}) EXPECT_EQ(w.net.at(side).deadline(), never) << "both know; side " << side;
}

TEST(link, hears_at_once_that_its_peer_has_given_up_when_it_asks_something)
{
    world w(1, {}, secure_mode::auth, 1472, 2 * second);
    w.net.partition(w.net.now() + 100 * second);
    w.a.ask(8, false, false, false);
    ASSERT_TRUE(w.net.run([&] { return w.a.all_settled(); }, w.net.now() + 10 * second));
    w.net.run([] { return false; }, w.net.now() + 101 * second);
    w.b.ask(8, false, false, false);
    ASSERT_TRUE(w.net.run([&] { return w.b.all_settled(); }, w.net.now() + millisecond));
    EXPECT_EQ(w.b.requests.back().status, SEA_ERR_LINK);
}

// Both processes were stopped, or the machine was: by the clock the peer was silent for long, but nobody has asked it.
TEST(link, takes_no_jump_of_the_clock_for_silence)
{
    world w(1, {}, secure_mode::auth, 1472, 2 * second);
    for (int i = 0; i < 5; ++i) {
        w.net.stop(1, w.net.now() + 500 * second);
        w.a.ask(8, false, false, false);
        w.net.stop(0, w.net.now() + 500 * second);
        ASSERT_TRUE(w.finish());
        w.expect_all_good();
    }
}

TEST(link, settles_everything_once_when_the_peer_has_gone)
{
    for (int status : {SEA_OK, SEA_ERR_DEAD}) {
        world w(1);
        w.net.partition(never);
        w.a.ask(8, false, false, false);
        w.a.ask(1 << 20, true, false, false);
        w.b.executed.assign(2, 0);
        w.b.executed[0] = 9, w.b.executed[1] = (1 << 20) + 1; // as if the peer had executed them and left
        w.net.at(0).settle_all(status);
        ASSERT_TRUE(w.a.all_settled());
        for (auto &r : w.a.requests) EXPECT_EQ(r.status, status);
        EXPECT_TRUE(w.net.at(0).idle());
    }
}

// The parts of a long message that were acknowledged are gone, those that were not sent have no bundle yet.
TEST(link, settles_a_long_message_once_when_the_peer_goes_after_a_part_of_it)
{
    world w(1);
    w.net.partition(never);
    w.a.ask(8 << 20, true, false, false);
    packet_view all; // acknowledges what was sent so far
    all.header.ack_bytes = ack_fixed_bytes;
    all.ack.fixed.executed = w.net.at(0).counts().packets_out;
    all.ack.fixed.largest = all.ack.fixed.executed - 1;
    ASSERT_TRUE(w.net.at(0).receive(all, w.net.now()));
    ASSERT_FALSE(w.a.all_settled());
    w.net.at(0).settle_all(SEA_ERR_DEAD);
    ASSERT_TRUE(w.a.all_settled());
    EXPECT_EQ(w.a.requests.back().status, SEA_ERR_DEAD);
}

TEST(link, queues_a_gigabyte_without_touching_it)
{
    world w(1);
    w.net.partition(never);
    outgoing m;
    std::vector<std::byte> memory(first_grant);
    m.payload = memory.data();
    m.bytes = std::size_t(1) << 30;
    m.borrow = true;
    w.net.send(0, m);
    EXPECT_LE(w.net.at(0).counts().packets_out, first_grant / 1000);
    w.net.at(0).settle_all(SEA_OK);
}

// The kernel may refuse the only packet there is. No acknowledgement will come for it and no probe is due: the link
// itself must ask to be called again, or the message never goes.
TEST(link, asks_to_be_called_again_when_the_only_packet_was_refused)
{
    world w(1);
    net::link &l = w.net.at(0);
    outgoing m;
    m.bytes = 0;
    l.send(m);
    datagram d;
    ASSERT_TRUE(l.build(w.net.now(), &d));
    l.unbuild(d);
    EXPECT_LE(l.deadline(), w.net.now());
    ASSERT_TRUE(l.build(w.net.now(), &d));
    EXPECT_GT(l.deadline(), w.net.now()) << "now it is in flight";
    l.settle_all(SEA_OK);
}

// What it is about is in flight and need not go again, but the peer was not asked.
TEST(link, probes_again_when_a_probe_was_refused)
{
    world w(1);
    net::link &l = w.net.at(0);
    w.net.partition(never);
    for (int i = 0; i < 3; ++i) w.a.ask(1000, false, false, false);
    w.net.flush(0);
    const auto now = l.deadline();
    l.on_time(now);
    datagram early, late;
    ASSERT_TRUE(l.build(now, &early) && l.build(now, &late));
    l.unbuild(late);
    l.unbuild(early);
    EXPECT_TRUE(l.build(now, &early) && l.build(now, &late));
    EXPECT_FALSE(l.build(now, &early)) << "two of them";
    l.settle_all(SEA_ERR_DEAD);
}

TEST(link, asks_to_be_called_again_for_a_message_nobody_could_build)
{
    world w(1);
    net::link &l = w.net.at(0);
    EXPECT_EQ(l.deadline(), never);
    l.send(outgoing{});
    EXPECT_LE(l.deadline(), w.net.now());
    l.settle_all(SEA_OK);
}

TEST(link, stays_small_when_idle) { EXPECT_LE(sizeof(net::link), 1280u); }

TEST(link, drops_packets_of_others_and_changed_ones)
{
    sim_rates rates;
    rates.corrupt = 0.5;
    world w(5, rates);
    mixed_traffic(w);
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
    EXPECT_GT(w.net.refused(), 0u);
}
