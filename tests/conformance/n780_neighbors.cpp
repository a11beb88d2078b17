// SPDX-License-Identifier: Apache-2.0
// Neighbourhood channels over random graphs, at members of uneven speed.
#include "places.hpp"
#include "stop_rank.hpp"

#include "onesea/neighbors.h"

#include <csignal>
#include <cstring>
#include <malloc.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace proof;

namespace {

struct edge {
    int from, to;
    std::size_t bytes;
};

// The same at all members for a seed. Some edges occur twice, some lead to their own member.
std::vector<edge> random_edges(int members, std::uint64_t seed)
{
    dice d{seed};
    std::vector<edge> edges;
    const std::size_t sizes[] = {0, 1, 8, 60, 64, 65, 1000, 5000, 40000};
    const auto n = std::uint64_t(members);
    for (std::uint64_t i = d.below(4 * n) + n; i > 0; --i)
        edges.push_back({int(d.below(n)), int(d.below(n)), sizes[d.below(std::size(sizes))]});
    return edges;
}

struct ends {
    std::vector<sea_neighbor> sources, targets;
    std::vector<std::size_t> in, out; // which edge

    ends(const std::vector<edge> &edges, int me)
    {
        for (std::size_t i = 0; i < edges.size(); ++i) {
            if (edges[i].to == me) sources.push_back({edges[i].from, edges[i].bytes}), in.push_back(i);
            if (edges[i].from == me) targets.push_back({edges[i].to, edges[i].bytes}), out.push_back(i);
        }
    }
    int make(sea_team team, sea_neighbors *g) const
    {
        return sea_neighbors_create(team, sources.data(), int(sources.size()), targets.data(), int(targets.size()), g);
    }
};

void steps(const ends &e, sea_neighbors g, std::uint64_t seed, int n, dice own)
{
    auto of = [&](std::size_t edge, int step) { return seed * 1000000 + edge * 1000 + std::uint64_t(step); };
    for (int k = 0; k < n; ++k) {
        for (std::size_t i = 0; i < e.out.size(); ++i)
            fill(sea_neighbors_out(g, int(i)), e.targets[i].bytes, of(e.out[i], k));
        CHECK_OK(sea_neighbors_start(g));
        if (own.below(4) == 0) pause_for(0.0005);
        if (own.below(3) == 0) {
            for (int done = 0; !done;) REQUIRE_OK(sea_neighbors_test(g, &done));
        } else {
            REQUIRE_OK(sea_neighbors_wait(g));
        }
        if (own.below(4) == 0) pause_for(0.0005); // its neighbours start the next step meanwhile
        for (std::size_t i = 0; i < e.in.size(); ++i)
            CHECK_DATA(sea_neighbors_in(g, int(i)), e.sources[i].bytes, of(e.in[i], k));
    }
}

} // namespace

STEP(780, random_graphs_of_neighbours_carry_every_step)
{
    for (int i = 0; i < t.times(8); ++i) {
        const std::uint64_t seed = t.seed * 100 + std::uint64_t(i);
        const ends e(random_edges(t.size, seed), t.rank);
        sea_neighbors g = 0;
        REQUIRE_OK(e.make(SEA_TEAM_WORLD, &g));
        steps(e, g, seed, t.times(20), dice{seed * 77 + std::uint64_t(t.rank)});
        CHECK_OK(sea_neighbors_free(g));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_neighbors_start(g));
    }
}

STEP(781, a_fast_source_of_a_slow_target_is_held_back)
{
    // A chain without edges back: the first would run away.
    std::vector<edge> edges;
    for (int r = 0; r + 1 < t.size; ++r) edges.push_back({r, r + 1, 8});
    const ends e(edges, t.rank);
    sea_neighbors g = 0;
    REQUIRE_OK(e.make(SEA_TEAM_WORLD, &g));
    for (std::uint64_t k = 1; k <= 60; ++k) {
        if (t.rank + 1 < t.size) poke8(sea_neighbors_out(g, 0), k * 1000 + std::uint64_t(t.rank));
        if (t.rank == t.size - 1 && k % 10 == 0) pause_for(0.002);
        REQUIRE_OK(sea_neighbors_start(g));
        REQUIRE_OK(sea_neighbors_wait(g));
        if (t.rank > 0) CHECK_EQ(k * 1000 + std::uint64_t(t.rank) - 1, peek8(sea_neighbors_in(g, 0)));
    }
    CHECK_OK(sea_neighbors_free(g));
}

