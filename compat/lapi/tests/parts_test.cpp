// SPDX-License-Identifier: Apache-2.0
// The parts that need no job: the gate, the inbox, workers, vectors, destinations, requests.
#include "gate.hpp"
#include "inbox.hpp"
#include "pieces.hpp"
#include "requests.hpp"
#include "waiters.hpp"
#include "workers.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

using namespace lapi;

namespace {

bool can_enter_elsewhere(gate &g)
{
    bool entered = false;
    std::thread([&] {
        entered = g.try_enter();
        if (entered) g.leave();
    }).join();
    return entered;
}

} // namespace

TEST(Gate, lets_one_handler_run_at_a_time)
{
    gate g;
    ASSERT_TRUE(g.try_enter());
    EXPECT_TRUE(g.runs_here());
    EXPECT_FALSE(g.try_enter()); // not even on its own thread
    EXPECT_FALSE(can_enter_elsewhere(g));
    g.leave();
    EXPECT_TRUE(can_enter_elsewhere(g));
}

TEST(Gate, keeps_handlers_out_while_the_program_has_the_lock)
{
    gate g;
    g.lock();
    g.lock();
    EXPECT_FALSE(can_enter_elsewhere(g));
    EXPECT_TRUE(g.unlock());
    EXPECT_FALSE(can_enter_elsewhere(g));
    EXPECT_TRUE(g.unlock());
    EXPECT_FALSE(g.unlock());
    EXPECT_TRUE(can_enter_elsewhere(g));
}

TEST(Gate, lends_the_owners_right_while_it_is_inside_a_call)
{
    gate g;
    g.lock();
    {
        in_progress call(g);
        EXPECT_TRUE(can_enter_elsewhere(g));
        {
            in_progress inner(g);
            EXPECT_TRUE(can_enter_elsewhere(g));
        }
        EXPECT_TRUE(can_enter_elsewhere(g));
    }
    EXPECT_FALSE(can_enter_elsewhere(g));
    EXPECT_TRUE(g.unlock());
}

TEST(Gate, returns_from_the_owners_call_when_the_handler_has_returned)
{
    gate g;
    std::atomic<int> stage = 0;
    g.lock();
    std::thread handler;
    {
        in_progress call(g);
        handler = std::thread([&] {
            ASSERT_TRUE(g.try_enter());
            stage = 1;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            stage = 2;
            g.leave();
        });
        while (stage == 0) std::this_thread::yield();
    }
    EXPECT_EQ(stage.load(), 2);
    handler.join();
    EXPECT_TRUE(g.unlock());
}

TEST(Gate, lets_handlers_run_inside_calls_only_when_polling)
{
    gate g;
    g.set_polling(true);
    EXPECT_FALSE(can_enter_elsewhere(g));
    {
        in_progress call(g);
        EXPECT_TRUE(can_enter_elsewhere(g));
    }
    EXPECT_FALSE(can_enter_elsewhere(g));
    g.set_polling(false);
    EXPECT_TRUE(can_enter_elsewhere(g));
}

TEST(Gate, lets_a_handler_take_the_lock)
{
    gate g;
    ASSERT_TRUE(g.try_enter());
    g.lock();
    EXPECT_TRUE(g.try_lock());
    EXPECT_TRUE(pthread_equal(g.owner(), pthread_self()));
    EXPECT_TRUE(g.unlock());
    EXPECT_TRUE(g.unlock());
    EXPECT_FALSE(g.unlock());
    g.leave();
}

