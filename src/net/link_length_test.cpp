// SPDX-License-Identifier: Apache-2.0
// A path that takes less than the interfaces promise, and says nothing: what is too long for it goes in shorter
// packets.
#include "net/link_world.hpp"

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

constexpr std::size_t narrow = 1372; // a tunnel's 1400, without headers

struct shape {
    secure_mode mode;
    std::size_t limit;
    bool trains;
};

const shape shapes[] = {{secure_mode::auth, 1472, false},    {secure_mode::auth, 1472, true},
                        {secure_mode::auth, 8972, true},     {secure_mode::encrypt, 8972, true},
                        {secure_mode::off, 8972, true},      {secure_mode::auth, 64600, true},
                        {secure_mode::encrypt, 64600, false}};

std::unique_ptr<world> of(const shape &s, std::uint64_t seed, const sim_rates &rates)
{
    return std::make_unique<world>(seed, rates, s.mode, s.limit, default_give_up,
                                   std::array{&usual_tuning, &usual_tuning}, s.trains);
}

void ask_all_sizes(party &p)
{
    for (const std::size_t bytes : {8, 1000, 1300, 5000, 100'000, 20, 400'000})
        for (bool ordered : {false, true}) p.ask(bytes, bytes > 1000, ordered, bytes == 1300);
}

} // namespace

TEST(link_length, long_data_passes_where_only_short_packets_do)
{
    for (const shape &s : shapes) {
        SCOPED_TRACE(testing::Message() << "limit " << s.limit << ", trains " << s.trains << ", mode " << int(s.mode));
        auto w = of(s, 1, {});
        w->net.narrow(narrow);
        ask_all_sizes(w->a);
        ask_all_sizes(w->b);
        ASSERT_TRUE(w->finish(20 * second));
        w->expect_all_good();
        EXPECT_TRUE(w->net.at(0).goes_short());
        EXPECT_TRUE(w->net.at(1).goes_short());
    }
}

// What passes may be long, too.
TEST(link_length, long_data_passes_beside_what_is_of_middle_length)
{
    for (const nanoseconds each : {5 * millisecond, 100 * millisecond, 1000 * millisecond}) {
        SCOPED_TRACE(testing::Message() << "every " << each / millisecond << " ms");
        auto w = of({secure_mode::auth, 8972, true}, 1, {});
        w->net.narrow(1472);
        w->a.ask(100'000, true, false, false);
        const nanoseconds began = w->net.now();
        while (w->a.requests[0].settled_times == 0 && w->net.now() < began + 20 * second) {
            w->a.ask(1300, false, false, false);
            w->net.flush(0);
            w->net.run([] { return false; }, w->net.now() + each);
        }
        EXPECT_EQ(w->a.requests[0].settled_times, 1);
        ASSERT_TRUE(w->finish());
        w->expect_all_good();
    }
}

// Nothing that is short is under way beside it.
TEST(link_length, one_long_message_alone_passes)
{
    for (const shape &s : shapes) {
        SCOPED_TRACE(testing::Message() << "limit " << s.limit << ", trains " << s.trains << ", mode " << int(s.mode));
        auto w = of(s, 1, {});
        w->net.narrow(narrow);
        w->a.ask(s.limit - 200, true, false, false);
        ASSERT_TRUE(w->finish(20 * second));
        w->expect_all_good();
    }
}

// In the middle of everything, parts of bundles among it.
TEST(link_length, a_path_that_becomes_narrow_costs_nothing_but_time)
{
    unsigned short_ones = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const shape &s = shapes[seed % std::size(shapes)];
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        sim_rates rates;
        rates.loss = double(seed % 4) * 0.05;
        rates.dup = double(seed % 3) * 0.03;
        rates.jitter = seed % 5 * 20 * microsecond;
        auto w = of(s, seed, rates);
        for (int round = 0; round < 3; ++round) {
            ask_all_sizes(w->a);
            ask_all_sizes(w->b);
        }
        w->net.flush(0);
        w->net.flush(1);
        w->net.run([] { return false; }, w->net.now() + seed * 7 % 2000 * microsecond);
        w->net.narrow(narrow);
        ASSERT_TRUE(w->finish(120 * second));
        w->expect_all_good();
        if (HasFailure()) return;
        short_ones += w->net.at(0).goes_short();
    }
    EXPECT_GT(short_ones, 100u) << "most were still at it";
}

