// SPDX-License-Identifier: Apache-2.0
// Who sleeps in the library is woken by what another thread of the process does, though that thread computes then.
#include "gate.hpp"
#include "neighbours.hpp"
#include "places.hpp"

#include <atomic>
#include <thread>
#include <vector>

using namespace proof;

namespace {

constexpr int waking_tag = 78, handler = 78;

std::atomic<int> handled{0};
std::vector<unsigned char> sent_by_handler;

void *send_to_own_rank(const sea_am *, sea_am_complete_fn *, void **)
{
    CHECK_OK(sea_message_send(world, sea_rank(), waking_tag, sent_by_handler.data(), sent_by_handler.size(), nullptr));
    ++handled;
    return nullptr;
}

void *dawdle(const sea_am *message, sea_am_complete_fn *, void **)
{
    pause_for(*static_cast<const double *>(message->header));
    return nullptr;
}

std::atomic<bool> inside{false}, let_out{false};

void *stay_inside(const sea_am *, sea_am_complete_fn *, void **)
{
    inside = true;
    CHECK(comes([] { return let_out.load(); }));
    return nullptr;
}

// With parts of so many bytes, by all members.
void exchange_parts(const run &t, std::size_t bytes)
{
    const auto n = std::size_t(t.size);
    std::vector<unsigned char> in(bytes * n, (unsigned char)(t.rank + 1)), out(bytes * n);
    CHECK_OK(sea_broadcast(world, t.size - 1, in.data(), bytes));
    CHECK_EQ(t.size % 256, int(in[bytes - 1]));
    CHECK_OK(sea_allgather(world, in.data(), out.data(), bytes));
    CHECK_OK(sea_allreduce(world, in.data(), out.data(), bytes, SEA_UINT8, SEA_MAX));
    CHECK_OK(sea_alltoall(world, in.data(), out.data(), bytes));
}

} // namespace

STEP(785, a_short_message_to_the_own_rank_wakes_who_sleeps)
{
    for (const bool receives : {true, false}) {
        std::atomic<bool> awake{false};
        int in = 0, out = 5;
        std::thread sleeper([&] {
            if (receives)
                CHECK_OK(sea_message_receive(world, t.rank, waking_tag, &in, sizeof in, nullptr, nullptr));
            else
                CHECK_OK(sea_message_probe(world, t.rank, waking_tag, nullptr, 60));
            awake = true;
        });
        pause_for(0.05);
        CHECK_OK(sea_message_send(world, t.rank, waking_tag, &out, sizeof out, nullptr));
        CHECK(comes([&] { return awake.load(); }));
        CHECK_OK(sea_poll());
        sleeper.join();
        if (!receives) CHECK_OK(sea_message_receive(world, t.rank, waking_tag, &in, sizeof in, nullptr, nullptr));
        CHECK_EQ(5, in);
    }
    t.sync();
}

STEP(786, a_handler_that_waits_is_woken_while_the_program_computes)
{
    handled = 0;
    sent_by_handler.assign(1 << 20, 7); // so it stays with the handler until it is received
    std::vector<unsigned char> in(sent_by_handler.size());
    CHECK_OK(sea_am_register(handler, send_to_own_rank, nullptr));
    t.sync();
    pause_for(0.05); // nobody is in the library any more
    const sea_opts o = without_waiting();
    CHECK_OK(sea_am_send((t.rank + 1) % t.size, handler, nullptr, 0, nullptr, 0, &o));
    pause_for(0.1); // the handler runs, and sleeps
    CHECK_OK(sea_message_receive(world, t.rank, waking_tag, in.data(), in.size(), nullptr, nullptr));
    CHECK(comes([] { return handled == 1; }));
    CHECK_OK(sea_fence_all());
    t.sync();
    CHECK_OK(sea_am_register(handler, nullptr, nullptr));
}