STEP(782, graphs_of_teams_and_several_at_once)
{
    sea_team half = SEA_TEAM_NULL;
    REQUIRE_OK(sea_team_split(SEA_TEAM_WORLD, t.rank % 2, -t.rank, &half));
    const int me = sea_team_rank(half), n = sea_team_size(half);
    const ends a(random_edges(n, 5), me), b(random_edges(n, 6), me);
    sea_neighbors ga = 0, gb = 0;
    REQUIRE_OK(a.make(half, &ga));
    REQUIRE_OK(b.make(half, &gb));
    for (int i = 0; i < 5; ++i) {
        steps(a, ga, 5, 2, dice{std::uint64_t(t.rank)});
        steps(b, gb, 6, 3, dice{std::uint64_t(t.rank)});
    }
    CHECK_OK(sea_neighbors_free(gb));
    CHECK_OK(sea_neighbors_free(ga));
    CHECK_OK(sea_team_free(half));
}

STEP(783, wrong_graphs_and_calls_are_errors_at_all_members)
{
    sea_neighbors g = 99;
    const sea_neighbor self{t.rank, 8}, nobody{t.size, 8}, longer{t.rank, 16};
    CHECK_STATUS(SEA_ERR_INVALID, sea_neighbors_create(SEA_TEAM_NULL, nullptr, 0, nullptr, 0, &g));
    // One names a member that is not there, or an edge that the other end does not name, or of another size.
    const bool bad = t.rank == t.size - 1;
    CHECK_STATUS(SEA_ERR_INVALID, sea_neighbors_create(SEA_TEAM_WORLD, &nobody, bad ? 1 : 0, nullptr, 0, &g));
    CHECK_STATUS(SEA_ERR_INVALID, sea_neighbors_create(SEA_TEAM_WORLD, &self, bad ? 1 : 0, nullptr, 0, &g));
    CHECK_STATUS(SEA_ERR_INVALID, sea_neighbors_create(SEA_TEAM_WORLD, nullptr, 0, &self, bad ? 1 : 0, &g));
    CHECK_STATUS(SEA_ERR_INVALID, sea_neighbors_create(SEA_TEAM_WORLD, &self, 1, bad ? &longer : &self, 1, &g));
    CHECK_STATUS(SEA_ERR_INVALID, sea_neighbors_create(SEA_TEAM_WORLD, &self, bad ? -1 : 0, nullptr, 0, &g));
    CHECK_STATUS(SEA_ERR_INVALID, sea_neighbors_create(SEA_TEAM_WORLD, nullptr, bad ? 1 : 0, nullptr, 0, &g));
    const sea_neighbor huge{t.rank, std::size_t(1) << 38};
    CHECK_STATUS(SEA_ERR_MEMORY, sea_neighbors_create(SEA_TEAM_WORLD, &huge, bad ? 1 : 0, &huge, bad ? 1 : 0, &g));
    CHECK_EQ(99, g);
    CHECK_STATUS(SEA_ERR_HANDLE, sea_neighbors_wait(g));
    CHECK(sea_neighbors_out(g, 0) == nullptr);
    REQUIRE_OK(sea_neighbors_create(SEA_TEAM_WORLD, &self, 1, &self, 1, &g));
    int done = 7;
    CHECK_STATUS(SEA_ERR_STATE, sea_neighbors_wait(g));
    CHECK_STATUS(SEA_ERR_STATE, sea_neighbors_test(g, &done));
    CHECK(sea_neighbors_in(g, 0) == nullptr);
    CHECK(sea_neighbors_in(g, 1) == nullptr);
    CHECK(sea_neighbors_out(g, -1) == nullptr);
    CHECK(std::strstr(sea_last_error(), "-1") != nullptr);
    REQUIRE_OK(sea_neighbors_start(g));
    CHECK_STATUS(SEA_ERR_STATE, sea_neighbors_start(g));
    CHECK_STATUS(SEA_ERR_STATE, sea_neighbors_free(g));
    CHECK(sea_neighbors_in(g, 0) == nullptr);
    CHECK_OK(sea_neighbors_wait(g));
    CHECK(sea_neighbors_in(g, 0) != nullptr);
    CHECK_OK(sea_neighbors_free(g));
}

