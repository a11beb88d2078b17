// SPDX-License-Identifier: Apache-2.0
// Ordered bundles that have come before their turn: they are acknowledged when they are kept, and end when they are
// executed.
#include "net/link_world.hpp"

#include <fmt/format.h>
#include <utility>
#include <vector>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

// Long messages go in trains or datagrams; both sides know round trip and grant.
struct wide_world : world {
    explicit wide_world(bool trains)
        : world(1, {}, secure_mode::auth, 1472, default_give_up, {&usual_tuning, &usual_tuning}, trains)
    {
        for (int side : {0, 1}) net.at(side).set_grant(768 * 1024);
        for (party *p : {&a, &b})
            for (int i = 0; i < 10; ++i) {
                p->ask(8, false, false, false);
                EXPECT_TRUE(finish());
            }
    }
};

// What the other side would say of all that link 0 has sent: it is there, and nothing was executed.
packet_view all_is_kept(world &w, std::uint64_t number)
{
    static const std::vector<std::uint64_t> ones(max_ack_words, ~std::uint64_t(0));
    packet_view told;
    told.header.number = number;
    told.header.ack_bytes = max_ack_bytes;
    told.ack.fixed.largest = w.net.at(0).counts().packets_out - 1;
    told.ack.fixed.window = first_grant;
    told.ack.words = reinterpret_cast<const std::byte *>(ones.data());
    told.ack.count = max_ack_words;
    return told;
}

void send_lone(world &w)
{
    w.a.ask(8, false, true, false);
    w.net.flush(0);
}

} // namespace

// All that was kept behind the second of two losses went again when the first was repaired: up to 650 packets.
TEST(link, sends_again_only_what_was_lost_of_ordered_packets)
{
    for (bool trains : {false, true})
        for (unsigned first = 0; first < 250; first += 49)
            for (unsigned other = first + 1; other < 330; other += other < first + 10 ? 3 : 61) {
                SCOPED_TRACE(fmt::format("datagrams {}, {}, {}", first, other, trains ? "trains" : "datagrams"));
                wide_world w(trains);
                unsigned sent = 0, lost = 0;
                w.net.set_verdict([&](int from, unsigned) {
                    const bool hit = from == 0 && (sent == first || sent == other);
                    sent += from == 0;
                    lost += hit;
                    return !hit;
                });
                w.a.ask(900'000, true, true, false);
                ASSERT_TRUE(w.finish());
                w.expect_all_good();
                ASSERT_EQ(lost, 2u);
                EXPECT_LE(w.net.at(0).counts().packets_lost, lost);
                EXPECT_GE(w.net.at(0).counts().packets_lost, trains ? 1u : lost) << "both may hit one train";
                EXPECT_TRUE(trains || w.net.at(0).counts().probes == 0u) << "two trains may be a whole window";
            }
}

// Full packets have room for an acknowledgement that tells of all that has come, or it goes by itself.
TEST(link, sends_again_only_what_was_lost_while_both_sides_send)
{
    for (bool ordered : {false, true})
        for (std::size_t each : {900u, 300'000u})
            for (unsigned hit = 0; hit < 300; hit += 23) {
                SCOPED_TRACE(fmt::format("datagram {}, {} bytes, {}", hit, each, ordered ? "ordered" : "unordered"));
                wide_world w(false);
                unsigned sent = 0;
                w.net.set_verdict([&](int from, unsigned) { return from != 0 || sent++ != hit; });
                for (std::size_t bytes = 0; bytes < 600'000; bytes += each)
                    for (party *p : {&w.a, &w.b}) p->ask(each, each > copy_limit, ordered, false);
                ASSERT_TRUE(w.finish());
                w.expect_all_good();
                EXPECT_EQ(w.net.at(0).counts().packets_lost, 1u);
                EXPECT_EQ(w.net.at(1).counts().packets_lost, 0u);
            }
}

// The first datagram of each instant is lost for a while, which are those that repair the first loss. What the peer
// would have to drop is not sent.
TEST(link, sends_no_more_than_the_peer_can_keep_behind_a_missing_bundle)
{
    constexpr std::size_t long_datagram = 60'000;
    const path_tuning wide{.window = 4 << 20};
    world w(1, {.inbox_bytes = 64 << 20}, secure_mode::auth, long_datagram, default_give_up, {&wide, &wide});
    for (int side : {0, 1}) w.net.at(side).set_grant(wide.window);
    for (party *p : {&w.a, &w.b}) p->ask(8, false, true, false);
    ASSERT_TRUE(w.finish());
    for (int i = 0; i < 4; ++i) w.a.ask(4'000'000, true, true, false);
    ASSERT_TRUE(w.finish()) << "the window is wide now";
    unsigned lost = 0;
    nanoseconds last = 0;
    w.net.set_verdict([&](int from, unsigned) {
        if (from != 0 || std::exchange(last, w.net.now()) == w.net.now() || lost == 8) return true;
        return ++lost, false;
    });
    w.a.ask(60'000'000, true, true, false);
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
    EXPECT_EQ(lost, 8u);
    EXPECT_LE(w.net.at(0).counts().packets_lost, lost);
}

// As long as the link lives, whatever was kept before.
TEST(link, sends_on_behind_a_missing_bundle_when_what_was_kept_is_executed)
{
    constexpr std::size_t each = 900'000;
    wide_world w(false);
    for (std::size_t kept = 0; kept < 2 * most_kept; kept += each) {
        bool lost = false;
        w.net.set_verdict([&](int from, unsigned) { return from != 0 || std::exchange(lost, true); });
        w.a.ask(each, true, true, false);
        ASSERT_TRUE(w.finish());
        ASSERT_TRUE(lost);
    }
    w.expect_all_good();
}

// The word of their end may be lost when all of them are known to be there.
TEST(link, asks_for_the_end_of_what_is_there)
{
    world w(1);
    w.net.set_verdict([](int from, unsigned) { return from == 0; });
    for (int i = 0; i < 3; ++i) send_lone(w);
    ASSERT_TRUE(
        w.net.run([&] { return w.b.executed.size() == 3 && w.a.other->executed[2] > 8; }, w.net.now() + second));
    ASSERT_TRUE(w.net.at(0).receive(all_is_kept(w, 1000), w.net.now()));
    EXPECT_EQ(w.a.finished, 0u);
    w.net.set_verdict({});
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
}

// No more bundles may go, though nothing is under way: that is no reason to be called again at once.
TEST(link, rests_while_its_numbers_are_used_up_by_what_is_there)
{
    world w(1);
    w.net.partition(never);
    net::link &l = w.net.at(0);
    for (std::uint64_t number = 0; number < bundle_window + 10; ++number) {
        send_lone(w);
        ASSERT_TRUE(l.receive(all_is_kept(w, number), w.net.now()));
    }
    EXPECT_EQ(l.counts().packets_out, bundle_window);
    EXPECT_TRUE(l.has_queued());
    EXPECT_GT(l.deadline(), w.net.now());
    EXPECT_LT(l.deadline(), w.net.now() + second) << "it asks";
    l.settle_all(SEA_ERR_DEAD);
    EXPECT_TRUE(w.a.all_settled());
}
