// SPDX-License-Identifier: Apache-2.0
// What a link makes of packets as its peer may build them, one by one: too early, too far, twice, cut in other ways, or
// without sense.
#include "net/link_world.hpp"

#include <cstring>
#include <vector>

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

struct counter final : sink {
    std::vector<std::uint64_t> positions; // of the frames that came
    std::vector<std::byte> last;          // payload
    void receive(int, const frame &head, std::span<const std::byte> payload) override
    {
        positions.push_back(head.position);
        last.assign(payload.begin(), payload.end());
    }
};

std::vector<std::byte> one_frame(std::uint64_t position, std::size_t bytes)
{
    std::vector<std::byte> content(bytes);
    frame f;
    f.length = std::uint32_t(bytes - sizeof f);
    f.position = position;
    std::memcpy(content.data(), &f, sizeof f);
    return content;
}

// A link that is spoken to.
struct listener {
    counter none, seen;
    simnet net{1, {}, none, seen};
    net::link &l = net.at(1);
    std::uint64_t packets = 0;
    nanoseconds later = 0; // than the network's time

    bool take(std::uint64_t bundle, std::span<const std::byte> content, std::uint8_t flags = 0, part_head part = {})
    {
        packet_view view;
        view.header.flags = std::uint8_t(packet_flags::bundle | flags | (part.count ? packet_flags::part : 0));
        view.header.number = packets++;
        view.header.bundle = bundle;
        view.content = content;
        view.part = part;
        return l.receive(view, net.now() + later);
    }
    bool take_part(std::uint64_t bundle, std::span<const std::byte> whole, unsigned index, unsigned count)
    {
        const part_head part{std::uint16_t(index), std::uint16_t(count), std::uint32_t(whole.size())};
        const part_range range = range_of(part);
        return take(bundle, whole.subspan(range.from, range.bytes), 0, part);
    }
    bool acknowledges()
    {
        datagram d;
        return l.build(net.now() + later, &d);
    }
};

} // namespace

TEST(link, drops_a_bundle_that_is_too_far_and_forgets_none_for_it)
{
    listener it;
    const auto far = one_frame(1, 64), first = one_frame(2, 64);
    EXPECT_TRUE(it.take(bundle_window, far));
    EXPECT_TRUE(it.seen.positions.empty());
    EXPECT_TRUE(it.take(0, first));
    EXPECT_TRUE(it.take(bundle_window, far)) << "its turn has come";
    EXPECT_EQ(it.seen.positions, (std::vector<std::uint64_t>{2, 1}));
}

// What was told of it is lost, or the sender would not have sent it again.
TEST(link, acknowledges_again_at_once_what_comes_again)
{
    for (const std::uint8_t flags : {std::uint8_t(0), packet_flags::ordered}) {
        listener it;
        const auto content = one_frame(1, 64);
        for (const std::uint64_t bundle : {0, 1, 0, 1, 0}) {
            it.take(bundle, content, flags);
            const bool acknowledged = it.acknowledges();
            EXPECT_TRUE(acknowledged || it.packets <= 2) << it.packets;
        }
        EXPECT_EQ(it.seen.positions.size(), 2u);
    }
}

TEST(link, acknowledges_at_once_what_waits_for_its_turn_and_what_ends_the_waiting)
{
    listener it;
    const auto content = one_frame(1, 64);
    it.take(1, content, packet_flags::ordered);
    EXPECT_TRUE(it.acknowledges());
    EXPECT_FALSE(it.acknowledges());
    it.take(0, content, packet_flags::ordered);
    EXPECT_TRUE(it.acknowledges());
    EXPECT_EQ(it.seen.positions.size(), 2u);
}

TEST(link, executes_a_bundle_of_parts_only_when_all_of_one_way_to_cut_it_are_there)
{
    const auto whole = one_frame(7, 6000);
    const std::vector<std::byte> other(6000, std::byte(0xff)), longer(12000, std::byte(0xff));
    listener it;
    it.take_part(0, whole, 0, 2);
    it.take_part(0, whole, 1, 4); // cut anew: the half that was there does not count any more
    it.take_part(0, whole, 2, 4);
    it.take_part(0, whole, 3, 4);
    EXPECT_TRUE(it.seen.positions.empty());
    it.take_part(0, other, 0, 2);  // late, of the way before
    it.take_part(0, longer, 0, 4); // of no bundle of that length
    EXPECT_TRUE(it.seen.positions.empty());
    it.take_part(0, whole, 0, 4);
    EXPECT_EQ(it.seen.positions, std::vector<std::uint64_t>{7});
    EXPECT_EQ(it.seen.last, std::vector<std::byte>(6000 - sizeof(frame)));
}

