// SPDX-License-Identifier: Apache-2.0
// Queues between all ranks and threads.
#include "data_reference.hpp"
#include "stop_rank.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <sys/resource.h>
#include <thread>

using namespace proof;

namespace {

sea_queue everybodys_queue(run &t, int owner, std::size_t limit)
{
    sea_queue q{SEA_NULL};
    if (t.rank == owner) REQUIRE_OK(sea_queue_create(owner, limit, &q));
    return {t.exchange(q.at)[std::size_t(owner)]};
}

// Every rank pushes n elements and pops n, each in threads of its own.
void through(run &t, sea_queue q, int n)
{
    std::vector<std::uint64_t> got;
    std::mutex both;
    auto pop = [&](int count) {
        for (int i = 0; i < count; ++i) {
            std::uint64_t room[8] = {};
            std::size_t bytes = 0;
            if (!CHECK_OK(sea_queue_pop(q, room, sizeof room, &bytes, 60))) return;
            CHECK(bytes == 8 + room[0] % 7 * 8);
            std::lock_guard guard(both);
            got.push_back(room[0]);
        }
    };
    std::thread one(pop, n / 2), two(pop, n - n / 2);
    for (int i = 0; i < n; ++i) {
        std::uint64_t element[8] = {element_of(t.rank, i)};
        CHECK_OK(sea_queue_push(q, element, 8 + element[0] % 7 * 8, 60));
    }
    one.join();
    two.join();
    CHECK(each_once(t, got, n));
}

double processor_time()
{
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return double(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + double(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

// What is told by flags of the board around the time when rank 0 is stopped.
enum flag { outside, stopped, asked, gave_up, flags_end };

std::atomic<std::uint64_t> &flag_of(run &t, flag which) { return t.shared->flags[which]; }

// Whoever is stopped while it opens the board's gate would wake nobody.
void stop_rank_0(run &t)
{
    REQUIRE(comes_true(flag_of(t, outside), 1));
    stop_rank(t, 0);
    flag_of(t, stopped) = 1;
}

// Lets rank 0 go on when the rank with a limit has given up, and the others have waited longer than that limit.
void go_on_later(run &t)
{
    CHECK(comes_true(flag_of(t, asked), 2));
    pause_for(11);
    CHECK(comes_true(flag_of(t, gave_up), 1));
    let_go_on(t, 0);
}

constexpr std::uint64_t first = 100, of_patient = 1, of_hasty = 2; // elements

std::uint64_t ask_a_stopped_owner(run &t, sea_queue q)
{
    std::uint64_t got = 0;
    if (t.rank == 1) {
        ++flag_of(t, asked);
        CHECK_OK(sea_queue_push(q, &of_patient, 8, 0));
    } else if (t.rank == 2) {
        REQUIRE_OK(sea_set_timeout(0.5));
        CHECK_STATUS(SEA_ERR_LINK, sea_queue_push(q, &of_hasty, 8, 0));
        CHECK(std::string(sea_last_error()).find("has not answered") != std::string::npos);
        REQUIRE_OK(sea_set_timeout(SEA_FOREVER));
        flag_of(t, gave_up) = 1;
        CHECK_OK(sea_fence(0));
    } else if (t.rank == 3) {
        ++flag_of(t, asked);
        CHECK_OK(sea_queue_pop(q, &got, 8, nullptr, 0));
    }
    return got;
}

} // namespace

STEP(210, queue_carries_every_element_once_between_all_ranks_and_threads)
{
    for (int owner : owners(t))
        for (std::size_t limit : {std::size_t(0), std::size_t(256)}) {
            const sea_queue q = everybodys_queue(t, owner, limit);
            through(t, q, t.times(limit ? 60 : 200));
            t.sync();
            std::size_t left = 1;
            CHECK_OK(sea_queue_size(q, &left, nullptr));
            CHECK_EQ(0, left);
            t.sync();
            if (t.rank == owner) CHECK_OK(sea_queue_destroy(q));
        }
}

STEP(220, queue_keeps_the_order_of_one_producer)
{
    const sea_queue q = everybodys_queue(t, 0, 0);
    const int n = t.times(200), consumer = t.size - 1;
    if (t.rank == 0)
        for (int i = 0; i < n; ++i) CHECK_OK(sea_queue_push(q, &i, sizeof i, 0));
    if (t.rank == consumer)
        for (int i = 0; i < n; ++i) {
            int out = -1;
            REQUIRE_OK(sea_queue_pop(q, &out, sizeof out, nullptr, 60));
            REQUIRE(out == i);
        }
    t.sync();
    if (t.rank == 0) CHECK_OK(sea_queue_destroy(q));
}

STEP(230, queue_gives_up_waiting_in_time_and_burns_no_processor)
{
    const sea_queue q = everybodys_queue(t, 0, 32);
    const double began = sea_time(), burnt = processor_time();
    char out[8];
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_queue_pop(q, out, sizeof out, nullptr, 0));
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_queue_pop(q, out, sizeof out, nullptr, 0.5));
    CHECK(sea_time() - began >= 0.5);
    if (t.size <= 4) CHECK(processor_time() - burnt < 0.2);
    t.sync();
    if (t.rank == 0) {
        CHECK_OK(sea_queue_push(q, out, 8, 0));
        CHECK_OK(sea_queue_push(q, out, 8, 0));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_queue_push(q, out, 8, 0));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_queue_push(q, out, 8, 0.05));
        char large[100] = {};
        CHECK_STATUS(SEA_ERR_INVALID, sea_queue_push(q, large, sizeof large, 0));
    }
    t.sync();
    if (t.rank == 0) CHECK_OK(sea_queue_destroy(q));
    t.sync();
    CHECK_STATUS(SEA_ERR_HANDLE, sea_queue_pop(q, out, sizeof out, nullptr, 1));
}

