// SPDX-License-Identifier: Apache-2.0
// What a loss costs: which packets are taken for lost, and how soon they go again.
#include "net/link_world.hpp"

#include <fmt/format.h>
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

// What is ordered waits behind it, so nothing new is acknowledged: the receiver must say that something has come.
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

// The same in pieces: the second of two that are missing shows when the first has come.
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
