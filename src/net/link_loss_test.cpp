// SPDX-License-Identifier: Apache-2.0
// What a loss costs: which packets are taken for lost, and how soon they go again.
#include "net/link_world.hpp"

#include <fmt/format.h>
#include <memory>
#include <utility>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

constexpr std::size_t wide_grant = 768 * 1024;

void grant_much(world &w)
{
    for (int side : {0, 1}) w.net.at(side).set_grant(wide_grant);
}

// Both know round trip and grant, and trust the path if `packets` are enough for that.
void warm_up(world &w, unsigned packets)
{
    grant_much(w);
    for (unsigned i = 0; i < packets; ++i) {
        w.a.ask(8, false, false, false);
        ASSERT_TRUE(w.finish());
    }
    w.b.ask(8, false, false, false);
    ASSERT_TRUE(w.finish());
}

} // namespace

// However many come behind it before the receiver answers: it must tell of all of them.
TEST(link, takes_one_packet_for_lost_where_one_was_lost)
{
    for (std::size_t bytes : {20'000, 90'000, 120'000, 160'000, 1'000'000}) {
        SCOPED_TRACE(bytes);
        world w(1);
        grant_much(w);
        w.net.set_verdict([](int from, unsigned nth) { return from != 0 || nth != 2; });
        w.a.ask(bytes, true, false, false);
        ASSERT_TRUE(w.finish());
        w.expect_all_good();
        EXPECT_EQ(w.net.at(0).counts().packets_lost, 1u);
        EXPECT_EQ(w.net.at(0).counts().probes, 0u);
    }
}