// More than it may hold at a time.
TEST(link, has_room_again_for_what_comes_early_when_bundles_of_parts_are_over)
{
    listener it;
    const auto whole = one_frame(1, 60'000), early = one_frame(2, 64);
    std::uint64_t bundle = 0;
    for (; bundle * whole.size() <= hold_bytes; ++bundle)
        for (unsigned index = 0; index < 2; ++index) it.take_part(bundle, whole, index, 2);
    EXPECT_EQ(it.seen.positions.size(), bundle);
    it.take(bundle + 1, early, packet_flags::ordered);
    EXPECT_EQ(it.seen.positions.size(), bundle);
    it.take(bundle, early, packet_flags::ordered);
    EXPECT_EQ(it.seen.positions.size(), bundle + 2);
}

// It goes again as a whole when its path has become trusted meanwhile.
TEST(link, keeps_nothing_of_parts_when_all_of_the_bundle_comes_in_one_packet)
{
    listener it;
    const auto whole = one_frame(1, 60'000), early = one_frame(2, 64);
    std::uint64_t bundle = 0;
    for (; bundle * whole.size() <= hold_bytes; ++bundle) {
        it.take_part(bundle, whole, 0, 2);
        it.take(bundle, whole);
    }
    EXPECT_EQ(it.seen.positions.size(), bundle);
    it.take(bundle + 1, early, packet_flags::ordered);
    it.take(bundle, early, packet_flags::ordered);
    EXPECT_EQ(it.seen.positions.size(), bundle + 2);
}

TEST(link, has_room_again_for_what_comes_early_when_its_turn_was)
{
    listener it;
    const auto whole = one_frame(1, 60'000), first = one_frame(2, 64);
    for (std::uint64_t bundle = 0; bundle * whole.size() <= 3 * hold_bytes; bundle += 2) {
        it.take(bundle + 1, whole, packet_flags::ordered);
        it.take(bundle, first, packet_flags::ordered);
        ASSERT_EQ(it.seen.positions.size(), bundle + 2);
    }
}

TEST(link, keeps_a_bundle_that_comes_early_in_the_place_of_its_parts)
{
    listener it;
    const auto whole = one_frame(1, 60'000), first = one_frame(2, 64);
    const std::uint64_t last = hold_bytes / whole.size();
    for (std::uint64_t bundle = 1; bundle < last; ++bundle) it.take(bundle, whole, packet_flags::ordered);
    it.take_part(last, whole, 0, 2);
    it.take(last, whole, packet_flags::ordered);
    it.take(last + 1, whole, packet_flags::ordered); // for which there is no room
    it.take(0, first, packet_flags::ordered);
    EXPECT_EQ(it.seen.positions.size(), last + 1);
}

TEST(link, executes_nothing_of_parts_that_are_no_frames_together)
{
    listener it;
    const std::vector<std::byte> nonsense(6000, std::byte(0xff));
    for (unsigned index : {0, 1, 1, 0}) it.take_part(0, nonsense, index, 2);
    EXPECT_TRUE(it.seen.positions.empty());
    const auto content = one_frame(1, 64);
    it.take(1, content);
    EXPECT_EQ(it.seen.positions.size(), 1u);
}

TEST(link, an_acknowledgement_that_is_put_off_has_its_time)
{
    listener it;
    const auto content = one_frame(1, 64);
    it.take(0, content, packet_flags::ask_ack);
    it.l.postpone_ack(it.net.now());
    EXPECT_FALSE(it.acknowledges());
    EXPECT_LE(it.l.deadline(), it.net.now() + hold_limit);
}

TEST(link, does_not_put_an_acknowledgement_off_for_what_comes_meanwhile)
{
    listener it;
    const auto content = one_frame(1, 64);
    const nanoseconds due = it.net.now() + ack_delay;
    for (std::uint64_t bundle = 0; it.net.now() + it.later < due; ++bundle) {
        it.take(bundle, content);
        EXPECT_LE(it.l.deadline(), due);
        it.later += ack_delay / 4;
    }
    it.l.on_time(it.net.now() + it.later);
    EXPECT_TRUE(it.acknowledges());
}

// Two that tell each other would never end.
TEST(link, tells_that_it_is_broken_only_who_asks)
{
    listener it;
    const auto content = one_frame(1, 64);
    packet_view broken;
    for (const std::uint8_t asks : {packet_flags::ask_ack, std::uint8_t(0), packet_flags::ask_ack}) {
        broken.header.flags = std::uint8_t(packet_flags::broken | asks);
        broken.header.number = it.packets++;
        it.l.receive(broken, it.net.now());
        EXPECT_EQ(it.acknowledges(), asks != 0);
        EXPECT_FALSE(it.acknowledges());
        EXPECT_EQ(it.l.deadline(), never);
        it.take(it.packets, content, asks);
        EXPECT_EQ(it.acknowledges(), asks != 0);
        EXPECT_EQ(it.l.deadline(), never);
    }
    EXPECT_TRUE(it.seen.positions.empty());
}

TEST(link, does_not_believe_an_acknowledgement_of_what_it_has_not_sent)
{
    world w(1);
    w.net.set_verdict([](int from, unsigned) { return from == 0; });
    w.a.ask(8, false, false, false);
    w.net.flush(0);
    ASSERT_TRUE(w.net.run([&] { return w.b.executed.size() == 1 && w.b.executed[0] > 8; }, w.net.now() + millisecond));
    net::link &l = w.net.at(0);
    const std::uint64_t sent = l.counts().packets_out;
    packet_view told;
    told.header.number = 1000;
    told.header.ack_bytes = ack_fixed_bytes;
    told.ack.fixed.executed = 1;
    for (const std::uint64_t largest : {sent, sent + 1, sent + 1000, ~std::uint64_t(0)}) {
        told.ack.fixed.largest = largest;
        EXPECT_TRUE(l.receive(told, w.net.now()));
        EXPECT_FALSE(w.a.all_settled()) << largest;
        ++told.header.number;
    }
    told.ack.fixed.largest = sent - 1;
    EXPECT_TRUE(l.receive(told, w.net.now()));
    EXPECT_TRUE(w.a.all_settled());
}

namespace {

// A link that sends one message after the other, of which all but the first are acknowledged.
struct speaker {
    counter none, seen;
    simnet net{1, {}, none, seen};
    net::link &l = net.at(0);
    std::uint64_t packets = 0, acknowledgements = 0; // that were sent; that came

    bool build()
    {
        datagram d;
        const bool built = l.build(net.now(), &d);
        packets += built;
        return built;
    }
    void say_one()
    {
        const std::uint64_t word = 1;
        outgoing m;
        m.payload = &word;
        m.bytes = sizeof word;
        while (build()) continue; // the first one again, which is lost again
        l.send(m);
        l.flush();
        EXPECT_TRUE(build());
    }
    // This one has come, and of those before it nothing new.
    void acknowledge(std::uint64_t number)
    {
        const std::uint64_t none_told = 0;
        packet_view view;
        view.header.number = acknowledgements++;
        view.header.ack_bytes = ack_fixed_bytes + sizeof none_told;
        view.ack.fixed.largest = number;
        view.ack.fixed.window = first_grant;
        view.ack.words = reinterpret_cast<const std::byte *>(&none_told);
        view.ack.count = 1;
        EXPECT_TRUE(l.receive(view, net.now()));
    }
};

} // namespace

// By then it does not count any more that it was only late, and nothing behind it is remembered for it.
TEST(link, forgets_what_was_lost_long_ago)
{
    for (const unsigned behind : {10u, 500u, 1500u}) {
        speaker it;
        it.say_one();
        for (unsigned i = 0; i < behind; ++i) {
            it.say_one();
            it.acknowledge(it.packets - 1);
        }
        EXPECT_GT(it.l.counts().packets_lost, 0u);
        EXPECT_EQ(it.l.counts().spurious, 0u);
        it.acknowledge(0);
        EXPECT_EQ(it.l.counts().spurious, behind < replay_window ? 1u : 0u) << behind;
        it.l.settle_all(SEA_OK);
    }
}

// Its bundle was acknowledged, but the notices that were sent before have not come, and will not.
TEST(link, settles_what_waits_for_notices_when_the_peer_has_gone)
{
    world w(1);
    w.net.partition(never);
    w.a.ask(8, false, false, false);
    packet_view told;
    told.header.ack_bytes = ack_fixed_bytes;
    told.ack.fixed.executed = 1;
    told.ack.fixed.notices = 1;
    ASSERT_TRUE(w.net.at(0).receive(told, w.net.now()));
    ASSERT_FALSE(w.a.all_settled());
    w.net.at(0).settle_all(SEA_ERR_DEAD);
    ASSERT_TRUE(w.a.all_settled());
    EXPECT_EQ(w.a.requests.back().status, SEA_ERR_DEAD);
}

// Its answers to what is outstanding are lost, but it can be heard; then it cannot.
TEST(link, does_not_give_up_on_a_peer_that_it_hears)
{
    for (const bool heard : {true, false}) {
        counter none, seen;
        simnet net(1, {}, none, seen, secure_mode::auth, 1472, second);
        net::link &l = net.at(1);
        const std::uint64_t word = 1;
        outgoing m;
        m.payload = &word;
        m.bytes = sizeof word;
        l.send(m);
        datagram d;
        packet_view view;
        for (nanoseconds now = net.now(), end = now + 10 * second; now < end; now += 100 * millisecond) {
            while (l.build(now, &d)) {
            }
            l.on_time(now);
            EXPECT_TRUE(!heard || l.receive(view, now));
            ++view.header.number;
        }
        EXPECT_EQ(l.has_failed(), !heard);
        l.settle_all(SEA_OK);
    }
}

// One packet is longer than all that may be under way.
TEST(link, sends_one_packet_at_a_time_where_the_window_is_shorter)
{
    world w(1, {}, secure_mode::auth, 61512);
    for (int side : {0, 1}) {
        w.net.at(side).set_grant(least_grant);
        w.net.at(side).set_room(least_grant);
    }
    for (int i = 0; i < 5; ++i) w.a.ask(200'000, true, i % 2, false);
    ASSERT_TRUE(w.finish());
    w.expect_all_good();
}
