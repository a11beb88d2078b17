// SPDX-License-Identifier: Apache-2.0
// Acknowledgements: with answers, at once, at leisure.
#include "net/constants.hpp"
#include "net/simnet.hpp"

#include <gtest/gtest.h>
#include <vector>

using namespace onesea;
using namespace onesea::net;

namespace {

struct side final : sink {
    simnet *net = nullptr;
    bool answers = false;
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
