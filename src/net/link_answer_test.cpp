// SPDX-License-Identifier: Apache-2.0
// Acknowledgements: with answers, at once, at leisure.
#include "net/constants.hpp"
#include "net/simnet.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

using namespace onesea;
using namespace onesea::net;

namespace {

struct side final : sink {
    simnet *net = nullptr;
    bool answers = false, flushes = false;
    std::vector<std::byte> answer;
    int requests = 0;
    std::size_t got = 0;
    void receive(int, const frame &, std::span<const std::byte> payload) override
    {
        ++requests;
        got += payload.size();
        if (!answers) return;
        outgoing m;
        m.payload = answer.data();
        m.bytes = answer.size();
        m.borrow = !answer.empty();
        net->send(1, m);
        if (flushes) net->flush(1);
    }
};

} // namespace

TEST(link, needs_two_packets_for_a_request_and_its_answer)
{
    ASSERT_TRUE(crypto_ready());
    side asks, answers;
    simnet net(1, {}, asks, answers);
    answers.net = &net;
    answers.answers = true;
    for (int i = 1; i <= 100; ++i) {
        net.send(0, outgoing{});
        ASSERT_TRUE(net.run([&] { return asks.requests == i; }, net.now() + second));
    }
    EXPECT_EQ(net.at(0).counts().packets_out, 100u);
    EXPECT_EQ(net.at(1).counts().packets_out, 100u);
}