// The first edges are not of one size, so no member compares more. What it has read of the other's lists is most of
// what it allocates.
STEP(845, graphs_that_members_disagree_about_leave_nothing_behind)
{
    const int edges = 1000, rounds = 30;
    const std::size_t list_bytes = std::size_t(edges) * 24; // about
    const std::vector<sea_neighbor> in(edges, {(t.rank + t.size - 1) % t.size, 0});
    std::vector<sea_neighbor> out(edges, {(t.rank + 1) % t.size, 0});
    out[0].bytes = 8;
    auto fail_often = [&] {
        sea_neighbors g = 0;
        for (int i = 0; i < rounds; ++i)
            CHECK_STATUS(SEA_ERR_INVALID,
                         sea_neighbors_create(SEA_TEAM_WORLD, in.data(), edges, out.data(), edges, &g));
        t.sync();
        return mallinfo2().uordblks; // 0: another allocator than that of the C library
    };
    const std::size_t before = fail_often(), after = fail_often();
    CHECK(after < before + rounds * list_bytes / 2);
}

namespace {

// Edges from one rank to all others.
ends star(const run &t, int from)
{
    std::vector<edge> edges;
    for (int r = 0; r < t.size; ++r)
        if (r != from) edges.push_back({from, r, 64});
    return {edges, t.rank};
}

bool told(const std::string &text) { return std::string(sea_last_error()).find(text) != std::string::npos; }

void one_step(sea_neighbors g)
{
    CHECK_OK(sea_neighbors_start(g));
    CHECK_OK(sea_neighbors_wait(g));
}

// Rank 0 is ahead of all others, in its steps and at the end.
void what_a_star_waits_for_is_told(run &t)
{
    const ends e = star(t, 0);
    sea_neighbors g = 0;
    REQUIRE_OK(e.make(SEA_TEAM_WORLD, &g));
    const bool two = t.size == 2;
    const std::string others = std::to_string(t.size - 1);
    if (t.rank == 0) {
        one_step(g);
        one_step(g);
        CHECK_OK(sea_set_timeout(0.02));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_neighbors_start(g));
        CHECK(told("sea_neighbors_start: the start of step 2 has not come from " +
                   (two ? "rank 1:" : others + " of " + others + " targets:")));
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
    }
    t.sync();
    for (int k = t.rank == 0 ? 2 : 0; k < 3; ++k) one_step(g);
    t.sync();
    if (t.rank == 0) {
        CHECK_OK(sea_set_timeout(0.02));
        do {
            CHECK_STATUS(SEA_ERR_TIMEOUT, sea_neighbors_free(g));
        } while (told("puts to "));
        CHECK(told("sea_neighbors_free: rank 1 " +
                   (two ? "has" : "and " + std::to_string(t.size - 2) + " more neighbours have") +
                   " not freed the graph:"));
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
    }
    t.sync();
    CHECK_OK(sea_neighbors_free(g));
}

} // namespace

STEP(784, a_wait_for_neighbours_ends_with_its_time_and_can_be_resumed)
{
    const int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
    const sea_neighbor source{left, 8}, target{right, 8};
    sea_neighbors g = 0;
    REQUIRE_OK(sea_neighbors_create(SEA_TEAM_WORLD, &source, 1, &target, 1, &g));
    if (t.size > 1 && t.rank == 1) {
        REQUIRE_OK(sea_neighbors_start(g));
        CHECK_OK(sea_set_timeout(0.02));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_neighbors_wait(g)); // the left one has not started
        CHECK(told("sea_neighbors_wait: the data of step 1 has not come from rank 0"));
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
    }
    t.sync();
    if (t.size == 1 || t.rank != 1) REQUIRE_OK(sea_neighbors_start(g));
    CHECK_OK(sea_neighbors_wait(g));
    CHECK_OK(sea_neighbors_free(g));
    if (t.size > 1) what_a_star_waits_for_is_told(t);
}

