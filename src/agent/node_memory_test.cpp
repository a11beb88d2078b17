// SPDX-License-Identifier: Apache-2.0
// The tables of a node as its agent fills them in.
#include "agent/node_memory.hpp"

#include "agent/hosts.hpp"
#include "base/birth.hpp"

#include <gtest/gtest.h>

namespace onesea::agent {
namespace {

struct node_memory_test : testing::Test {
    node_job job;
    job_table table;
    node_memory_test()
    {
        job.nodes = 3;
        job.node = 1;
        job.total_ranks = 5;
        job.ranks = {{2, 0, false}, {3, 0, false}};
        job.heap_bytes = 1 << 20;
        job.key = std::string(64, '1');
        job.job_id = std::string(16, '1');
        job.address = "127.0.0.1";
        table.nodes = {{"10.0.0.1", 1500, 2}, {"127.0.0.1", 65536, 2}, {"fe80::7%far0", 9000, 1}};
        table.ports = {1, 2, 3, 4, 65535};
    }
};

TEST_F(node_memory_test, every_rank_is_where_the_table_says)
{
    node_memory memory(job);
    memory.fill(table);
    shm::arena arena;
    ASSERT_EQ(shm::arena::map(parse_birth(memory.birth_of(0).c_str())->arena_fd, &arena), 0);
    const unsigned nodes[] = {0, 0, 1, 1, 2};
    for (int r = 0; r < 5; ++r) {
        EXPECT_TRUE(arena.ranks().alive(r));
        EXPECT_EQ(arena.ranks().node(r), nodes[r]);
        EXPECT_EQ(arena.ranks().port(r), table.ports[std::size_t(r)]);
    }
    EXPECT_EQ(arena.nodes()[0].address[12], 10);
    EXPECT_EQ(arena.nodes()[2].address[15], 7); // the zone names an interface of that node
    EXPECT_EQ(arena.nodes()[2].mtu, 9000u);
}

TEST_F(node_memory_test, an_end_is_logged_once_however_often_it_is_told)
{
    node_memory memory(job);
    memory.fill(table);
    shm::arena arena;
    ASSERT_EQ(shm::arena::map(parse_birth(memory.birth_of(0).c_str())->arena_fd, &arena), 0);
    memory.set_state(3, shm::rank_state::dead, 137);
    memory.set_state(3, shm::rank_state::dead, 137);
    memory.set_state(5, shm::rank_state::dead, 137); // no such rank
    memory.tell_ranks();
    EXPECT_EQ(arena.ranks().ended(), 1u);
    EXPECT_EQ(arena.ranks().status(3), 137);
    EXPECT_EQ(arena.header().membership, 1u);
    memory.tell_ranks();
    EXPECT_EQ(arena.header().membership, 1u);
}

TEST_F(node_memory_test, a_table_of_another_job_is_refused)
{
    node_memory memory(job);
    job_table other = table;
    other.nodes[0].ranks = 1;
    other.nodes[1].ranks = 3;
    EXPECT_THROW(memory.fill(other), request_error);
    other = table;
    other.nodes.pop_back();
    EXPECT_THROW(memory.fill(other), request_error);
    other = table;
    other.nodes[0].address = "nobody";
    EXPECT_THROW(memory.fill(other), request_error);
}

} // namespace
} // namespace onesea::agent
