// SPDX-License-Identifier: Apache-2.0
#include "shm/arena.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace onesea::shm {
namespace {

struct RankTableTest : testing::Test {
    arena a;
    int fd = -1;
    void make(std::uint32_t nodes, std::uint32_t ranks)
    {
        arena_plan plan;
        plan.nodes = nodes;
        plan.rank_capacity = ranks;
        plan.heap_bytes = 64 * 1024;
        ASSERT_EQ(0, arena::create(plan, &a, &fd));
    }
    std::uint64_t touched() const
    {
        struct stat info;
        return fstat(fd, &info) == 0 ? std::uint64_t(info.st_blocks) * 512 : 0;
    }
    ~RankTableTest() override
    {
        if (fd >= 0) ::close(fd);
    }
};

TEST_F(RankTableTest, keeps_node_port_state_and_status_apart)
{
    make(max_nodes, 8);
    rank_table t = a.ranks();
    EXPECT_EQ(rank_state::absent, t.state(5));
    t.place(5, max_nodes - 1, 65535);
    EXPECT_EQ(max_nodes - 1, t.node(5));
    EXPECT_EQ(65535, t.port(5));
    EXPECT_TRUE(t.alive(5));
    EXPECT_TRUE(t.end(5, rank_state::dead, 255));
    EXPECT_EQ(rank_state::dead, t.state(5));
    EXPECT_EQ(255, t.status(5));
    EXPECT_EQ(max_nodes - 1, t.node(5));
    EXPECT_EQ(rank_state::absent, t.state(4));
    EXPECT_EQ(rank_state::absent, t.state(6));
}

TEST_F(RankTableTest, logs_every_end_once_in_order)
{
    make(1, 4);
    rank_table t = a.ranks();
    for (int r = 0; r < 4; ++r) t.place(r, 0, 1);
    EXPECT_TRUE(t.end(2, rank_state::left, 0));
    EXPECT_TRUE(t.end(0, rank_state::dead, 137));
    EXPECT_FALSE(t.end(2, rank_state::dead, 1));
    ASSERT_EQ(2u, t.ended());
    EXPECT_EQ(2, t.ended_rank(0));
    EXPECT_EQ(0, t.ended_rank(1));
    EXPECT_EQ(rank_state::left, t.state(2));
}

// Between the two stores of the agent: it is what a reader sees if the agent loses its core there.
TEST_F(RankTableTest, an_end_that_the_log_does_not_count_yet_is_not_told)
{
    make(1, 4);
    std::atomic<std::uint32_t> &count = a.header().ended;
    rank_table t = a.ranks();
    for (int r = 0; r < 4; ++r) t.place(r, 0, 1);
    EXPECT_TRUE(t.end(3, rank_state::left, 0));
    EXPECT_TRUE(t.end(0, rank_state::dead, 9));
    count = 1;
    EXPECT_FALSE(t.alive(0));
    EXPECT_FALSE(t.end_was_told(0, 1));
    EXPECT_TRUE(t.end_was_told(3, 1));
    EXPECT_FALSE(t.end_was_told(3, 0));
    EXPECT_FALSE(t.end_was_told(1, 1)) << "it lives";
    count = 2;
    EXPECT_FALSE(t.end_was_told(0, 1));
    EXPECT_TRUE(t.end_was_told(0, 2)) << "no rank is named by what was never written";
    EXPECT_TRUE(t.end(1, rank_state::left, 0));
    EXPECT_TRUE(t.end(2, rank_state::left, 0));
    EXPECT_TRUE(t.end_was_told(2, 4)) << "the log is full";
}

TEST_F(RankTableTest, who_finds_a_rank_ended_finds_it_in_the_log)
{
    constexpr int n = 20'000;
    make(1, n);
    rank_table t = a.ranks();
    for (int r = 0; r < n; ++r) t.place(r, 0, 1);
    std::thread agent([&] {
        for (int r = 0; r < n; ++r) t.end(r, rank_state::dead, 9);
    });
    int early = 0;
    for (int r = 0; r < n; ++r) {
        while (t.alive(r)) std::this_thread::yield();
        early += t.end_was_told(r, std::uint32_t(r));
    }
    agent.join();
    EXPECT_EQ(0, early);
}

TEST_F(RankTableTest, nodes_keep_their_address_mtu_and_scope)
{
    make(3, 1);
    const std::uint8_t far[16] = {0x20, 1, 13}, near[16] = {0xfe, 0x80, 7};
    node_table t = a.nodes();
    t.set_scope(4);
    t.set(0, far, 1500);
    t.set(1, near, 9000);
    t.set(2, far, 1500);
    EXPECT_EQ(1500u, t[2].mtu);
    EXPECT_EQ(9000u, t[1].mtu);
    EXPECT_EQ(7, t[1].address[2]);
    EXPECT_EQ(4u, t[1].scope);
    EXPECT_EQ(0u, t[0].scope);
}

TEST_F(RankTableTest, of_too_many_mtus_a_smaller_one_is_taken)
{
    make(400, 1);
    const std::uint8_t address[16] = {};
    for (std::uint32_t n = 0; n < 400; ++n) a.nodes().set(n, address, 1300 + 2 * n);
    for (std::uint32_t n = 0; n < 400; ++n) {
        EXPECT_LE(a.nodes()[n].mtu, 1300 + 2 * n);
        EXPECT_GE(a.nodes()[n].mtu, std::min(1300 + 2 * n, 1300 + 2 * 254u));
    }
}

// What the kernel has really given, with the header and what one rank of the node needs taken off.
TEST_F(RankTableTest, a_million_ranks_on_as_many_nodes_cost_at_most_24_bytes_each)
{
    constexpr std::uint32_t n = 1'000'000;
    make(n, n);
    const std::uint64_t before = touched();
    const std::uint8_t address[16] = {};
    for (std::uint32_t r = 0; r < n; ++r) {
        a.nodes().set(r, address, 1500);
        a.ranks().place(int(r), r, std::uint16_t(r));
    }
    EXPECT_LE(touched() - before, 24u * n);
    for (std::uint32_t r = 0; r < 1000; ++r) a.ranks().end(int(r), rank_state::left, 0);
    EXPECT_LE(touched() - before, 24u * n);
}

} // namespace
} // namespace onesea::shm
