// SPDX-License-Identifier: Apache-2.0
// A receive that has met a message whose sender then stops goes on past its time-out: the data comes when the sender
// goes on. And one that waits for anybody ends when nobody can be reached any more. Rank 0 stops the last rank and
// continues it.
#include "neighbours.hpp"
#include "places.hpp"
#include "stop_rank.hpp"

#include "onesea/message.h"

#include <thread>
#include <vector>

using namespace proof;

LONE_STEP(8360, a_receive_that_has_met_a_message_waits_for_a_stopped_sender)
{
    constexpr std::size_t bytes = 8'000'000; // stays with its sender until it is received
    constexpr double late = 1.2, in_time = 0.1;
    const int sender = t.size - 1;
    std::vector<unsigned char> data(bytes);
    if (t.rank == sender) {
        fill(data.data(), bytes, 1);
        CHECK_OK(sea_message_send(world, 0, 1, data.data(), bytes, nullptr));
    } else if (t.rank == 0) {
        REQUIRE_OK(sea_message_probe(world, sender, 1, nullptr, 30));
        stop_rank(t, sender);
        std::thread later([&] {
            pause_for(late);
            let_go_on(t, sender);
        });
        CHECK_OK(sea_set_timeout(in_time));
        CHECK_OK(sea_message_receive(world, sender, 1, data.data(), bytes, nullptr, nullptr));
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
        later.join();
        CHECK_DATA(data.data(), bytes, 1);
    }
    t.sync();
}

// Run with give_up=6.
LONE_STEP(8361, a_receive_from_anybody_ends_when_the_only_other_cannot_be_reached)
{
    REQUIRE(t.size == 2 && t.nodes == 2);
    std::uint64_t word = 1, in[2] = {};
    t.sync();
    if (t.rank == 0) {
        pause_for(0.3);
        stop_rank(t, 1);
        sea_op open = SEA_OP_NONE;
        sea_opts o = SEA_OPTS_INIT;
        o.op = &open;
        CHECK_OK(sea_message_receive(world, SEA_ANY_SOURCE, 1, &in[0], 8, nullptr, &o));
        CHECK_OK(sea_message_send(world, 1, 2, &word, 8, nullptr));
        CHECK_STATUS(SEA_ERR_LINK, sea_wait(open, 30));
        CHECK_STATUS(SEA_ERR_LINK, sea_message_receive(world, SEA_ANY_SOURCE, 1, &in[1], 8, nullptr, nullptr));
        CHECK_STATUS(SEA_ERR_LINK, sea_message_probe(world, SEA_ANY_SOURCE, 1, nullptr, 30));
        let_go_on(t, 1);
    }
    t.sync();
}