TEST(Inbox, runs_work_now_or_when_the_lock_is_given_back_in_order)
{
    gate g;
    inbox box;
    std::vector<int> ran;
    std::mutex mutex;
    auto note = [&](int i) {
        std::lock_guard lock(mutex);
        ran.push_back(i);
    };
    box.push(g, [&](bool) { note(0); });
    EXPECT_EQ(ran.size(), 1u);
    g.lock();
    std::thread([&] {
        for (int i = 1; i <= 100; ++i) box.push(g, [&note, i](bool) { note(i); });
    }).join();
    EXPECT_EQ(ran.size(), 1u);
    EXPECT_FALSE(box.empty());
    g.unlock();
    for (int i = 0; i < 10000 && !box.empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(box.empty());
    ASSERT_EQ(ran.size(), 101u);
    for (int i = 0; i <= 100; ++i) EXPECT_EQ(ran[std::size_t(i)], i);
    box.stop(g);
}

TEST(Inbox, tells_what_waits_when_it_is_stopped_and_what_comes_later)
{
    gate g;
    inbox box;
    int in_turn = 0, refused = 0;
    auto count = [&](bool turn) { ++(turn ? in_turn : refused); };
    g.lock();
    std::thread([&] {
        for (int i = 0; i < 10; ++i) box.push(g, count);
    }).join();
    EXPECT_EQ(refused, 0);
    box.stop(g);
    EXPECT_EQ(refused, 10);
    g.unlock();
    box.push(g, count);
    EXPECT_EQ(refused, 11);
    EXPECT_EQ(in_turn, 0);
    EXPECT_TRUE(box.empty());
}

TEST(Inbox, may_be_stopped_by_its_own_thread)
{
    static auto &g = *new gate; // the thread is on its way out of both when this test ends
    static auto &box = *new inbox;
    static std::atomic<bool> stopped = false;
    g.lock();
    std::thread([] {
        box.push(g, [](bool) {
            box.stop(g);
            stopped = true;
        });
    }).join();
    g.unlock();
    for (int i = 0; i < 10000 && !stopped; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(stopped);
}

TEST(Workers, do_what_they_were_given_and_refuse_what_nobody_would_do)
{
    workers w;
    std::atomic<int> done = 0;
    w.set_most(2);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(w.push([&] { ++done; }));
    w.stop();
    EXPECT_EQ(done, 20);
    EXPECT_FALSE(w.push([&] { ++done; }));
    w.stop();
    EXPECT_EQ(done, 20);
}

TEST(Workers, do_what_comes_while_the_last_of_them_is_busy)
{
    workers w;
    std::atomic<int> done = 0;
    EXPECT_TRUE(w.push([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_TRUE(w.push([&] { ++done; }));
    }));
    w.stop();
    EXPECT_EQ(done, 1);
}

TEST(Workers, are_waited_for_until_nothing_is_left)
{
    workers w;
    std::atomic<int> done = 0;
    EXPECT_TRUE(w.finish(0));
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(w.push([&] {
            EXPECT_TRUE(w.runs_here());
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            ++done;
        }));
    EXPECT_FALSE(w.finish(0));
    EXPECT_TRUE(w.finish(60));
    EXPECT_EQ(done, 3);
    EXPECT_FALSE(w.runs_here());
    w.stop();
}

TEST(Vectors, streams_meet_in_the_smallest_pieces)
{
    char a[100], b[100];
    void *from[2] = {a, a + 50}, *to[3] = {b, b + 20, b + 90};
    ulong from_len[2] = {30, 10}, to_len[3] = {5, 25, 10};
    lapi_vec_t org = {LAPI_GEN_GENERIC, 2, from, from_len}, tgt = {LAPI_GEN_GENERIC, 3, to, to_len};
    std::vector<piece> pieces;
    ASSERT_EQ(pieces_between(&tgt, &org, &pieces), LAPI_SUCCESS);
    ASSERT_EQ(pieces.size(), 3u);
    EXPECT_EQ(pieces[0].bytes, 5u);
    EXPECT_EQ(pieces[1].bytes, 25u);
    EXPECT_EQ(pieces[1].local, a + 5);
    EXPECT_EQ(pieces[2].local, a + 50);
    EXPECT_EQ(pieces[2].remote, lapi_long_t(b + 90));
}

TEST(Vectors, are_gathered_and_scattered)
{
    char text[] = "onesea", out[12] = {};
    void *from[3] = {text + 3, nullptr, text};
    ulong len[3] = {3, 0, 3};
    lapi_vec_t org = {LAPI_GEN_IOVECTOR, 3, from, len};
    std::unique_ptr<std::byte[]> own;
    const void *data = nullptr;
    ulong bytes = 0;
    ASSERT_EQ(gathered(&org, &own, &data, &bytes), LAPI_SUCCESS);
    ASSERT_EQ(bytes, 6u);
    EXPECT_EQ(std::memcmp(data, "seaone", 6), 0);
    void *to[2] = {out + 6, out};
    ulong room[2] = {2, 10};
    std::vector<piece> pieces;
    ASSERT_EQ(pieces_of_arrival({LAPI_GEN_IOVECTOR, 2, to, room}, bytes, &pieces), LAPI_SUCCESS);
    scatter(pieces, data);
    EXPECT_EQ(std::memcmp(out, "aone\0\0se", 8), 0);
    EXPECT_EQ(pieces_of_arrival({LAPI_GEN_IOVECTOR, 2, to, room}, 13, &pieces), LAPI_ERR_TGT_VEC_LEN);
}

TEST(Requests, are_answered_once_and_by_whom_they_were_sent_to)
{
    requests r;
    int answered = 0, code = -1;
    auto note = [&](int c, const std::uint64_t *) {
        ++answered;
        code = c;
    };
    std::uint64_t first = r.add(1, note), second = r.add(2, note);
    EXPECT_NE(first, second);
    EXPECT_FALSE(r.take(first, 2));
    EXPECT_FALSE(r.take(first + 100, 1));
    r.take(first, 1)(LAPI_SUCCESS, nullptr);
    EXPECT_FALSE(r.take(first, 1));
    EXPECT_EQ(answered, 1);
    r.fail_all_of(1, LAPI_ERR_TGT_PURGED);
    EXPECT_EQ(answered, 1);
    r.fail_all_of(2, LAPI_ERR_TGT_PURGED);
    EXPECT_EQ(answered, 2);
    EXPECT_EQ(code, LAPI_ERR_TGT_PURGED);
}

namespace {
bool nobody_is_gone(uint) { return false; }
} // namespace

// So a thread that finds it has only to subtract.
TEST(Destinations, an_arrival_is_told_together_with_its_count)
{
    waiters w;
    lapi_cntr_t c = {};
    int status;
    bool purged = true;
    w.set_destinations(&c, {1}, &status, 2, nobody_is_gone);
    w.arrived(&c, 1);
    EXPECT_TRUE(w.all_told(&c, &purged));
    EXPECT_FALSE(purged);
    EXPECT_EQ(c.cntr, 1);
    w.forget(&c);
    w.arrived(&c, 1);
    EXPECT_EQ(c.cntr, 2); // of no list
}

TEST(Destinations, that_are_gone_are_not_waited_for)
{
    waiters w;
    lapi_cntr_t c = {};
    int status[2];
    bool purged = false;
    w.set_destinations(&c, {0, 1}, status, 2, [](uint task) { return task == 1; });
    EXPECT_EQ(status[0], LAPI_MSG_INITIAL);
    EXPECT_EQ(status[1], LAPI_MSG_PURGED);
    w.arrived(&c, 0);
    EXPECT_TRUE(w.all_told(&c, &purged));
    EXPECT_TRUE(purged);
    w.set_destinations(&c, {}, nullptr, 2, nobody_is_gone);
    EXPECT_FALSE(w.has_destinations(&c));
}

TEST(Destinations, a_task_that_is_listed_twice_needs_two_messages)
{
    waiters w;
    lapi_cntr_t c = {};
    int status[3];
    bool purged = false;
    w.set_destinations(&c, {1, 1, 9}, status, 2, nobody_is_gone);
    EXPECT_EQ(status[2], LAPI_MSG_INVALID);
    w.arrived(&c, 1);
    EXPECT_EQ(status[0], LAPI_MSG_RECVD);
    EXPECT_EQ(status[1], LAPI_MSG_INITIAL);
    EXPECT_FALSE(w.all_told(&c, &purged));
    w.purged(1);
    EXPECT_EQ(status[0], LAPI_MSG_PURGED_RCVD);
    EXPECT_EQ(status[1], LAPI_MSG_PURGED);
    EXPECT_TRUE(w.all_told(&c, &purged));
    EXPECT_TRUE(purged);
    w.forget(&c);
    EXPECT_FALSE(w.has_destinations(&c));
}

TEST(Destinations, are_forgotten_after_a_wait_once_each_has_been_told)
{
    waiters w;
    lapi_cntr_t c = {}, other = {};
    int status[2], others;
    w.set_destinations(&c, {0, 1}, status, 2, nobody_is_gone);
    w.set_destinations(&other, {1}, &others, 2, nobody_is_gone);
    w.arrived(&c, 0);
    w.forget_if_told(&c); // a wait for one of the two
    EXPECT_TRUE(w.has_destinations(&c));
    w.arrived(&c, 1);
    EXPECT_TRUE(w.has_destinations(&c));
    w.forget_if_told(&c);
    EXPECT_FALSE(w.has_destinations(&c));
    w.purged(1);
    EXPECT_EQ(status[1], LAPI_MSG_RECVD);
    EXPECT_EQ(others, LAPI_MSG_PURGED);
}
