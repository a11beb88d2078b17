// SPDX-License-Identifier: Apache-2.0
#include "base/light_mutex.hpp"

#include "two_priorities.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

namespace onesea {
namespace {

using proof::two_priorities;

enum class release_by { exchange, store };

class light_mutex_test : public testing::TestWithParam<release_by> {
  protected:
    light_mutex_test()
    {
        if (GetParam() == release_by::store) lock_.prepare();
    }
    light_mutex lock_;
};

TEST_P(light_mutex_test, one_thread_at_a_time_is_inside_and_none_sleeps_for_ever)
{
    constexpr int threads = 4, rounds = 50'000;
    long total = 0; // not atomic: the lock must keep it whole
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                std::lock_guard inside(lock_);
                ++total;
            }
        });
    for (auto &t : all) t.join();
    EXPECT_EQ(total, long(threads) * rounds);
}

TEST_P(light_mutex_test, who_sleeps_is_woken_when_a_long_holder_leaves)
{
    for (int round = 0; round < 20; ++round) {
        lock_.lock();
        std::vector<std::thread> waiters;
        for (int i = 0; i < 3; ++i) waiters.emplace_back([&] { std::lock_guard inside(lock_); });
        std::this_thread::sleep_for(std::chrono::milliseconds(2)); // long after their spinning
        lock_.unlock();
        for (auto &t : waiters) t.join();
    }
}

// A thread that copies a lot under it, piece by piece, is back before a sleeper has woken up.
TEST_P(light_mutex_test, who_is_always_late_gets_it_after_some_rounds)
{
    constexpr int most = 200; // rounds of about a millisecond, 20 times
    for (int time = 0; time < 20; ++time) {
        std::atomic<bool> waits{false}, inside{false};
        std::thread late([&] {
            waits = true;
            std::lock_guard held(lock_);
            inside = true;
        });
        int rounds = 0;
        for (bool counts = false; rounds < most && !inside; rounds += counts) {
            std::lock_guard held(lock_);
            const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
            while (std::chrono::steady_clock::now() < until)
                ;
            counts |= waits;
        }
        EXPECT_LT(rounds, most);
        late.join();
    }
}

TEST_P(light_mutex_test, who_is_less_urgent_gets_it_on_the_same_processor)
{
    const auto o = two_priorities().let_in(lock_);
    if (o == two_priorities::outcome::not_allowed) GTEST_SKIP() << "this user may not run anything in real time";
    EXPECT_EQ(o, two_priorities::outcome::passed);
}

TEST_P(light_mutex_test, what_is_held_cannot_be_taken_by_trying)
{
    ASSERT_TRUE(lock_.try_lock());
    EXPECT_FALSE(lock_.try_lock());
    lock_.unlock();
    ASSERT_TRUE(lock_.try_lock());
    lock_.unlock();
}

TEST_P(light_mutex_test, threads_wait_under_it_for_each_others_changes)
{
    std::condition_variable_any changed;
    int turn = 0;
    auto play = [&](int mine) {
        for (int i = 0; i < 2000; ++i) {
            std::unique_lock inside(lock_);
            changed.wait(inside, [&] { return turn == mine; });
            turn = 1 - mine;
            changed.notify_all();
        }
    };
    std::thread other(play, 1);
    play(0);
    other.join();
    EXPECT_EQ(turn, 0);
}

INSTANTIATE_TEST_SUITE_P(ways, light_mutex_test, testing::Values(release_by::exchange, release_by::store),
                         [](const auto &way) { return way.param == release_by::store ? "store" : "exchange"; });

} // namespace
} // namespace onesea
