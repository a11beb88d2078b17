// SPDX-License-Identifier: Apache-2.0
// Packets that others overtake: they are not taken for lost again and again, and cost neither windows nor trust.
#include "net/link_world.hpp"

#include <fmt/format.h>
#include <random>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

constexpr nanoseconds way = 10 * microsecond; // of simnet, in one direction

struct reordering_world : world {
    explicit reordering_world(std::uint64_t seed, const sim_rates &rates = {})
        : world(seed, rates, secure_mode::auth, 1472, default_give_up, {&usual_tuning, &usual_tuning}, false, 256),
          random_(seed)
    {
        for (int side : {0, 1}) net.at(side).set_grant(768 * 1024);
    }
    net::link &sender() { return net.at(0); }
    // That share of what side 0 sends comes so much later.
    void make_late(double share, nanoseconds by)
    {
        net.set_lateness([this, share, by](int from, unsigned) -> nanoseconds {
            return from == 0 && double(random_() >> 11) * 0x1p-53 < share ? by : 0;
        });
    }
    // The first of `count` full packets that go at once comes later, or is lost. How long until all were acknowledged;
    // what is still under way comes, too.
    nanoseconds send_row(unsigned count, nanoseconds by, bool lost = false)
    {
        unsigned sent = 0;
        net.set_verdict([&, lost](int from, unsigned) { return !lost || from != 0 || sent++ > 0; });
        net.set_lateness([&, by](int from, unsigned) { return from == 0 && sent++ == 0 ? by : 0; });
        const nanoseconds begin = net.now();
        a.ask(count * std::size_t(1400), true, false, false);
        EXPECT_TRUE(finish());
        const nanoseconds took = net.now() - begin;
        net.run([] { return false; }, net.now() + millisecond);
        net.set_verdict({});
        net.set_lateness({});
        return took;
    }

  private:
    std::mt19937_64 random_;
};

} // namespace

TEST(link, sends_little_again_on_a_path_that_reorders)
{
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
        for (nanoseconds delay : {way, millisecond}) {
            SCOPED_TRACE(fmt::format("seed {}, {} us", seed, delay / microsecond));
            reordering_world w(seed, {.delay = delay});
            w.make_late(0.02, 30 * microsecond);
            w.a.ask(3'000'000, true, false, false);
            ASSERT_TRUE(w.finish());
            w.expect_all_good();
            const pair_counts &c = w.sender().counts();
            EXPECT_GE(c.packets_lost, 1u) << "nothing came late";
            EXPECT_LE(c.packets_lost, 12u) << "of some forty that came late";
        }
}

// Each packet takes another path.
TEST(link, sends_little_again_where_all_packets_are_late)
{
    reordering_world w(1, {.jitter = 100 * microsecond});
    for (int i = 0; i < 5; ++i) {
        w.a.ask(3'000'000, true, false, false);
        ASSERT_TRUE(w.finish());
    }
    w.expect_all_good();
    const pair_counts &c = w.sender().counts();
    EXPECT_LE(c.packets_lost, c.packets_out / 20);
    EXPECT_EQ(c.spurious, c.packets_lost);
    EXPECT_TRUE(w.sender().trusts());
}

// Its copy had been acknowledged before, or so many packets had come meanwhile that one word does not tell of it.
TEST(link, knows_a_packet_that_came_later_than_its_copy)
{
    for (unsigned count : {6u, 60u, 66u, 70u, 200u}) {
        SCOPED_TRACE(count);
        reordering_world w(1);
        w.send_row(300, 0);
        ASSERT_TRUE(w.sender().trusts());
        const std::size_t window = w.sender().most_in_one_send();
        w.send_row(count, 100 * microsecond);
        EXPECT_EQ(w.sender().counts().packets_lost, 1u);
        EXPECT_EQ(w.sender().counts().spurious, 1u);
        EXPECT_TRUE(w.sender().trusts());
        EXPECT_GE(w.sender().most_in_one_send(), window);
    }
}

// Not after ack_delay: the sender waits for it.
TEST(link, is_told_at_once_of_a_packet_that_comes_behind_a_later_one)
{
    reordering_world w(1);
    w.send_row(5, 0);
    EXPECT_LT(w.send_row(2, 30 * microsecond), 30 * microsecond + 3 * way);
    EXPECT_EQ(w.sender().counts().packets_lost, 0u);
}

TEST(link, finds_a_loss_at_once_where_nothing_was_late_and_again_after_some_losses)
{
    reordering_world w(1);
    w.send_row(5, 0);
    const nanoseconds quick = w.send_row(6, 0, true);
    EXPECT_LE(quick, 4 * way) << "there and back twice";
    w.send_row(6, 30 * microsecond);
    ASSERT_EQ(w.sender().counts().spurious, 1u);
    EXPECT_GT(w.send_row(6, 0, true), quick) << "it may be late";
    for (unsigned i = 0; i < patient_rounds; ++i) w.send_row(6, 0, true);
    EXPECT_EQ(w.send_row(6, 0, true), quick);
    EXPECT_EQ(w.sender().counts().probes, 0u);
}

// To send it again is sooner done.
TEST(link, does_not_wait_for_what_comes_much_later_than_a_round_trip)
{
    reordering_world w(1);
    w.send_row(5, 0);
    for (int i = 0; i < 5; ++i) EXPECT_LE(w.send_row(6, 200 * microsecond), 4 * way);
    EXPECT_EQ(w.sender().counts().spurious, 5u);
}

// What a stopped process lets wait is not the path's.
TEST(link, repairs_a_loss_as_soon_after_a_process_was_stopped_as_before)
{
    for (int side : {0, 1}) {
        SCOPED_TRACE(side);
        reordering_world w(1);
        w.send_row(20, 0);
        w.net.stop(side, w.net.now() + 10 * second);
        w.send_row(20, 0);
        EXPECT_LT(w.send_row(1, 0, true), 4 * least_probe);
        for (int i = 0; i < 20; ++i) w.send_row(1, 0);
        EXPECT_LT(w.send_row(1, 0, true), least_probe + ack_delay);
    }
}

// What an acknowledgement says that newer ones have overtaken is over.
TEST(link, obeys_the_window_of_the_newest_acknowledgement)
{
    reordering_world w(1);
    w.net.set_verdict([](int from, unsigned) { return from == 0; });
    for (int i = 0; i < 5; ++i) {
        w.a.ask(8, false, false, false);
        w.net.flush(0);
    }
    w.net.run([] { return false; }, w.net.now() + way);
    packet_view told;
    told.header.ack_bytes = ack_fixed_bytes;
    const auto tell = [&](std::uint64_t largest, std::uint32_t window) {
        told.ack.fixed.largest = told.header.number = largest;
        told.ack.fixed.window = window;
        ASSERT_TRUE(w.sender().receive(told, w.net.now()));
    };
    tell(3, least_grant);
    tell(2, first_grant);
    const std::uint64_t before = w.sender().counts().packets_out;
    w.a.ask(100'000, true, false, false);
    w.net.flush(0);
    EXPECT_LE((w.sender().counts().packets_out - before) * (1472 + packet_overhead), least_grant);
    EXPECT_GT(w.sender().counts().packets_out, before);
    w.sender().settle_all(SEA_ERR_LINK);
}
