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

TEST_F(node_memory_test, a_question_rings_once)
{
    node_memory memory(job);
    memory.fill(table);
    shm::arena arena;
    ASSERT_EQ(shm::arena::map(parse_birth(memory.birth_of(0).c_str())->arena_fd, &arena), 0);
    EXPECT_EQ(memory.ask_for_waits(), 1u);
    memory.tell_ranks();
    EXPECT_EQ(memory.ask_for_waits(), 2u);
    memory.tell_ranks();
    memory.tell_ranks();
    EXPECT_EQ(arena.header().waits_asked, 2u);
    EXPECT_EQ(arena.header().membership, 2u);
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

TEST_F(node_memory_test, a_rank_that_comes_later_gets_a_slot_and_the_next_number)
{
    job.spare = 2;
    node_memory memory(job);
    memory.fill(table);
    shm::arena arena;
    ASSERT_EQ(shm::arena::map(parse_birth(memory.birth_of(0).c_str())->arena_fd, &arena), 0);
    memory.place({5, 2, 77}); // of another node
    EXPECT_EQ(arena.header().ranks, 6u);
    EXPECT_EQ(arena.slot_at(2).rank, -1);
    const unsigned port = memory.add(6, 3);
    EXPECT_EQ(arena.header().ranks, 6u) << "others see it when it is placed";
    memory.place({6, 1, port});
    EXPECT_EQ(arena.slot_at(2).rank, 6);
    EXPECT_EQ(arena.slot_at(2).spawned_by, 3);
    EXPECT_EQ(arena.ranks().port(6), port);
    EXPECT_EQ(arena.ranks().node(6), 1u);
    EXPECT_TRUE(arena.ranks().alive(6));
    EXPECT_EQ(arena.header().world, 5u);
    const auto b = parse_birth(memory.birth_of(2).c_str());
    ASSERT_TRUE(b);
    EXPECT_EQ(b->rank, 6);
    EXPECT_EQ(b->slot, 2u);
    memory.tell_ranks();
    EXPECT_EQ(arena.header().membership, 1u);
    EXPECT_NE(memory.add(7, 0), 0u);
    EXPECT_THROW(memory.add(8, 0), request_error) << "there is room for two";
}

TEST_F(node_memory_test, ranks_that_make_no_sense_are_refused)
{
    job.spare = 2;
    node_memory memory(job);
    memory.fill(table);
    EXPECT_THROW(memory.place({6, 2, 77}), request_error) << "not the next number";
    EXPECT_THROW(memory.place({4, 2, 77}), request_error) << "it is there already";
    EXPECT_THROW(memory.place({5, 3, 77}), request_error) << "there is no such node";
    EXPECT_THROW(memory.place({5, 1, 77}), request_error) << "nothing was made for it here";
    for (unsigned rank = 5; rank < 5 + 6; ++rank) memory.place({rank, 2, 77});
    EXPECT_THROW(memory.place({11, 2, 77}), request_error) << "more than all nodes have room for";
}

} // namespace
} // namespace onesea::agent