// Answers find no room at first, since the origin computes, or has been stopped; then a handler's own answer empties
// the queue. What is told by nothing but that it was executed must be told all the same.
STEP(787, what_was_executed_is_told_though_an_answer_emptied_the_queue)
{
    place word(kind::malloced, 64), data(kind::heap, 1 << 20);
    poke8(word.memory(), 0);
    CHECK_OK(sea_am_register(handler, dawdle, nullptr));
    const std::vector<sea_addr> words = t.exchange(word.address()), datas = t.exchange(data.address());
    const int right = (t.rank + 1) % t.size;
    std::vector<unsigned char> got(80000);
    const double first = 0.1, later = 0.02;
    std::vector<sea_op> ops;
    auto start = [&](auto call, unsigned flags = 0) {
        sea_op op = SEA_OP_NONE;
        sea_opts o = with_handle(&op);
        o.flags = flags;
        CHECK_OK(call(&o));
        ops.push_back(op);
    };
    auto send = [&](const double &pause) {
        start([&](const sea_opts *o) { return sea_am_send(right, handler, &pause, sizeof pause, nullptr, 0, o); });
    };
    auto add = [&](unsigned flags) {
        start([&](const sea_opts *o) { return sea_fetch_add8(words[std::size_t(right)], 1, nullptr, o); }, flags);
    };
    t.sync();
    if (t.rank % 2 == 0) {
        send(first);
        pause_for(0.02);
        add(SEA_ORDERED);
        start([&](const sea_opts *o) { return sea_get(got.data(), datas[std::size_t(right)], got.size(), o); },
              SEA_ORDERED);
        add(0);
        for (int i = 0; i < 7; ++i) send(later);
        CHECK_OK(sea_wait_all(ops.data(), int(ops.size()), 20));
        CHECK_OK(sea_fence_all());
    }
    t.sync();
    CHECK_OK(sea_am_register(handler, nullptr, nullptr));
}

// The sender computes when it has sent, so nothing but the message's arrival tells that it is there.
STEP(788, who_sleeps_is_woken_by_a_message_of_any_size_of_another_rank)
{
    const int other = t.rank ^ 1;
    const bool sends = t.rank % 2 == 0;
    enum { in_receive, in_wait, in_probe };
    for (const std::size_t bytes : {std::size_t(8), std::size_t(5000), std::size_t(1) << 20})
        for (const int sleeps : {in_receive, in_wait, in_probe}) {
            std::vector<unsigned char> data(bytes, (unsigned char)(sends ? sleeps + 1 : 0));
            t.sync();
            if (other < t.size && sends) {
                pause_for(0.05);
                const sea_opts o = without_waiting();
                CHECK_OK(sea_message_send(world, other, waking_tag, data.data(), bytes, &o));
            } else if (other < t.size) {
                sea_op op = SEA_OP_NONE;
                const sea_opts o = with_handle(&op);
                if (sleeps == in_probe) CHECK_OK(sea_message_probe(world, other, waking_tag, nullptr, 60));
                CHECK_OK(sea_message_receive(world, other, waking_tag, data.data(), bytes, nullptr,
                                             sleeps == in_wait ? &o : nullptr));
                if (sleeps == in_wait) CHECK_OK(sea_wait(op, 60));
                CHECK_EQ(sleeps + 1, int(data[bytes - 1]));
            }
            t.sync();
            CHECK_OK(sea_fence_all());
        }
}

// Long parts are brought by messages whose handlers are the library's own.
STEP(789, collectives_end_while_a_handler_stays)
{
    CHECK_OK(sea_am_register(handler, stay_inside, nullptr));
    for (const std::size_t bytes : {std::size_t(64), std::size_t(20000), std::size_t(400000)}) {
        inside = let_out = false;
        t.sync();
        pause_for(0.05); // nobody is in the library any more, so that no call runs the handler
        const sea_opts o = without_waiting();
        CHECK_OK(sea_am_send((t.rank + 1) % t.size, handler, nullptr, 0, nullptr, 0, &o));
        CHECK(comes([] { return inside.load(); }));
        exchange_parts(t, bytes);
        let_out = true;
        CHECK_OK(sea_fence_all());
        t.sync(); // then all have left
    }
    CHECK_OK(sea_am_register(handler, nullptr, nullptr));
}
