// SPDX-License-Identifier: Apache-2.0
// Matched messages when a rank dies in a job that goes on: what waits for it ends with SEA_ERR_DEAD, what it had sent
// before is there, and receives from anybody wait for those that live. Run with --death: the last rank kills itself.
#include "neighbours.hpp"
#include "places.hpp"

#include "onesea/message.h"

#include <csignal>
#include <unistd.h>
#include <vector>

using namespace proof;

LONE_STEP(8350, messages_of_a_rank_that_died_end_and_others_go_on)
{
    const int dead = t.size - 1;
    std::uint64_t word = 42, in[3] = {}, early = 0;
    std::vector<unsigned char> large(3000000);
    if (t.rank == dead) {
        for (int to = 0; to < dead; ++to) REQUIRE_OK(sea_message_send(world, to, 1, &word, 8, nullptr));
        for (int to = 0; to < dead; ++to) sea_fence(to);
        t.sync();
        pause_for(0.3);
        leave(*t.shared);
        kill(getpid(), SIGKILL);
    }
    sea_op named, sent, open;
    sea_opts o = SEA_OPTS_INIT;
    o.op = &named;
    CHECK_OK(sea_message_receive(world, dead, 7, &in[0], 8, nullptr, &o));
    o.op = &open;
    CHECK_OK(sea_message_receive(world, SEA_ANY_SOURCE, 8, &in[1], 8, nullptr, &o));
    o.op = &sent;
    CHECK_OK(sea_message_send(world, dead, 7, large.data(), large.size(), &o));
    t.sync();
    CHECK_STATUS(SEA_ERR_DEAD,
                 sea_message_receive(world, dead, 9, &in[2], 8, nullptr, nullptr)); // blocked when it dies
    CHECK_STATUS(SEA_ERR_DEAD, sea_wait(named, 30));
    CHECK_STATUS(SEA_ERR_DEAD, sea_wait(sent, 30));
    CHECK_STATUS(SEA_ERR_DEAD, sea_message_send(world, dead, 7, &word, 8, nullptr));
    CHECK_STATUS(SEA_ERR_DEAD, sea_message_probe(world, dead, 3, nullptr, 30));
    sea_message_info info{};
    CHECK_OK(sea_message_receive(world, dead, SEA_ANY_TAG, &early, 8, &info, nullptr));
    CHECK_EQ(42, early);
    CHECK_STATUS(SEA_ERR_DEAD, sea_message_receive(world, dead, SEA_ANY_TAG, &early, 8, &info, nullptr));
    if (dead == 1) return void(CHECK_STATUS(SEA_ERR_DEAD, sea_wait(open, 30))); // nobody is left
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(open, 0.05));
    t.sync();
    CHECK_OK(sea_message_send(world, (t.rank + 1) % dead, 8, &word, 8, nullptr));
    CHECK_OK(sea_wait(open, 30));
    CHECK_EQ(42, in[1]);
}
