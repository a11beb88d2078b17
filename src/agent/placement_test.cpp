// SPDX-License-Identifier: Apache-2.0
#include "agent/placement.hpp"

#include "agent/hosts.hpp"

#include <gtest/gtest.h>

namespace onesea::agent {
namespace {

bool local(const std::string &name) { return name == "localhost"; }

job_request request_for(unsigned ranks, unsigned nodes = 0, unsigned per_node = 0, const char *hosts = nullptr)
{
    job_request r;
    r.programs.push_back({{"prog"}, ranks, {}, ""});
    r.nodes = nodes;
    r.per_node = per_node;
    if (hosts) r.hosts = parse_host_list(hosts);
    return r;
}

std::string map_of(const job_request &r)
{
    std::string text;
    for (const placed_node &n : place(r, local).nodes) text += n.host + "=" + ranges(n.ranks) + " ";
    return text;
}

TEST(placement, one_machine)
{
    EXPECT_EQ(map_of(request_for(0)), "localhost=0 ");
    EXPECT_EQ(map_of(request_for(4)), "localhost=0-3 ");
    EXPECT_EQ(map_of(request_for(5, 2)), "localhost=0-2 localhost=3-4 ");
    EXPECT_EQ(map_of(request_for(0, 2, 3)), "localhost=0-2 localhost=3-5 ");
    EXPECT_EQ(map_of(request_for(5, 0, 2)), "localhost=0-1 localhost=2-3 localhost=4 ");
}

// What the table of a job and SEA_TEAM_WORLD rely on.
TEST(placement, a_million_ranks_are_numbered_node_by_node)
{
    job_request r = request_for(1'000'000);
    r.per_node = 64;
    for (int h = 0; h < 15'625; ++h) r.hosts.push_back({"far" + std::to_string(h), 0});
    placement placed = place(r, local);
    ASSERT_EQ(placed.nodes.size(), 15'625u);
    ASSERT_EQ(placed.ranks.size(), 1'000'000u);
    unsigned next = 0;
    for (unsigned n = 0; n < placed.nodes.size(); ++n)
        for (unsigned slot = 0; slot < placed.nodes[n].ranks.size(); ++slot, ++next) {
            ASSERT_EQ(placed.nodes[n].ranks[slot], next);
            ASSERT_EQ(placed.ranks[next].node, n);
            ASSERT_EQ(placed.ranks[next].slot, slot);
        }
    EXPECT_EQ(next, 1'000'000u);
}

TEST(placement, nodes_without_ranks_are_left_out) { EXPECT_EQ(map_of(request_for(1, 4)), "localhost=0 "); }

TEST(placement, hosts_share_equally_without_slots)
{
    EXPECT_EQ(map_of(request_for(0, 0, 0, "a,b")), "a=0 b=1 ");
    EXPECT_EQ(map_of(request_for(5, 0, 0, "a,b")), "a=0-2 b=3-4 ");
    EXPECT_EQ(map_of(request_for(4, 1, 0, "a,b")), "a=0-3 ");
}

TEST(placement, slots_are_filled_in_order)
{
    EXPECT_EQ(map_of(request_for(0, 0, 0, "a:2,b")), "a=0-1 b=2 ");
    EXPECT_EQ(map_of(request_for(3, 0, 0, "a:2,b:4")), "a=0-1 b=2 ");
    EXPECT_THROW(map_of(request_for(7, 0, 0, "a:2,b:4")), request_error);
}

TEST(placement, virtual_nodes_share_the_slots_of_their_host)
{
    EXPECT_EQ(map_of(request_for(0, 3, 0, "a:4,b:2")), "a=0-1 a=2-3 b=4-5 ");
    EXPECT_EQ(map_of(request_for(0, 4, 0, "a:4,b:4,c:4")), "a=0-1 a=2-3 b=4-7 c=8-11 ");
    EXPECT_EQ(map_of(request_for(0, 4, 0, "a:3,b:3")), "a=0-1 a=2 b=3-4 b=5 ");
    EXPECT_EQ(map_of(request_for(0, 4, 0, "a:4,b")), "a=0-1 a=2-3 b=4 ");
    EXPECT_THROW(map_of(request_for(4, 2, 0, "a:3")), request_error);
}

TEST(placement, slots_of_hosts_that_are_left_out_do_not_count)
{
    EXPECT_EQ(map_of(request_for(0, 1, 0, "a:2,b:2")), "a=0-1 ");
    EXPECT_EQ(map_of(request_for(0, 1, 0, "a,b")), "a=0 ");
    EXPECT_THROW(map_of(request_for(3, 1, 0, "a:2,b:2")), request_error);
}

TEST(placement, more_nodes_than_hosts_are_virtual)
{
    EXPECT_EQ(map_of(request_for(4, 4, 0, "a,b")), "a=0 a=1 b=2 b=3 ");
}

TEST(placement, too_many_for_ppn_is_an_error)
{
    EXPECT_THROW(map_of(request_for(5, 2, 2)), request_error);
    EXPECT_THROW(map_of(request_for(shm::max_slots + 1)), request_error);
}

TEST(placement, ranks_of_ppn_are_at_most_what_a_host_has_slots)
{
    EXPECT_EQ(map_of(request_for(0, 0, 2, "a:2,b:3")), "a=0-1 b=2-3 ");
    EXPECT_EQ(map_of(request_for(3, 0, 2, "a:2,b:1")), "a=0-1 b=2 ");
    EXPECT_THROW(map_of(request_for(0, 0, 2, "a:2,b")), request_error);
    EXPECT_THROW(map_of(request_for(0, 4, 2, "a:4,b:3")), request_error);
    try {
        map_of(request_for(4, 1, 0, "a:2,b:2"));
        FAIL() << "the second host is left out";
    } catch (const request_error &e) {
        EXPECT_NE(std::string(e.what()).find("2 slots of --nodes 1"), std::string::npos) << e.what();
    }
}

TEST(placement, programs_follow_each_other)
{
    job_request r = request_for(2, 2);
    r.programs.push_back({{"other"}, 0, {}, ""});
    r.programs.push_back({{"third"}, 3, {}, ""});
    auto placed = place(r, local);
    std::vector<unsigned> programs;
    for (auto &rank : placed.ranks) programs.push_back(rank.program);
    EXPECT_EQ(programs, (std::vector<unsigned>{0, 0, 1, 2, 2, 2}));
    EXPECT_EQ(placed.ranks[3].node, 1u);
    EXPECT_EQ(placed.ranks[3].slot, 0u);
}

TEST(placement, ranks_of_one_machine_are_counted_over_its_nodes)
{
    auto placed = place(request_for(6, 2), local);
    EXPECT_EQ(placed.nodes[1].ranks_on_machine, 6u);
    EXPECT_EQ(placed.nodes[1].first_on_machine, 3u);
}

TEST(placement, hosts_that_are_one_machine_count_as_one)
{
    auto placed = place(request_for(7, 4), local); // 2, 2, 2, 1
    for (std::size_t i = 1; i < 4; ++i) {
        placed.nodes[i].local = false;
        placed.nodes[i].host = i == 1 ? "a" : "b";
    }
    count_machines(placed, {"here", "here", "", ""});
    auto counts = [&](std::size_t i) {
        return std::pair(placed.nodes[i].ranks_on_machine, placed.nodes[i].first_on_machine);
    };
    EXPECT_EQ(counts(0), std::pair(4u, 0u));
    EXPECT_EQ(counts(1), std::pair(4u, 2u));
    EXPECT_EQ(counts(2), std::pair(3u, 0u));
    EXPECT_EQ(counts(3), std::pair(3u, 2u));
}

TEST(placement, map_names_nodes_ranks_and_programs)
{
    EXPECT_EQ(describe(place(request_for(3, 2), local), request_for(3, 2)),
              "3 ranks on 2 nodes\nnode 0  localhost (this machine)  ranks 0-1  prog\nnode 1  localhost (this machine) "
              " rank 2  prog\n");
}

} // namespace
} // namespace onesea::agent
