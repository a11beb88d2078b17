// SPDX-License-Identifier: Apache-2.0
// Parts that find no memory for a thread.
#include "gate.hpp"
#include "inbox.hpp"
#include "workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

using namespace lapi;

namespace {

thread_local bool next_fails = false;

} // namespace

void *operator new(std::size_t bytes)
{
    void *memory = std::exchange(next_fails, false) ? nullptr : std::malloc(bytes ? bytes : 1);
    if (!memory) throw std::bad_alloc();
    return memory;
}
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept // as the library's, but for sanitizers'
try {
    return operator new(bytes);
} catch (const std::bad_alloc &) {
    return nullptr;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

TEST(Workers, give_back_what_no_thread_can_be_started_for)
{
    workers few;
    std::atomic<int> done = 0;
    next_fails = true;
    EXPECT_THROW(few.push([&] { done += 1; }), std::bad_alloc);
    EXPECT_TRUE(few.push([&] { done += 10; }));
    few.stop();
    EXPECT_EQ(done, 10);
}

TEST(Inbox, keeps_what_no_thread_can_be_started_for_until_one_can)
{
    gate g;
    inbox box;
    std::atomic<int> done = 0;
    const auto count = [&](bool in_turn) { done += in_turn; };
    g.lock();
    std::thread([&] {
        next_fails = true;
        EXPECT_NO_THROW(box.push(g, count));
        EXPECT_FALSE(next_fails);
        box.push(g, count);
    }).join();
    g.unlock();
    for (int i = 0; i < 10000 && done < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(done, 2);
    box.stop(g);
}
