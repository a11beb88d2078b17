// SPDX-License-Identifier: Apache-2.0
#include "short_lock.hpp"

#include "two_priorities.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using acp::short_lock;
using proof::two_priorities;

namespace {

// Each thread adds so often to what the lock protects; the first owns the lock when the others come.
int sum_of(short_lock &lock, int others, int times)
{
    int sum = 0;
    std::barrier together(others + 1);
    auto add = [&] {
        for (int i = 0; i < times; ++i) {
            lock.lock();
            sum = sum + 1;
            lock.unlock();
        }
    };
    lock.lock();
    lock.unlock();
    std::vector<std::thread> threads;
    for (int t = 0; t < others; ++t)
        threads.emplace_back([&] {
            together.arrive_and_wait();
            add();
        });
    together.arrive_and_wait();
    add();
    for (std::thread &t : threads) t.join();
    return sum;
}

} // namespace

// The owner uses one lock after the other, and the second thread follows it a little later each time.
TEST(short_lock, lets_one_thread_in_at_a_time_whenever_the_second_comes)
{
    constexpr int locks = 50000, times = 100;
    std::vector<short_lock> lock(locks);
    std::vector<int> sum(locks);
    std::atomic<int> at{-1}, followed{-1};
    auto add = [&](int i) {
        lock[std::size_t(i)].lock();
        sum[std::size_t(i)] = sum[std::size_t(i)] + 1;
        lock[std::size_t(i)].unlock();
    };
    std::thread second([&] {
        for (int i = 0; i < locks; ++i) {
            while (at.load() < i) std::this_thread::yield();
            for (int wait = i % 400; wait > 0; --wait) std::atomic_signal_fence(std::memory_order_seq_cst);
            add(i);
            followed.store(i);
        }
    });
    for (int i = 0; i < locks; ++i) {
        add(i);
        at.store(i);
        for (int n = 1; n < times; ++n) add(i);
        while (followed.load() < i) std::this_thread::yield();
    }
    second.join();
    EXPECT_EQ(std::count(sum.begin(), sum.end(), times + 1), locks);
}

TEST(short_lock, lets_one_of_many_threads_in_at_a_time)
{
    short_lock lock;
    EXPECT_EQ(sum_of(lock, 4, 20000), 5 * 20000);
    EXPECT_EQ(sum_of(lock, 4, 20000), 5 * 20000) << "the same lock again";
}

TEST(short_lock, goes_from_a_thread_that_has_ended_to_another)
{
    short_lock lock;
    std::thread([&] {
        lock.lock();
        lock.unlock();
    }).join();
    EXPECT_EQ(sum_of(lock, 2, 1000), 3 * 1000);
}

TEST(short_lock, is_handed_to_a_thread_of_higher_real_time_priority_on_the_same_processor)
{
    for (bool shared : {false, true}) {
        short_lock lock;
        if (shared) sum_of(lock, 1, 1);
        const auto o = two_priorities().hand_over(lock);
        if (o == two_priorities::outcome::not_allowed) GTEST_SKIP() << "this user may not run anything in real time";
        EXPECT_EQ(o, two_priorities::outcome::passed) << (shared ? "shared" : "owned");
    }
}
