// SPDX-License-Identifier: Apache-2.0
// What a loss costs: which packets are taken for lost, and how soon they go again.
#include "net/link_world.hpp"

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