TEST(link_length, loss_alone_makes_no_packet_shorter)
{
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        sim_rates rates;
        rates.loss = 0.2;
        auto w = of(shapes[seed % std::size(shapes)], seed, rates);
        for (int round = 0; round < 3; ++round) {
            ask_all_sizes(w->a);
            ask_all_sizes(w->b);
        }
        ASSERT_TRUE(w->finish());
        w->expect_all_good();
        EXPECT_FALSE(w->net.at(0).goes_short() || w->net.at(1).goes_short()) << "seed " << seed;
    }
}

TEST(link_length, a_peer_that_is_stopped_makes_no_packet_shorter)
{
    for (const shape &s : shapes) {
        auto w = of(s, 1, {});
        w->net.stop(1, 5 * second);
        ask_all_sizes(w->a);
        ASSERT_TRUE(w->finish());
        w->expect_all_good();
        EXPECT_FALSE(w->net.at(0).goes_short());
    }
}

TEST(link_length, a_partition_makes_no_packet_shorter)
{
    for (const shape &s : shapes) {
        auto w = of(s, 1, {});
        for (int i = 0; i < 20; ++i) {
            ask_all_sizes(w->a);
            w->net.flush(0);
            w->net.partition(w->net.now() + 40 * millisecond);
            w->net.run([] { return false; }, w->net.now() + 60 * millisecond);
        }
        ASSERT_TRUE(w->finish());
        w->expect_all_good();
        EXPECT_FALSE(w->net.at(0).goes_short());
    }
}

// Of what an outage has cost one packet after the other is taken for lost where the path is patient with late ones.
TEST(link_length, outages_of_a_path_that_reorders_make_no_packet_shorter)
{
    for (const nanoseconds delay : {10, 30, 50, 100})
        for (const nanoseconds jitter : {1, 5}) {
            SCOPED_TRACE(testing::Message() << delay << " ms, jitter of " << jitter);
            sim_rates rates;
            rates.delay = delay * millisecond;
            rates.jitter = jitter * millisecond;
            auto w = of({secure_mode::auth, 8972, false}, 1, rates);
            for (int outage = 0; outage < 6; ++outage) {
                for (int i = 0; i < 40; ++i) {
                    if (i == 10) w->net.partition(w->net.now() + 20 * millisecond);
                    w->a.ask(8000, true, false, false);
                    w->net.flush(0);
                    w->net.run([] { return false; }, w->net.now() + millisecond);
                }
                for (int i = 0; i < 200; ++i) {
                    w->a.ask(8, false, false, false);
                    w->net.flush(0);
                    w->net.run([] { return false; }, w->net.now() + millisecond);
                }
            }
            ASSERT_TRUE(w->finish());
            w->expect_all_good();
            EXPECT_FALSE(w->net.at(0).goes_short());
        }
}

// Of a train one datagram is enough: it says nothing of the length of these.
TEST(link_length, trains_that_are_lost_make_no_packet_shorter)
{
    auto w = of({secure_mode::auth, 1472, true}, 1, {});
    unsigned sent = 0;
    w->net.set_verdict([&](int from, unsigned) { return from != 0 || sent++ != 2; });
    for (int round = 0; round < 30; ++round) {
        sent = 0;
        w->a.ask(50'000, true, false, false);
        w->a.ask(8, false, false, false);
        ASSERT_TRUE(w->finish());
    }
    w->expect_all_good();
    EXPECT_GE(w->net.at(0).counts().packets_lost, 30u);
    EXPECT_FALSE(w->net.at(0).goes_short());
}