// The window closes on full packets; the acknowledgement of the request has gone with the first of them.
TEST(link, needs_no_packet_for_the_acknowledgement_when_a_long_answer_follows)
{
    ASSERT_TRUE(crypto_ready());
    const path_tuning narrow{.window = 16 * 1024};
    side asks, answers;
    simnet net(1, {}, asks, answers, secure_mode::auth, 1472, default_give_up, {&narrow, &narrow});
    answers.net = &net;
    answers.answers = true;
    answers.answer.resize(300'000);
    net.send(0, outgoing{});
    ASSERT_TRUE(net.run([&] { return asks.got == answers.answer.size(); }, net.now() + second));
    const std::size_t in_one = net.at(1).max_frame();
    EXPECT_EQ(net.at(1).counts().packets_out, (answers.answer.size() + in_one - 1) / in_one);
}

namespace {

struct told final : delivery {
    int status = 1;
    told()
    {
        settled = [](delivery *d, int s) { static_cast<told *>(d)->status = s; };
    }
    outgoing message(bool at_leisure)
    {
        outgoing m;
        m.done = this;
        m.at_leisure = at_leisure;
        return m;
    }
};

} // namespace

// Nobody waits for its end: no packet goes for it alone before the usual delay is over, none at all if data goes back.
TEST(link, is_told_at_leisure_of_what_nobody_waits_for)
{
    ASSERT_TRUE(crypto_ready());
    side to, back;
    simnet net(1, {}, back, to);
    told hasty, slow, carried;
    std::uint64_t start = net.now();
    net.send(0, hasty.message(false));
    ASSERT_TRUE(net.run([&] { return hasty.status == SEA_OK; }, start + second));
    EXPECT_LT(net.now() - start, ack_delay);

    start = net.now();
    net.send(0, slow.message(true));
    ASSERT_TRUE(net.run([&] { return slow.status == SEA_OK; }, start + second));
    EXPECT_GE(net.now() - start, ack_delay);
    EXPECT_EQ(net.at(0).counts().probes, 0u);

    const std::uint64_t packets = net.at(1).counts().packets_out;
    net.send(0, carried.message(true));
    ASSERT_TRUE(net.run([&] { return to.requests == 3; }, net.now() + second));
    net.send(1, outgoing{});
    ASSERT_TRUE(net.run([&] { return carried.status == SEA_OK; }, net.now() + second));
    EXPECT_EQ(net.at(1).counts().packets_out, packets + 1);
}

// Whoever begins to wait for it asks, once, and does not ask again for what was asked for.
TEST(link, is_told_at_once_when_somebody_begins_to_wait)
{
    ASSERT_TRUE(crypto_ready());
    side to, back;
    simnet net(1, {}, back, to);
    for (int i = 1; i <= 20; ++i) {
        told there;
        const std::uint64_t start = net.now();
        net.send(0, there.message(true));
        net.hurry(0);
        net.hurry(0);
        ASSERT_TRUE(net.run([&] { return there.status == SEA_OK; }, start + second));
        EXPECT_LT(net.now() - start, ack_delay);
        EXPECT_EQ(net.at(0).counts().packets_out, 2u * unsigned(i)) << "the data, and the question";
        EXPECT_EQ(to.requests, i);
    }
    told there;
    const std::uint64_t packets = net.at(0).counts().packets_out;
    net.send(0, there.message(false));
    net.hurry(0);
    ASSERT_TRUE(net.run([&] { return there.status == SEA_OK; }, net.now() + second));
    EXPECT_EQ(net.at(0).counts().packets_out, packets + 1) << "it had asked itself";
    net.hurry(0);
    EXPECT_EQ(net.at(0).counts().packets_out, packets + 1) << "nothing is under way";
}

// What is lazy goes with what goes next, whether that is ordered or long or neither.
TEST(link, sends_what_is_lazy_in_the_next_packet)
{
    ASSERT_TRUE(crypto_ready());
    const std::vector<std::byte> kilobyte(1200);
    for (unsigned kind = 0; kind < 4; ++kind) {
        SCOPED_TRACE(kind);
        side to, back;
        simnet net(1, {}, back, to);
        for (int i = 1; i <= 20; ++i) {
            told there;
            net.send(0, there.message(true));
            ASSERT_TRUE(net.run([&] { return to.requests == i; }, net.now() + second));
            outgoing lazy, next;
            lazy.lazy = true;
            next.ordered = kind % 2;
            next.payload = kilobyte.data();
            next.bytes = kind / 2 ? kilobyte.size() : 8;
            next.borrow = kind / 2;
            net.send(1, lazy);
            net.send(1, lazy);
            EXPECT_EQ(net.at(1).counts().packets_out, unsigned(i) - 1);
            net.send(1, next);
            const std::uint64_t now = net.now();
            ASSERT_TRUE(net.run([&] { return back.requests == 3 * i; }, now + second));
            EXPECT_LT(net.now() - now, ack_delay);
            EXPECT_EQ(there.status, SEA_OK);
            EXPECT_EQ(net.at(1).counts().packets_out, unsigned(i));
        }
    }
}

// Where nothing follows it goes with the acknowledgement, and at once where the other side asks for answers, also when
// it knows already that its messages are there.
TEST(link, sends_what_is_lazy_in_time_and_when_it_is_asked)
{
    ASSERT_TRUE(crypto_ready());
    side to, back;
    simnet net(1, {}, back, to);
    outgoing lazy;
    lazy.lazy = true;
    told slow;
    net.send(0, slow.message(true));
    ASSERT_TRUE(net.run([&] { return to.requests == 1; }, net.now() + second));
    net.send(1, lazy);
    std::uint64_t start = net.now();
    ASSERT_TRUE(net.run([&] { return back.requests == 1; }, start + second));
    EXPECT_GE(net.now() - start, ack_delay / 2);
    EXPECT_LE(net.now() - start, 2 * ack_delay);
    EXPECT_EQ(slow.status, SEA_OK);
    EXPECT_EQ(net.at(1).counts().packets_out, 1u) << "with the acknowledgement";

    for (int i = 2; i < 10; ++i) {
        told asked;
        net.send(0, asked.message(true));
        ASSERT_TRUE(net.run([&] { return to.requests == i; }, net.now() + second));
        net.send(1, outgoing{}); // with the acknowledgement
        ASSERT_TRUE(net.run([&] { return asked.status == SEA_OK; }, net.now() + second));
        const std::uint8_t before = net.at(1).asked();
        const std::uint64_t packets = net.at(0).counts().packets_out;
        net.send(1, lazy);
        start = net.now();
        net.hurry(0, true);
        net.hurry(0, true);
        ASSERT_TRUE(net.run([&] { return back.requests == 2 * i - 1; }, start + second));
        EXPECT_LT(net.now() - start, ack_delay / 2);
        EXPECT_EQ(net.at(1).asked(), std::uint8_t(before + 1));
        EXPECT_EQ(net.at(0).counts().packets_out, packets + 1) << "it asks once";
    }
    ASSERT_FALSE(net.run([] { return false; }, never)) << "and no timer is left that does nothing";
}

// They do not pile up.
TEST(link, sends_many_lazy_ones_by_themselves)
{
    ASSERT_TRUE(crypto_ready());
    side to, back;
    simnet net(1, {}, back, to);
    told there;
    net.send(0, there.message(true));
    ASSERT_TRUE(net.run([&] { return to.requests == 1; }, net.now() + second));
    outgoing lazy;
    lazy.lazy = true;
    const std::uint64_t start = net.now();
    for (int i = 0; i < 100; ++i) net.send(1, lazy);
    ASSERT_TRUE(net.run([&] { return back.requests >= 40; }, start + second));
    EXPECT_LT(net.now() - start, ack_delay / 2);
    ASSERT_TRUE(net.run([&] { return back.requests == 100; }, start + second));
}

// The window lets a few packets go at a time, and each of these fills it and asks; so must the last one, however few go
// with it.
TEST(link, is_told_at_once_of_the_last_of_what_waited_for_the_window)
{
    ASSERT_TRUE(crypto_ready());
    const path_tuning narrow{.window = 16 * 1024};
    const std::vector<std::byte> kilobyte(1024);
    for (std::size_t messages = 10; messages < 40; ++messages) {
        side to, back;
        simnet net(1, {}, back, to, secure_mode::auth, 1472, default_give_up, {&narrow, &narrow});
        std::vector<told> all(messages);
        const std::uint64_t start = net.now();
        for (told &each : all) {
            outgoing m = each.message(true);
            m.payload = kilobyte.data();
            m.bytes = kilobyte.size();
            net.send(0, m);
        }
        net.hurry(0);
        ASSERT_TRUE(net.run([&] { return all.back().status == SEA_OK; }, start + second));
        EXPECT_LT(net.now() - start, ack_delay) << messages << " messages";
    }
}

// What goes while a packet is executed does not acknowledge it yet.
TEST(link, acknowledges_at_once_also_a_packet_whose_execution_sends_something)
{
    ASSERT_TRUE(crypto_ready());
    side asks, answers;
    simnet net(1, {}, asks, answers);
    answers.net = &net;
    answers.answers = answers.flushes = true;
    for (int i = 0; i < 20; ++i) {
        told there;
        const std::uint64_t start = net.now();
        net.send(0, there.message(i % 2));
        ASSERT_TRUE(net.run([&] { return there.status == SEA_OK; }, start + second));
        EXPECT_LE(net.now() - start, i % 2 ? 2 * ack_delay : ack_delay / 2);
    }
    EXPECT_EQ(net.at(0).counts().probes, 0u);
}

// The first of three arrives last. The other two have waited for it, which is not the network's time.
TEST(link, counts_the_time_that_packets_have_waited_for_another_as_the_peers)
{
    ASSERT_TRUE(crypto_ready());
    constexpr std::uint64_t late = 5 * microsecond;
    side to, back;
    simnet net(1, {}, back, to);
    told all[4];
    net.send(0, all[3].message(false));
    ASSERT_TRUE(net.run([&] { return all[3].status == SEA_OK; }, net.now() + second));
    const std::uint64_t usual = net.at(0).round_trips().longest;
    net.run([] { return false; }, net.now() + millisecond);
    unsigned nth = 0;
    net.set_lateness([&](int from, unsigned) { return from == 0 && nth++ == 0 ? late : 0; });
    for (int i = 0; i < 3; ++i) {
        outgoing m = all[i].message(false);
        m.ordered = true;
        net.send(0, m);
        net.flush(0);
    }
    ASSERT_TRUE(net.run([&] { return all[2].status == SEA_OK; }, net.now() + second));
    EXPECT_EQ(net.at(0).counts().packets_lost, 0u);
    EXPECT_EQ(net.at(0).round_trips().longest, usual);
}

// The kernel has refused a packet that has nothing but the question; nothing is under way that would bring the link
// back.
TEST(link, asks_again_when_its_question_was_refused)
{
    ASSERT_TRUE(crypto_ready());
    side to, back;
    simnet net(1, {}, back, to);
    told there;
    net.send(0, there.message(true));
    ASSERT_TRUE(net.run([&] { return there.status == SEA_OK; }, net.now() + second));
    net::link &l = net.at(0);
    ASSERT_EQ(l.deadline(), never);
    auto d = std::make_unique<datagram>();
    l.hurry(true);
    ASSERT_TRUE(l.build(net.now(), d.get()));
    l.unbuild(*d);
    EXPECT_LE(l.deadline(), net.now());
    const std::uint8_t before = net.at(1).asked();
    ASSERT_TRUE(net.run([&] { return net.at(1).asked() != before; }, net.now() + millisecond));
    EXPECT_FALSE(net.run([] { return false; }, never)) << "once";
    EXPECT_EQ(net.at(1).asked(), std::uint8_t(before + 1));
}

// Full packets go back at once, and the first of them takes the acknowledgement along. One word would tell of 64.
TEST(link, tells_of_all_that_came_behind_a_gap_with_the_answers)
{
    ASSERT_TRUE(crypto_ready());
    constexpr unsigned requests = 110;
    const std::vector<std::byte> content(1400);
    for (bool borrowed : {false, true}) {
        side asks, answers;
        simnet net(1, {}, asks, answers);
        answers.net = &net;
        answers.answers = true;
        if (borrowed) answers.answer.resize(1400);
        net.set_verdict([](int from, unsigned nth) { return from != 0 || nth != 5; });
        for (unsigned i = 0; i < requests; ++i) {
            outgoing m;
            m.payload = content.data();
            m.bytes = content.size();
            m.borrow = true;
            net.send(0, m);
            net.flush(0);
        }
        ASSERT_TRUE(net.run([&] { return answers.requests == int(requests) && net.at(1).idle(); }, net.now() + second));
        EXPECT_EQ(net.at(0).counts().packets_lost, 1u) << borrowed;
        EXPECT_EQ(net.at(1).counts().packets_lost, 0u) << borrowed;
    }
}

// Another implementation may write more or fewer than this one. `executed` counts whatever they say.
TEST(link, understands_acknowledgements_with_any_number_of_words)
{
    ASSERT_TRUE(crypto_ready());
    constexpr unsigned packets = 5;
    const std::vector<std::uint64_t> ones(max_ack_words, ~std::uint64_t(0));
    for (unsigned words = 0; words <= max_ack_words; ++words)
        for (bool executed : {false, true}) {
            side to, back;
            simnet net(1, {}, back, to);
            net.set_verdict([](int, unsigned) { return false; });
            told messages[packets];
            for (told &m : messages) {
                net.send(0, m.message(false));
                net.flush(0);
            }
            packet_view v;
            v.header.ack_bytes = std::uint16_t(ack_fixed_bytes + 8 * words);
            v.ack.fixed.largest = packets - 1;
            v.ack.fixed.executed = executed ? packets : 0;
            v.ack.fixed.window = first_grant;
            v.ack.words = reinterpret_cast<const std::byte *>(ones.data());
            v.ack.count = words;
            ASSERT_TRUE(net.at(0).receive(v, net.now()));
            const unsigned missing = words || executed ? 0 : packets - 1;
            unsigned ended = 0;
            for (const told &m : messages) ended += m.status == SEA_OK;
            EXPECT_EQ(ended, packets - missing) << words;
            EXPECT_EQ(net.at(0).idle(), missing == 0) << words;
            net.at(0).settle_all(SEA_OK);
        }
}