STEP(240, queue_that_is_destroyed_sends_away_who_waits)
{
    const sea_queue q = everybodys_queue(t, 0, 0);
    char out[8];
    if (t.rank == 0) {
        std::thread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            CHECK_OK(sea_queue_destroy(q));
        });
        CHECK_STATUS(SEA_ERR_HANDLE, sea_queue_pop(q, out, sizeof out, nullptr, 30));
        later.join();
    } else {
        CHECK_STATUS(SEA_ERR_HANDLE, sea_queue_pop(q, out, sizeof out, nullptr, 30));
    }
}

STEP(250, large_elements_pass_through_queues_whole)
{
    const int right = (t.rank + 1) % t.size;
    sea_queue mine{SEA_NULL};
    REQUIRE_OK(sea_queue_create(t.rank, 0, &mine));
    const auto all = t.exchange(mine.at);
    for (std::size_t bytes : {std::size_t(1000), std::size_t(2000), std::size_t(70'000), std::size_t(500'000)}) {
        std::vector<unsigned char> data(bytes), back(bytes);
        fill(data.data(), bytes, std::uint64_t(t.rank));
        CHECK_OK(sea_queue_push({all[std::size_t(right)]}, data.data(), bytes, 10));
        t.sync();
        std::size_t got = 0;
        CHECK_STATUS(SEA_ERR_INVALID, sea_queue_pop({all[std::size_t(right)]}, back.data(), bytes - 1, &got, 10));
        CHECK_OK(sea_queue_pop({all[std::size_t(right)]}, back.data(), bytes, &got, 10));
        CHECK_EQ(bytes, got);
        CHECK_DATA(back.data(), bytes, std::uint64_t(t.rank));
        t.sync();
    }
    CHECK_OK(sea_queue_destroy(mine));
}

// Every rank is a node. A push that says that it was not done was not done, however long its owner is silent.
LONE_STEP(260, queue_calls_wait_for_a_stopped_owner_and_none_is_done_after_it_said_that_it_was_not)
{
    REQUIRE(t.size == 4 && t.nodes == 4);
    const sea_queue q = everybodys_queue(t, 0, 0);
    if (t.rank == 0) REQUIRE_OK(sea_queue_push(q, &first, 8, 0));
    if (t.rank == 0)
        for (int f = outside; f < flags_end; ++f) flag_of(t, flag(f)) = 0;
    t.sync();
    std::thread later;
    std::uint64_t got = first;
    if (t.rank == 0) flag_of(t, outside) = 1;
    if (t.rank == 1) stop_rank_0(t), later = std::thread(go_on_later, std::ref(t));
    if (t.rank != 0) {
        CHECK(comes_true(flag_of(t, stopped), 1));
        got = ask_a_stopped_owner(t, q);
    }
    if (later.joinable()) later.join();
    t.sync();
    CHECK(t.rank != 3 || got == first);
    if (t.rank != 0) return;
    std::uint64_t element = 0, sum = 0;
    while (sea_queue_pop(q, &element, 8, nullptr, 0) == SEA_OK) sum += element;
    CHECK_EQ(of_patient + of_hasty, sum);
    CHECK_OK(sea_queue_destroy(q));
}