// A chain: only the victim's neighbour would notice by itself.
LONE_STEP(8320, the_death_of_a_member_ends_the_steps_of_all)
{
    REQUIRE(t.size >= 3);
    const int victim = t.size - 1;
    std::vector<edge> edges;
    for (int r = 0; r < t.size; ++r)
        for (int to : {r - 1, r + 1})
            if (to >= 0 && to < t.size) edges.push_back({r, to, 1000});
    const ends e(edges, t.rank);
    sea_neighbors g = 0;
    REQUIRE_OK(e.make(SEA_TEAM_WORLD, &g));
    steps(e, g, 1, 5, dice{1});
    t.sync();
    if (t.rank == victim) {
        leave(*t.shared);
        kill(getpid(), SIGKILL);
    }
    const fair_clock clock;
    const double began = clock.now();
    int status = SEA_OK;
    for (int i = 0; status == SEA_OK && i < 1000; ++i) {
        status = sea_neighbors_start(g);
        if (status == SEA_OK) status = sea_neighbors_wait(g);
    }
    CHECK_STATUS(SEA_ERR_DEAD, status);
    CHECK_STATUS(SEA_ERR_DEAD, sea_neighbors_start(g));
    CHECK(std::strstr(sea_last_error(), std::to_string(victim).c_str()) != nullptr);
    CHECK_STATUS(SEA_ERR_DEAD, sea_neighbors_free(g));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_neighbors_free(g));
    CHECK(clock.now() - began < 5);
    t.sync();
}

namespace {

int step_until_it_fails(sea_neighbors g)
{
    int status = SEA_OK;
    for (int i = 0; status == SEA_OK && i < 1000; ++i) {
        status = sea_neighbors_start(g);
        if (status == SEA_OK) status = sea_neighbors_wait(g);
    }
    return status;
}

bool told_of(int rank)
{
    return std::string(sea_last_error()).find("rank " + std::to_string(rank) + " ") != std::string::npos ||
           std::string(sea_last_error()).find("rank " + std::to_string(rank) + ",") != std::string::npos;
}

// Others than this rank have had what was sent to it acknowledged.
void stop(const run &t, int rank)
{
    pause_for(0.3);
    stop_rank(t, rank);
}

} // namespace

// Run with give_up=6. The link from rank 1 to the stopped last rank is given up; the others wait for rank 1 only.
LONE_STEP(8321, a_link_given_up_ends_the_steps_of_those_behind_it)
{
    REQUIRE(t.size >= 3 && t.nodes == t.size);
    const int stopped = t.size - 1;
    const ends e = star(t, 1);
    sea_neighbors g = 0;
    REQUIRE_OK(e.make(SEA_TEAM_WORLD, &g));
    steps(e, g, 1, 5, dice{1});
    CHECK_OK(sea_fence_all());
    t.sync();
    auto &ended = t.shared->flags[0];
    auto &is_stopped = t.shared->flags[1];
    if (t.rank == 0) {
        stop(t, stopped);
        is_stopped = 1;
    }
    if (t.rank == stopped) {
        while (ended < std::uint64_t(t.size) - 1) pause_for(0.001);
    } else {
        while (is_stopped == 0) pause_for(0.001);
        CHECK_STATUS(SEA_ERR_LINK, step_until_it_fails(g));
        CHECK(told_of(stopped));
        CHECK_STATUS(SEA_ERR_LINK, sea_neighbors_free(g));
        ++ended;
    }
    if (t.rank == 0) {
        while (ended < std::uint64_t(t.size) - 1) pause_for(0.001);
        let_go_on(t, stopped);
    }
    if (t.rank == stopped) {
        CHECK_STATUS(SEA_ERR_LINK, step_until_it_fails(g));
        CHECK(told_of(1));
        CHECK_STATUS(SEA_ERR_LINK, sea_neighbors_free(g));
    }
    t.sync();
}

// Rank 0 cannot end what it sends to a stopped rank when the graph fails by the death of another.
LONE_STEP(8322, a_graph_that_has_failed_and_cannot_be_freed_in_time_is_freed_later)
{
    REQUIRE(t.size >= 4 && t.nodes == t.size);
    const int stopped = t.size - 2, victim = t.size - 1;
    const ends e = star(t, 0);
    sea_neighbors g = 0;
    REQUIRE_OK(e.make(SEA_TEAM_WORLD, &g));
    steps(e, g, 1, 5, dice{1});
    t.sync();
    auto &started = t.shared->flags[0];
    if (t.rank == victim) {
        leave(*t.shared);
        while (started == 0) pause_for(0.001);
        kill(getpid(), SIGKILL);
    }
    if (t.rank == stopped)
        while (started == 0) pause_for(0.001);
    if (t.rank == 0) {
        stop(t, stopped);
        REQUIRE_OK(sea_neighbors_start(g));
        REQUIRE_OK(sea_neighbors_wait(g));
        started = 1;
        CHECK_STATUS(SEA_ERR_DEAD, step_until_it_fails(g));
        CHECK_OK(sea_set_timeout(0.1));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_neighbors_free(g));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_neighbors_free(g));
        CHECK(told(" puts to 3 neighbours have not ended:") || t.size != 4);
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
        let_go_on(t, stopped);
    } else {
        CHECK_STATUS(SEA_ERR_DEAD, step_until_it_fails(g));
    }
    const fair_clock clock;
    const double began = clock.now();
    CHECK_STATUS(SEA_ERR_DEAD, sea_neighbors_free(g));
    CHECK(clock.now() - began < 5); // all are told, nobody loses patience
    t.sync();
}

