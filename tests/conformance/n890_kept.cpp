// SPDX-License-Identifier: Apache-2.0
// Handles of receives that core has no operation of, where they meet everything else that handles are for.
#include "neighbours.hpp"
#include "places.hpp"

#include "onesea/message.h"

#include <array>
#include <cstring>
#include <vector>

using namespace proof;

namespace {

// A receive that has to wait.
sea_op receive_later(const run &t, int tag, void *buffer, std::size_t bytes)
{
    sea_op op = SEA_OP_NONE;
    sea_opts o = with_handle(&op);
    CHECK_OK(sea_message_receive(world, left_of(t), tag, buffer, bytes, nullptr, &o));
    CHECK(op != SEA_OP_NONE);
    return op;
}

void send_right(const run &t, int tag, const void *data, std::size_t bytes)
{
    CHECK_OK(sea_message_send(world, right_of(t), tag, data, bytes, nullptr));
}

void until_complete(sea_op op)
{
    CHECK_OK(sea_wait_local(op, 30)); // the handle stays
}

constexpr std::size_t long_bytes = 300'000; // offered

} // namespace

LIGHT_STEP(890, transfers_start_when_the_receive_that_they_wait_for_has_ended)
{
    place p(kind::heap, 32);
    std::memset(p.memory(), 0, 32);
    for (std::size_t bytes : {std::size_t(8), t.light ? std::size_t(64) : long_bytes}) {
        auto in = filled(bytes, 1);
        const auto out = filled(bytes, bytes);
        std::uint64_t values[4] = {bytes, bytes + 1, bytes + 2, bytes + 3};
        const sea_op received = receive_later(t, 1, in.data(), bytes);
        sea_op put, second, message;
        sea_opts o = with_handle(&put, received), two = with_handle(&second, received),
                 three = with_handle(&message, received);
        CHECK_OK(sea_put(p.address(), &values[0], 8, &o));
        CHECK_OK(sea_put(p.address() + 8, &values[1], 8, &two));
        CHECK_OK(sea_message_send(world, right_of(t), 2, &values[2], 8, &three));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait(put, 0.01));
        CHECK(peek8(p.memory()) != bytes);
        t.sync();
        send_right(t, 1, out.data(), bytes);
        CHECK_OK(sea_wait(put, 30));
        CHECK_EQ(bytes, peek8(p.memory()));
        CHECK_OK(sea_wait(received, 30));
        CHECK(in == out);
        CHECK_OK(sea_wait(second, 30));
        CHECK_EQ(bytes + 1, peek8(p.memory() + 8));
        std::uint64_t came = 0;
        CHECK_OK(sea_message_receive(world, left_of(t), 2, &came, 8, nullptr, nullptr));
        CHECK_EQ(bytes + 2, came);
        CHECK_OK(sea_wait(message, 30));
        // Used up, it counts as complete.
        o = with_handle(&put, received);
        CHECK_OK(sea_put(p.address(), &values[3], 8, &o));
        CHECK_OK(sea_wait(put, 30));
        CHECK_EQ(bytes + 3, peek8(p.memory()));
        t.sync();
    }
}

STEP(891, what_waits_for_a_receive_that_has_failed_fails_with_its_status)
{
    place p(kind::heap, 8);
    poke8(p.memory(), 0);
    std::uint64_t word = 7, in = 0, in_too = 0;
    const sea_op short_one = receive_later(t, 1, &in, 4), withdrawn = receive_later(t, 2, &in_too, 8);
    sea_op behind_short, behind_withdrawn, too_late;
    sea_opts o = with_handle(&behind_short, short_one), two = with_handle(&behind_withdrawn, withdrawn);
    CHECK_OK(sea_put(p.address(), &word, 8, &o));
    CHECK_OK(sea_put(p.address(), &word, 8, &two));
    CHECK_OK(sea_message_cancel(withdrawn));
    CHECK_STATUS(SEA_ERR_CANCELLED, sea_wait(behind_withdrawn, 30));
    t.sync();
    send_right(t, 1, &word, 8);
    CHECK_STATUS(SEA_ERR_TRUNCATED, sea_wait(behind_short, 30));
    // Complete, and not used up.
    o = with_handle(&too_late, short_one);
    const int s = sea_put(p.address(), &word, 8, &o);
    CHECK_EQ(SEA_ERR_TRUNCATED, s == SEA_OK ? sea_wait(too_late, 30) : s);
    CHECK_STATUS(SEA_ERR_TRUNCATED, sea_wait(short_one, 30));
    CHECK(std::strstr(sea_last_error(), "8 bytes"));
    CHECK_STATUS(SEA_ERR_CANCELLED, sea_wait(withdrawn, 30));
    CHECK_OK(sea_fence_all()); // the handles have told it
    CHECK_EQ(0, peek8(p.memory()));
    t.sync();
}

