// SPDX-License-Identifier: Apache-2.0
// Queues between all ranks and threads.
#include "data_reference.hpp"

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