LONE_STEP(8324, who_waits_for_what_a_stopped_rank_does_not_take_is_told_so)
{
    REQUIRE(t.size >= 2 && t.nodes == t.size);
    const ends e({{0, 1, std::size_t(64) << 20}}, t.rank);
    sea_neighbors g = 0;
    REQUIRE_OK(e.make(SEA_TEAM_WORLD, &g));
    t.sync();
    auto &done = t.shared->flags[0];
    if (t.rank == 0) {
        stop(t, 1);
        CHECK_OK(sea_neighbors_start(g));
        CHECK_OK(sea_set_timeout(0.1));
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_neighbors_wait(g));
        CHECK(told("sea_neighbors_wait: 1 of 1 puts to rank 1 still need their buffers:"));
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
        let_go_on(t, 1);
        done = 1;
        CHECK_OK(sea_neighbors_wait(g));
    } else {
        while (done == 0) pause_for(0.001);
        one_step(g);
    }
    CHECK_OK(sea_neighbors_free(g));
    t.sync();
}

// Rank 0 finds out while it waits in the call that frees a graph, and stopped for so long that rank 1 makes the next
// one in the same memory.
LONE_STEP(8323, a_graph_does_not_fail_with_the_one_whose_memory_it_has)
{
    REQUIRE(t.size == 3);
    constexpr int victim = 2;
    const ends all({{0, 1, 64}, {1, 0, 64}, {0, 2, 64}, {2, 0, 64}, {1, 2, 64}, {2, 1, 64}}, t.rank);
    sea_neighbors g = 0;
    REQUIRE_OK(all.make(SEA_TEAM_WORLD, &g));
    steps(all, g, 1, 5, dice{1});
    t.sync();
    auto &freeing = t.shared->flags[0];
    if (t.rank == victim) {
        leave(*t.shared);
        while (freeing < 2) pause_for(0.001);
        stop(t, 0);
        kill(getpid(), SIGKILL);
    }
    const void *before = sea_neighbors_out(g, 0);
    ++freeing;
    CHECK_STATUS(SEA_ERR_DEAD, sea_neighbors_free(g));
    std::thread waker([&t] {
        if (t.rank == 0) return;
        pause_for(0.5);
        let_go_on(t, 0);
    });
    const int living[] = {0, 1};
    const ends two({{0, 1, 64}, {1, 0, 64}, {0, 1, 64}, {1, 0, 64}}, t.rank);
    sea_team team = SEA_TEAM_NULL;
    REQUIRE_OK(sea_team_create(living, 2, 0, &team));
    CHECK_OK(two.make(team, &g));
    waker.join();
    CHECK(sea_neighbors_out(g, 0) == before); // or this proves nothing
    steps(two, g, 2, 5, dice{2});
    CHECK_OK(sea_neighbors_free(g));
    CHECK_OK(sea_team_free(team));
    t.sync();
}

STEP(846, who_waits_for_a_member_that_has_left_the_graph_is_told_so)
{
    if (t.size < 2) return;
    const ends e = star(t, 0);
    sea_neighbors g = 0;
    REQUIRE_OK(e.make(SEA_TEAM_WORLD, &g));
    steps(e, g, 1, 3, dice{1});
    t.sync();
    // Rank 0 frees the graph, the others take a step more.
    if (t.rank != 0) {
        CHECK_STATUS(SEA_ERR_STATE, step_until_it_fails(g));
        CHECK(told_of(0));
        CHECK_STATUS(SEA_ERR_STATE, sea_neighbors_wait(g));
    }
    CHECK_STATUS(SEA_ERR_STATE, sea_neighbors_free(g));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_neighbors_free(g));
}
