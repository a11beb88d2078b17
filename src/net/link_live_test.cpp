// SPDX-License-Identifier: Apache-2.0
// Memory that the program goes on changing while it is sent, as a get of a table that is in use does: what was tagged
// and what the kernel copies afterwards differ.
#include "net/link_world.hpp"

using namespace onesea;
using namespace onesea::net;
using namespace onesea::net::test;

namespace {

constexpr std::size_t live = 6000;

struct live_world : world {
    live_world(secure_mode mode, std::size_t limit, bool trains, std::uint32_t trust = 0)
        : world(1, {}, mode, limit, default_give_up, {&usual_tuning, &usual_tuning}, trains, trust)
    {
        for (int side : {0, 1}) net.at(side).set_grant(768 * 1024);
        b.live = live;
        net.set_verdict([this](int from, unsigned) { // between the tag and the copy
            if (from == 0) a.requests.back().data[live] ^= 1;
            return true;
        });
    }
};

} // namespace

TEST(link, sends_memory_that_changes_all_the_time)
{
    for (secure_mode mode : {secure_mode::off, secure_mode::auth, secure_mode::encrypt})
        for (std::size_t limit : {std::size_t(1472), std::size_t(8972), most_datagram})
            for (std::size_t bytes : {8'000, 16'000, 200'000})
                for (bool trains : {false, true}) {
                    SCOPED_TRACE(testing::Message() << "mode " << int(mode) << ", " << bytes << " bytes, datagrams of "
                                                    << limit << (trains ? ", trains" : ""));
                    live_world w(mode, limit, trains);
                    w.a.ask(bytes, true, false, false);
                    ASSERT_TRUE(w.finish(second));
                    w.expect_all_good();
                    EXPECT_LE(w.net.refused(), 1u) << "what goes again is tagged as it is sent";
                }
}

// One packet each, which only a probe brings again: a loss as any other.
TEST(link, is_careful_for_a_while_once_memory_has_changed)
{
    live_world w(secure_mode::auth, most_datagram, false, 256);
    for (int i = 0; i < 6000; ++i) {
        w.a.ask(16'000, true, false, false);
        ASSERT_TRUE(w.finish(second));
    }
    w.expect_all_good();
    EXPECT_LE(w.net.refused(), 6u) << "after 256 packets, then after twice as many each time";
}
