// SPDX-License-Identifier: Apache-2.0
// Many messages in a row between nodes, which go from where they lie: their sends end when the target has taken them
// in, which needs no receive, or when it has died. With the profile that holds without one.
#include "neighbours.hpp"
#include "places.hpp"
#include "stop_rank.hpp"

#include "onesea/message.h"

#include <csignal>
#include <iterator>
#include <vector>

using namespace proof;

namespace {

// All rows are long enough not to be copied after the first one, and fit what a rank may have sent unreceived.
constexpr std::size_t some_sizes[] = {8192, 8200, 3072, 12288, 20001, 3071, 8191, 9000};
constexpr std::size_t in_a_row = 36;

std::size_t size_of(std::size_t i) { return i == in_a_row - 1 ? 65536 : some_sizes[i % std::size(some_sizes)]; }

using row = std::vector<sea_op>;

void by_waits(const run &, row &sends)
{
    for (sea_op &op : sends) CHECK_OK(sea_wait(op, 30));
}

void by_wait_all(const run &, row &sends) { CHECK_OK(sea_wait_all(sends.data(), int(sends.size()), 30)); }

void by_wait_any(const run &, row &sends)
{
    for (int index = 0; index >= 0;) REQUIRE_OK(sea_wait_any(sends.data(), int(sends.size()), &index, 30));
}

void by_tests(const run &, row &sends)
{
    for (sea_op op : sends)
        for (int done = 0; !done;) REQUIRE_OK(sea_test(op, &done));
}

void by_local_ends(const run &t, row &sends)
{
    for (sea_op op : sends) CHECK_OK(sea_wait_local(op, 30));
    by_waits(t, sends);
}

// What starts after the last one.
void by_a_start_condition(const run &t, row &sends)
{
    sea_op next = SEA_OP_NONE;
    sea_opts o = with_handle(&next, sends.back());
    CHECK_OK(sea_message_send(world, right_of(t), 2, nullptr, 0, &o));
    CHECK_OK(sea_wait(next, 30));
    CHECK_OK(sea_message_receive(world, left_of(t), 2, nullptr, 0, nullptr, nullptr));
    by_waits(t, sends);
}

void (*const ways[])(const run &, row &) = {by_waits, by_wait_all,   by_wait_any,
                                            by_tests, by_local_ends, by_a_start_condition};

// Who waits for a counter looks at no handle.
void counted_sends_end_at_once(run &t)
{
    const auto data = filled(8192, 1);
    sea_counter ended;
    CHECK_OK(sea_counter_set(&ended, 0));
    for (std::uint64_t i = 1; i <= 20; ++i) {
        sea_op op = SEA_OP_NONE;
        sea_opts o = with_handle(&op);
        o.origin_counter = &ended;
        CHECK_OK(sea_message_send(world, right_of(t), 3, data.data(), 8192, &o));
        std::uint64_t now = 0;
        CHECK_OK(sea_counter_get(&ended, &now));
        CHECK_EQ(i, now);
        CHECK_EQ(SEA_OP_NONE, op);
    }
    t.sync();
    for (int i = 0; i < 20; ++i) {
        std::vector<unsigned char> in(8192);
        CHECK_OK(sea_message_receive(world, left_of(t), 3, in.data(), in.size(), nullptr, nullptr));
        CHECK_DATA(in.data(), in.size(), 1);
    }
    t.sync();
}

} // namespace

LONE_STEP(8365, sends_with_handles_need_no_receive_and_their_data_may_be_changed_when_they_have_ended)
{
    REQUIRE(t.nodes == t.size);
    std::size_t not_copied = 0;
    for (int round = 0; round < t.times(24); ++round) {
        std::vector<std::vector<unsigned char>> out;
        row sends(in_a_row, SEA_OP_NONE);
        for (std::size_t i = 0; i < in_a_row; ++i) out.push_back(filled(size_of(i), i + unsigned(t.rank)));
        for (std::size_t i = 0; i < in_a_row; ++i) {
            sea_opts o = with_handle(&sends[i]);
            CHECK_OK(sea_message_send(world, right_of(t), int(i % 2), out[i].data(), size_of(i), &o));
            not_copied += sends[i] != SEA_OP_NONE;
        }
        ways[std::size_t(round) % std::size(ways)](t, sends);
        for (std::size_t i = 0; i < in_a_row; ++i) set_bytes(out[i].data(), size_of(i), 0xee);
        t.sync();
        for (int tag : {1, 0})
            for (std::size_t i = std::size_t(tag); i < in_a_row; i += 2) {
                std::vector<unsigned char> in(size_of(i));
                CHECK_OK(sea_message_receive(world, left_of(t), tag, in.data(), in.size(), nullptr, nullptr));
                CHECK_DATA(in.data(), in.size(), i + unsigned(left_of(t)));
            }
        t.sync();
    }
    CHECK(not_copied > 0);
    counted_sends_end_at_once(t);
}

LONE_STEP(8366, sends_with_handles_to_a_rank_that_takes_nothing_are_open_and_end_with_its_death)
{
    REQUIRE(t.size == 2 && t.nodes == 2);
    t.sync();
    const int victim = stopped_victim(t);
    const auto data = filled(8192, 1);
    row open;
    for (int sent = 0; open.size() < 10; ++sent) {
        REQUIRE(sent < 100); // the first of a row are copied
        sea_op op = SEA_OP_NONE;
        sea_opts o = with_handle(&op);
        REQUIRE_OK(sea_message_send(world, 1, 0, data.data(), 8192, &o));
        if (op != SEA_OP_NONE) open.push_back(op);
    }
    for (sea_op op : open) CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(op, 0.02));
    kill(victim, SIGKILL);
    for (sea_op op : open) CHECK_STATUS(SEA_ERR_DEAD, sea_wait(op, 30));
}
