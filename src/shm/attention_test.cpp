// SPDX-License-Identifier: Apache-2.0
// Whose ring a rank looks at in every round, and that what the others put in theirs is found all the same.
#include "shm/shm_transport.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace onesea;
using namespace onesea::shm;

namespace {

constexpr unsigned ranks = 13; // more than a rank attends to
constexpr unsigned many_rounds = 3000;

struct counting_sink final : sink {
    std::array<unsigned, ranks> from{};
    std::function<void(int)> also;
    void receive(int source, const frame &, std::span<const std::byte>) override
    {
        ++from[std::size_t(source)];
        if (also) also(source);
    }
};

// Many ranks of one node in one process.
class AttentionTest : public ::testing::Test {
  protected:
    void SetUp() override
    {
        arena_plan plan;
        plan.slots = ranks;
        plan.rank_capacity = ranks;
        plan.heap_bytes = 1 << 20;
        int fd = -1;
        ASSERT_EQ(arena::create(plan, &arena_, &fd), 0);
        ::close(fd);
        for (unsigned s = 0; s < ranks; ++s) {
            arena_.occupy(s, int(s), -1);
            arena_.slot_at(s).doorbell = eventfd(0, EFD_NONBLOCK);
            arena_.slot_at(s).pid = getpid();
        }
        for (unsigned s = 0; s < ranks; ++s) all_[s] = std::make_unique<shm_transport>(arena_, s, false, heard_[s]);
    }
    void TearDown() override
    {
        for (unsigned s = 0; s < ranks; ++s) ::close(arena_.slot_at(s).doorbell);
    }
    void send(unsigned from, unsigned to)
    {
        outgoing m;
        m.head.type = frame_type::put;
        m.payload = "12345678";
        m.bytes = 8;
        all_[from]->send(int(to), m);
    }
    void poll(unsigned who, unsigned rounds)
    {
        for (unsigned i = 0; i < rounds; ++i) all_[who]->poll(0);
    }
    bool is_pending(unsigned from, unsigned to) { return arena_.slot_at(to).pending[0].load() >> from & 1; }
    bool is_attended(unsigned from, unsigned by) { return arena_.slot_at(by).attended[0].load() >> from & 1; }
    unsigned attended_by(unsigned who) { return unsigned(std::popcount(arena_.slot_at(who).attended[0].load())); }

    arena arena_;
    std::array<counting_sink, ranks> heard_;
    std::array<std::unique_ptr<shm_transport>, ranks> all_;
};

TEST_F(AttentionTest, who_was_heard_sets_no_bit_the_next_time_and_is_heard_again)
{
    send(1, 0);
    EXPECT_TRUE(is_pending(1, 0));
    poll(0, 1);
    EXPECT_EQ(heard_[0].from[1], 1u);
    EXPECT_TRUE(is_attended(1, 0));
    send(1, 0);
    EXPECT_FALSE(is_pending(1, 0));
    EXPECT_FALSE(all_[0]->arm(false)); // not to sleep over it
    all_[0]->disarm();
    poll(0, 1);
    EXPECT_EQ(heard_[0].from[1], 2u);
    EXPECT_TRUE(all_[0]->arm(false));
    all_[0]->disarm();
}

TEST_F(AttentionTest, before_sleep_it_is_looked_for_more_of_who_spoke_a_moment_ago)
{
    EXPECT_FALSE(all_[0]->comes_at_once());
    send(1, 0);
    poll(0, 1);
    send(1, 0);
    poll(0, 1);
    EXPECT_FALSE(all_[0]->comes_at_once());
    send(1, 0);
    EXPECT_TRUE(all_[0]->comes_at_once());
    poll(0, 10);
    send(1, 0);
    EXPECT_FALSE(all_[0]->comes_at_once()); // long ago: arm() finds it
    EXPECT_FALSE(all_[0]->arm(false));
    all_[0]->disarm();
}

TEST_F(AttentionTest, is_given_to_few_and_taken_only_from_those_who_were_silent_for_long)
{
    for (unsigned s = 1; s < ranks; ++s) {
        send(s, 0);
        poll(0, 1);
    }
    EXPECT_EQ(attended_by(0), 8u);
    EXPECT_TRUE(is_attended(8, 0));
    EXPECT_FALSE(is_attended(9, 0));
    for (unsigned i = 0; i < many_rounds; ++i) {
        if (i % 100 == 0)
            for (unsigned s = 2; s <= 8; ++s) send(s, 0);
        poll(0, 1);
    }
    send(9, 0);
    poll(0, 1);
    EXPECT_TRUE(is_attended(9, 0));
    EXPECT_FALSE(is_attended(1, 0)); // the one that was silent
    EXPECT_EQ(attended_by(0), 8u);
    send(1, 0);
    EXPECT_TRUE(is_pending(1, 0));
    send(10, 0);
    poll(0, 1);
    EXPECT_FALSE(is_attended(10, 0));
    EXPECT_EQ(heard_[0].from[1], 2u);
    EXPECT_EQ(heard_[0].from[9], 2u);
    EXPECT_EQ(heard_[0].from[10], 2u);
}

TEST_F(AttentionTest, what_comes_from_who_is_losing_it_is_heard)
{
    for (unsigned s = 1; s <= 8; ++s) {
        send(s, 0);
        poll(0, 1);
    }
    poll(0, many_rounds);
    heard_[0].also = [this](int source) {
        for (unsigned s = 1; s <= 8 && source == 9; ++s) send(s, 0); // behind the look at their rings; they set no bit
    };
    send(9, 0);
    poll(0, 1);
    EXPECT_TRUE(is_attended(9, 0));
    EXPECT_EQ(attended_by(0), 8u);
    EXPECT_FALSE(all_[0]->arm(false));
    all_[0]->disarm();
    poll(0, 1);
    for (unsigned s = 1; s <= 8; ++s) EXPECT_EQ(heard_[0].from[s], 2u) << s;
}

// Ranks that send now and then, in threads, so that places change hands all the time, to one that sleeps in between.
TEST_F(AttentionTest, nothing_is_slept_over_while_places_change_hands)
{
    constexpr unsigned messages = 6000, all = messages * (ranks - 1);
    std::vector<std::thread> senders;
    for (unsigned s = 1; s < ranks; ++s)
        senders.emplace_back([this, s] {
            for (unsigned i = 0; i < messages; ++i) {
                send(s, 0);
                if (i % 16 == s) std::this_thread::sleep_for(std::chrono::microseconds(50 + i % 100));
                while (!all_[s]->idle()) {
                    all_[s]->poll(0);
                    std::this_thread::yield();
                }
            }
        });
    unsigned slept = 0, in_vain = 0;
    const auto left = [this] { return all - std::accumulate(heard_[0].from.begin(), heard_[0].from.end(), 0u); };
    while (left() > 0) {
        poll(0, slept % 20 ? 1 : 1200); // now and then so often that places become free
        if (left() > 0 && all_[0]->arm(false)) {
            pollfd bell{arena_.slot_at(0).doorbell, POLLIN, 0};
            if (::poll(&bell, 1, 10'000) == 0) {
                ++in_vain;
                arena_.slot_at(0).pending[0].fetch_or((1u << ranks) - 2); // the test is to end
            }
            all_[0]->was_woken();
            ++slept;
        }
        all_[0]->disarm();
    }
    for (std::thread &one : senders) one.join();
    EXPECT_EQ(in_vain, 0u);
    EXPECT_GT(slept, 0u);
    for (unsigned s = 1; s < ranks; ++s) EXPECT_EQ(heard_[0].from[s], messages) << s;
}

} // namespace
