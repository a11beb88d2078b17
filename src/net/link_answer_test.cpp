// SPDX-License-Identifier: Apache-2.0
// Requests whose answers carry their acknowledgements.
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
