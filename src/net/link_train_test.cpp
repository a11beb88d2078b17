// SPDX-License-Identifier: Apache-2.0
// Packets that are longer than a datagram, and what becomes of their bundles when they are lost.
#include "net/link_world.hpp"

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

std::unique_ptr<world> with_trains()
{
    return std::make_unique<world>(1, sim_rates{}, secure_mode::auth, 1472, default_give_up,
                                   std::array{&usual_tuning, &usual_tuning}, true);
}

struct frame_counter final : sink {
    unsigned frames = 0;
    void receive(int, const frame &, std::span<const std::byte>) override { ++frames; }
};

// A bundle of one frame that fills it.
std::vector<std::byte> full_bundle(std::size_t bytes)
{
    std::vector<std::byte> content(bytes);
    frame f{};
    f.length = std::uint32_t(bytes - frame_bytes);
    std::memcpy(content.data(), &f, sizeof f);
    return content;
}

} // namespace

// The rest of a train whose datagram was lost is of no use: its bundle goes again in parts, of which any may be lost,
// too.
TEST(link, survives_the_loss_of_any_one_or_two_datagrams_of_a_train)
{
    for (unsigned one = 0; one < 24; ++one)
        for (unsigned other = one; other < 40; ++other) {
            auto w = with_trains();
            w->net.set_verdict([&](int from, unsigned nth) { return from != 0 || (nth != one && nth != other); });
            w->a.ask(20'000, true, false, true);
            w->a.ask(9'000, true, true, false);
            ASSERT_TRUE(w->finish()) << one << " and " << other;
            w->expect_all_good();
            if (HasFailure()) FAIL() << one << " and " << other;
        }
}

TEST(link, sends_less_than_a_train_again_when_some_of_its_parts_are_lost)
{
    auto w = with_trains();
    const unsigned all = 40; // of the train; then parts
    w->net.set_verdict([&](int from, unsigned nth) { return from != 0 || (nth >= all ? nth % 10 != 0 : nth != 5); });
    w->a.ask(all * 1400, true, false, false);
    ASSERT_TRUE(w->finish());
    w->expect_all_good();
    EXPECT_LT(w->net.sent(0), all + all * 3 / 2) << "the train, its parts, and those of them that were lost";
}

// Small ones side by side, or one that is longer than a datagram.
TEST(link, copies_what_fills_a_train_once_and_sends_it_as_it_lies)
{
    for (const std::size_t bytes : {std::size_t(1000), std::size_t(20'000)}) {
        SCOPED_TRACE(bytes);
        world w(1, sim_rates{}, secure_mode::auth, 1472, default_give_up, std::array{&usual_tuning, &usual_tuning},
                true);
        net::link &l = w.net.at(0);
        const std::vector<std::byte> data(bytes);
        ASSERT_LE(bytes, l.max_copied_frame());
        outgoing m;
        m.payload = data.data();
        m.bytes = bytes;
        for (std::size_t sent = 0; sent + bytes <= 40'000; sent += bytes) l.send(m);
        datagram d;
        ASSERT_TRUE(l.build(w.net.now(), &d));
        EXPECT_GT(d.bytes, 40'000u) << "all of it in one packet";
        EXPECT_EQ(d.count, 3u) << "head, all of it in one piece, tail";
        l.settle_all(SEA_OK);
    }
}

// What has been put together for a train by then is still to be sent, and must not share the fate of one datagram.
TEST(link, sends_in_parts_what_waits_while_a_train_is_lost)
{
    constexpr unsigned trust = 1000, messages = 60, in_each = 50'000 / 1472;
    world w(1, {}, secure_mode::auth, 1472, default_give_up, {&usual_tuning, &usual_tuning}, true, trust);
    w.a.ask(2 * trust * 1472, true, false, false);
    ASSERT_TRUE(w.finish());
    ASSERT_GT(w.net.at(0).max_copied_frame(), 50'000u);
    unsigned nth = 0;
    w.net.set_verdict([&](int from, unsigned) { return from != 0 || nth++ != 5; });
    const std::uint64_t before = w.net.at(0).counts().packets_out;
    for (unsigned i = 0; i < messages; ++i) w.a.ask(50'000, false, true, false);
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
    EXPECT_EQ(w.net.at(0).counts().packets_lost, 1u);
    EXPECT_GT(w.net.at(0).counts().packets_out - before, messages * in_each / 2) << "most of them waited";
}

// As long as a link lives, it goes on with trains without headers, whose pages are lent.
TEST(link, makes_bare_trains_where_trains_come_in_one_piece)
{
    for (const bool joins : {false, true}) {
        auto w = with_trains();
        w->net.join_trains(joins);
        for (int i = 0; i < 4; ++i) {
            w->a.ask(400'000, true, false, false);
            ASSERT_TRUE(w->finish());
        }
        w->expect_all_good();
        EXPECT_EQ(w->net.bare() > 10, joins) << w->net.bare();
        EXPECT_EQ(w->net.lent() > 10, joins) << w->net.lent();
    }
}

// Another path has shown that the kernel does not cut sends there.
TEST(link, makes_no_trains_any_more_when_the_kernel_cuts_no_sends)
{
    auto w = with_trains();
    w->net.join_trains(true);
    const auto exchange = [&] {
        for (int i = 0; i < 4; ++i) {
            w->a.ask(400'000, true, false, false);
            ASSERT_TRUE(w->finish());
        }
    };
    exchange();
    const auto before = w->net.bare();
    EXPECT_GT(before, 10u);
    w->net.at(0).make_no_trains();
    EXPECT_LE(w->net.at(0).max_copied_frame(), 1472u);
    const std::uint64_t packets = w->net.at(0).counts().packets_out;
    exchange();
    EXPECT_EQ(w->net.bare(), before);
    EXPECT_GT(w->net.at(0).counts().packets_out - packets, 4u * 400'000 / 1472);
    w->expect_all_good();
}

TEST(link, makes_no_bare_trains_that_no_tag_of_their_own_proves)
{
    for (const auto mode : {secure_mode::off, secure_mode::encrypt}) {
        world w(1, sim_rates{}, mode, 1472, default_give_up, std::array{&usual_tuning, &usual_tuning}, true);
        w.net.join_trains(true);
        for (int i = 0; i < 4; ++i) {
            w.a.ask(400'000, true, false, false);
            ASSERT_TRUE(w.finish());
        }
        w.expect_all_good();
        EXPECT_EQ(w.net.bare(), 0u);
    }
}

// It goes again in parts, like any other; then headers are back until twice as many have come whole.
TEST(link, survives_the_loss_of_bare_trains)
{
    for (unsigned lost = 10; lost < 40; ++lost) {
        auto w = with_trains();
        w->net.join_trains(true);
        w->net.set_verdict([&](int from, unsigned nth) { return from != 0 || nth != lost; });
        for (int i = 0; i < 6; ++i) {
            w->a.ask(400'000, true, i % 2 == 0, false);
            ASSERT_TRUE(w->finish());
        }
        w->expect_all_good();
        EXPECT_GT(w->net.bare(), 5u) << lost;
        if (HasFailure()) FAIL() << lost;
    }
}

// Ordered bundles behind one that is missing have taken all the room there is. That one comes in parts, and must get
// in, or nothing would ever be executed again.
TEST(link, has_room_for_the_parts_of_the_bundle_that_all_others_wait_for)
{
    ASSERT_TRUE(crypto_ready());
    frame_counter none, seen;
    simnet net(1, {}, none, seen);
    net::link &l = net.at(1);
    const auto content = full_bundle(60'000);
    packet_view view;
    view.header.flags = packet_flags::bundle | packet_flags::ordered;
    view.content = content;
    for (view.header.bundle = 1; view.header.bundle <= hold_bytes / content.size() + 1; view.header.bundle += 1) {
        view.header.number = view.header.bundle;
        ASSERT_TRUE(l.receive(view, net.now()));
    }
    ASSERT_EQ(seen.frames, 0u);
    view.header.flags |= packet_flags::part;
    view.header.bundle = 0;
    view.part = {0, 50, std::uint32_t(content.size())};
    for (; view.part.index < view.part.count; ++view.part.index) {
        const part_range range = range_of(view.part);
        view.content = std::span(content).subspan(range.from, range.bytes);
        ++view.header.number;
        ASSERT_TRUE(l.receive(view, net.now()));
    }
    EXPECT_EQ(seen.frames, 1 + hold_bytes / content.size()) << "it, and those that had found room";
}

// Sixteen long messages, with short ones before and behind: as many pieces as a packet can have.
TEST(link, has_room_for_all_pieces_of_a_packet)
{
    world w(1, {}, secure_mode::auth, 61512);
    net::link &l = w.net.at(0);
    const std::vector<std::byte> bytes(copy_limit + 8);
    auto send = [&](std::size_t size, bool borrow) {
        outgoing m;
        m.payload = bytes.data();
        m.bytes = size;
        m.borrow = borrow;
        l.send(m);
    };
    for (int i = 0; i < 5; ++i) send(40, false);
    for (std::size_t i = 0; i < most_parts; ++i) send(bytes.size(), true);
    for (int i = 0; i < 5; ++i) send(40, false);
    datagram d;
    ASSERT_TRUE(l.build(w.net.now(), &d));
    ASSERT_EQ(d.count, most_pieces);
    std::size_t total = 0;
    for (auto piece : d.pieces) total += piece.size();
    EXPECT_EQ(total, d.bytes);
    l.settle_all(SEA_OK);
}