// The first packets of a window are lost, so many that what goes again fills the smaller window that is left. The
// receiver has no reason of its own to answer before ack_delay.
TEST(link, asks_for_an_answer_when_what_goes_again_fills_the_window)
{
    for (unsigned hit = 0; hit < 114; hit += 3) {
        SCOPED_TRACE(hit);
        world w(1);
        grant_much(w);
        w.a.ask(1000, false, false, false);
        w.b.ask(1000, false, false, false);
        ASSERT_TRUE(w.finish()) << "the grants are known now";
        unsigned sent = 0;
        w.net.set_verdict([&](int from, unsigned) { return from != 0 || sent++ >= hit; });
        const auto begin = w.net.now();
        w.a.ask(600'000, true, false, false);
        ASSERT_TRUE(w.finish());
        w.expect_all_good();
        EXPECT_LT(w.net.now() - begin, ack_delay / 2) << "a few windows of 20 us each";
    }
}

// Whatever is left of the window behind its last packet: that one asks, since nothing can go behind it.
TEST(link, asks_for_an_answer_with_the_last_packet_of_its_own_window)
{
    for (std::uint32_t wide = 20'000; wide < 22'400; wide += 8) {
        SCOPED_TRACE(wide);
        const path_tuning narrow{.window = wide};
        world w(1, {}, secure_mode::auth, 1472, default_give_up, {&narrow, &usual_tuning});
        grant_much(w);
        w.a.ask(1000, false, false, false);
        w.b.ask(1000, false, false, false);
        ASSERT_TRUE(w.finish()) << "the grants are known now";
        const auto begin = w.net.now();
        w.a.ask(60'000, true, false, false);
        ASSERT_TRUE(w.finish());
        w.expect_all_good();
        EXPECT_LT(w.net.now() - begin, ack_delay) << "a few windows of 20 us each";
    }
}

// What is ordered waits behind it, and must be told of nevertheless.
TEST(link, takes_what_ordered_packets_wait_for_for_lost_without_a_probe)
{
    for (unsigned behind : {1u, 2u, 5u}) {
        for (bool trains : {false, true}) {
            SCOPED_TRACE(fmt::format("{} behind it, {}", behind, trains ? "trains" : "datagrams"));
            world w(1, {}, secure_mode::auth, 1472, default_give_up, {&usual_tuning, &usual_tuning}, trains);
            const auto lone = [&](std::size_t bytes) {
                w.a.ask(bytes, true, true, false);
                w.net.flush(0);
            };
            for (int i = 0; i < 10; ++i) {
                lone(8);
                ASSERT_TRUE(w.finish());
            }
            bool lost = false;
            w.net.set_verdict([&](int from, unsigned) { return from != 0 || std::exchange(lost, true); });
            const auto begin = w.net.now();
            lone(trains ? 10'000 : 1000);
            w.net.set_verdict([](int, unsigned) { return true; });
            for (unsigned i = 0; i < behind; ++i) lone(1000);
            ASSERT_TRUE(lost);
            ASSERT_TRUE(w.finish());
            w.expect_all_good();
            EXPECT_EQ(w.net.at(0).counts().probes, 0u);
            EXPECT_EQ(w.net.at(0).counts().packets_lost, 1u);
            EXPECT_LT(w.net.now() - begin, least_probe / 2);
        }
    }
}

// No later, and no earlier: two behind it may have overtaken it.
TEST(link, takes_a_packet_for_lost_at_once_when_three_behind_it_have_come)
{
    for (unsigned behind : {2u, 3u}) {
        world w(1);
        warm_up(w, 10);
        bool lost = false;
        w.net.set_verdict([&](int from, unsigned) { return from != 0 || std::exchange(lost, true); });
        const auto begin = w.net.now();
        for (unsigned i = 0; i <= behind; ++i) {
            w.a.ask(8, false, false, false);
            w.net.flush(0);
        }
        ASSERT_TRUE(w.finish());
        w.expect_all_good();
        EXPECT_EQ(w.net.now() - begin < least_reorder, behind == packet_threshold) << behind;
    }
}

// The same in pieces.
TEST(link, finds_several_lost_ones_that_ordered_packets_wait_for)
{
    world w(1);
    for (int i = 0; i < 10; ++i) {
        w.a.ask(8, true, true, false);
        ASSERT_TRUE(w.finish());
    }
    unsigned sent = 0;
    w.net.set_verdict([&](int from, unsigned) { return from != 0 || sent++ % 3 == 2 || sent > 9; });
    const auto begin = w.net.now();
    for (unsigned i = 0; i < 9; ++i) {
        w.a.ask(1000, true, true, false);
        w.net.flush(0);
    }
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
    EXPECT_EQ(w.net.at(0).counts().probes, 0u);
    EXPECT_LT(w.net.now() - begin, least_probe);
}

// Each of a window's packets: what is missing goes again though the loss has made the window smaller than what is under
// way.
TEST(link, repairs_a_loss_before_a_full_window_of_ordered_packets_without_a_probe)
{
    for (bool trains : {false, true})
        for (unsigned hit = 0; hit < 500; hit += 25) {
            SCOPED_TRACE(fmt::format("datagram {}, {}", hit, trains ? "trains" : "datagrams"));
            world w(1, {}, secure_mode::auth, 1472, default_give_up, {&usual_tuning, &usual_tuning}, trains);
            warm_up(w, 10);
            unsigned sent = 0;
            w.net.set_verdict([&](int from, unsigned) { return from != 0 || sent++ != hit; });
            w.a.ask(1'000'000, true, true, false);
            ASSERT_TRUE(w.finish());
            w.expect_all_good();
            EXPECT_EQ(w.net.at(0).counts().probes, 0u);
        }
}

// Two neighbours of a window are lost, and the second of them again.
TEST(link, repairs_a_loss_without_a_probe_when_its_repair_was_lost)
{
    world w(1);
    warm_up(w, 10);
    const auto begin = w.net.now();
    unsigned sent = 0, window = 0;
    w.net.set_verdict([&](int from, unsigned) {
        if (from != 0) return true;
        window += w.net.now() == begin;
        const unsigned nth = sent++;
        return nth != 20 && nth != 21 && (w.net.now() == begin || nth != window + 1);
    });
    w.a.ask(1'000'000, true, true, false);
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
    EXPECT_GT(window, 50u);
    EXPECT_EQ(w.net.at(0).counts().packets_lost, 3u);
    EXPECT_EQ(w.net.at(0).counts().probes, 0u);
}

namespace {

constexpr std::uint32_t trust = 256;

std::unique_ptr<world> with_trust()
{
    auto w = std::make_unique<world>(1, sim_rates{}, secure_mode::auth, 1472, default_give_up,
                                     std::array{&usual_tuning, &usual_tuning}, true, trust);
    warm_up(*w, trust);
    return w;
}

// Six packets at once: the first `late` of them arrive behind the others, one is lost unless it has a higher number.
void send_six(world &w, unsigned late, unsigned lost)
{
    unsigned sent = 0;
    w.net.set_verdict([&](int from, unsigned) { return from != 0 || sent++ != lost; });
    w.net.set_lateness([&](int from, unsigned) { return from == 0 && sent <= late ? 15 * microsecond : 0; });
    for (int i = 0; i < 6; ++i) {
        w.a.ask(1000, false, false, false);
        w.net.flush(0);
    }
    ASSERT_TRUE(w.finish());
    w.net.set_verdict({});
    w.net.set_lateness({});
    w.expect_all_good();
}

} // namespace

// It has gone again, but it was no loss: it takes nothing away.
TEST(link, trusts_the_path_as_before_when_what_it_took_for_lost_was_late)
{
    for (unsigned late = 1; late <= 2; ++late) {
        SCOPED_TRACE(late);
        const auto w = with_trust();
        net::link &l = w->net.at(0);
        ASSERT_TRUE(l.trusts());
        const std::size_t in_one = l.most_in_one_send();
        send_six(*w, late, 6);
        EXPECT_EQ(l.counts().spurious, late);
        EXPECT_TRUE(l.trusts());
        EXPECT_GE(l.most_in_one_send(), in_one);
    }
}

// A loss that was one is over when the path is trusted again.
TEST(link, trusts_the_path_as_before_what_was_late_though_there_was_a_loss_earlier)
{
    const auto w = with_trust();
    net::link &l = w->net.at(0);
    send_six(*w, 0, 0);
    EXPECT_EQ(l.counts().packets_lost, 1u);
    ASSERT_FALSE(l.trusts());
    warm_up(*w, 3 * trust);
    ASSERT_TRUE(l.trusts());
    const std::size_t in_one = l.most_in_one_send();
    send_six(*w, 1, 6);
    EXPECT_EQ(l.counts().spurious, 1u);
    EXPECT_TRUE(l.trusts());
    EXPECT_GE(l.most_in_one_send(), in_one);
}

// Of two that were taken for lost one was late, the other one lost.
TEST(link, does_not_take_a_loss_back_for_another_packet_that_was_late)
{
    for (unsigned lost : {0u, 1u}) {
        SCOPED_TRACE(lost);
        const auto w = with_trust();
        net::link &l = w->net.at(0);
        const std::size_t in_one = l.most_in_one_send();
        send_six(*w, 2, lost);
        EXPECT_EQ(l.counts().spurious, 1u);
        EXPECT_EQ(l.counts().packets_lost, 2u);
        EXPECT_FALSE(l.trusts());
        EXPECT_LT(l.most_in_one_send(), in_one);
    }
}