STEP(892, receives_and_transfers_are_waited_for_together)
{
    place p(kind::heap, 64);
    const std::vector<sea_addr> all = t.exchange(p.address());
    const sea_addr there = all[std::size_t(right_of(t))];
    const auto out = filled(long_bytes, 3);
    for (int round = 0; round < t.times(20); ++round) {
        std::array<std::uint64_t, 4> words{}, in{};
        auto in_long = filled(long_bytes, 99);
        std::array<sea_op, 6> ops{};
        for (std::size_t i = 0; i < 3; ++i) ops[i] = receive_later(t, 10 + int(i), &in[i], 8);
        ops[3] = receive_later(t, 13, in_long.data(), long_bytes);
        sea_opts put = with_handle(&ops[4]);
        CHECK_OK(sea_put(there, &words[0], 8, &put));
        int index = 9, count = 9, indices[6];
        if (ops[4] == SEA_OP_NONE) { // ended within its call
            CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait_any(ops.data(), 6, &index, 0.001));
        } else {
            CHECK_OK(sea_wait_any(ops.data(), 6, &index, 30));
            CHECK_EQ(4, index);
        }
        const auto before = ops;
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_wait_all(ops.data(), 6, 0.001));
        CHECK(before == ops);
        t.sync();
        for (std::uint64_t i = 0; i < 3; ++i) {
            words[i] = i + 100 * std::uint64_t(t.rank);
            send_right(t, 10 + int(i), &words[i], 8);
        }
        CHECK_OK(sea_wait_some(ops.data(), 3, indices, &count, 30));
        CHECK(count >= 1);
        const int rest = round % 2 ? 3 : 4;
        sea_op sent = SEA_OP_NONE;
        sea_opts send = with_handle(&sent);
        CHECK_OK(sea_message_send(world, right_of(t), 13, out.data(), long_bytes, &send));
        CHECK_OK(sea_wait_all(ops.data(), rest, 30));
        for (int i = 0; i < rest; ++i) CHECK_EQ(SEA_OP_NONE, ops[std::size_t(i)]);
        for (int done = 0; !done;) CHECK_OK(sea_test(ops[3], &done));
        CHECK_OK(sea_wait(sent, 30));
        for (std::uint64_t i = 0; i < 3; ++i) CHECK_EQ(i + 100 * std::uint64_t(left_of(t)), in[i]);
        CHECK(in_long == out);
        t.sync();
    }
}

LIGHT_STEP(893, handles_of_receives_are_used_up_once)
{
    std::uint64_t in = 0;
    std::vector<sea_op> old;
    for (int i = 0; i < 5; ++i) {
        const std::uint64_t word = std::uint64_t(i + t.rank);
        const sea_op op = receive_later(t, 3, &in, 8);
        CHECK(op != SEA_OP_ALL);
        for (sea_op o : old) CHECK(o != op);
        old.push_back(op);
        t.sync();
        send_right(t, 3, &word, 8);
        until_complete(op);
        until_complete(op);
        int done = 0, index = 0;
        sea_op one = op;
        switch (i) {
        case 0:
            CHECK_OK(sea_test(op, &done));
            CHECK_EQ(1, done);
            break;
        case 1:
            CHECK_OK(sea_wait_any(&one, 1, &index, 0));
            break;
        case 2:
            CHECK_OK(sea_wait_all(&one, 1, 0));
            break;
        case 3:
            CHECK_OK(sea_message_cancel(op)); // too late
            CHECK_OK(sea_wait(op, 0));
            break;
        default:
            CHECK_OK(sea_wait(op, 0));
        }
        CHECK_EQ(i + left_of(t), int(in));
        place p(kind::heap, 8);
        sea_opts join = SEA_OPTS_INIT;
        join.flags = SEA_JOIN;
        for (sea_op used : old) {
            one = used;
            CHECK_STATUS(SEA_ERR_HANDLE, sea_wait(used, 0));
            CHECK_STATUS(SEA_ERR_HANDLE, sea_wait_local(used, 0));
            CHECK_STATUS(SEA_ERR_HANDLE, sea_test(used, &done));
            CHECK_STATUS(SEA_ERR_HANDLE, sea_wait_all(&one, 1, 0));
            CHECK_STATUS(SEA_ERR_HANDLE, sea_wait_any(&one, 1, &index, 0));
            CHECK_STATUS(SEA_ERR_HANDLE, sea_message_cancel(used));
            join.op = &one;
            CHECK_STATUS(SEA_ERR_STATE, sea_put(p.address(), &in, 8, &join));
        }
        // One that was never given out is no start condition, and nothing begins.
        sea_opts never = with_handle(&one, old.front() + (sea_op(1000) << 32));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_put(p.address(), &in, 8, &never));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_message_receive(world, left_of(t), 4, &in, 8, nullptr, &never));
    }
    t.sync();
}
