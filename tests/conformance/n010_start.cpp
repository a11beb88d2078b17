// SPDX-License-Identifier: Apache-2.0
// Before the start, the start itself, who is where, and after the end.
#include "harness.hpp"

#include <cstring>
#include <set>

using namespace proof;

namespace {

// Every call that needs a started library, outside of it: the same status, nothing written, no crash.
void check_refused()
{
    char word[64] = {};
    sea_addr address = 7;
    sea_op op = 5;
    int done = 3;
    std::uint64_t value = 9;
    CHECK_EQ(0, sea_initialized());
    CHECK_EQ(SEA_ERR_STATE, sea_rank());
    CHECK_STATUS(SEA_ERR_STATE, sea_finalize());
    CHECK_STATUS(SEA_ERR_STATE, sea_heap_alloc(0, 64, &address));
    CHECK_STATUS(SEA_ERR_STATE, sea_heap_usage(0, nullptr, nullptr));
    CHECK_STATUS(SEA_ERR_STATE, sea_heap_next(SEA_NULL, &address));
    CHECK_STATUS(SEA_ERR_STATE, sea_register(word, 64, 0, &address));
    CHECK_STATUS(SEA_ERR_STATE, sea_put(64, word, 8, nullptr));
    CHECK_STATUS(SEA_ERR_STATE, sea_get(word, 64, 8, nullptr));
    CHECK_STATUS(SEA_ERR_STATE, sea_put(64, word, 16, nullptr));
    CHECK_STATUS(SEA_ERR_STATE, sea_copy(64, 64, 8, nullptr));
    CHECK_STATUS(SEA_ERR_STATE, sea_fetch_add8(64, 1, &value, nullptr));
    CHECK_STATUS(SEA_ERR_STATE, sea_am_send(0, 0, nullptr, 0, nullptr, 0, nullptr));
    CHECK_STATUS(SEA_ERR_STATE, sea_test(op, &done));
    CHECK_STATUS(SEA_ERR_STATE, sea_fence(0));
    CHECK_STATUS(SEA_ERR_STATE, sea_fence_all());
    CHECK_STATUS(SEA_ERR_STATE, sea_barrier(SEA_TEAM_WORLD));
    CHECK(std::strlen(sea_last_error()) > 0);
    CHECK_EQ(7, address);
    CHECK_EQ(9, value);
    CHECK_EQ(3, done);
    CHECK(sea_local(64) == nullptr);
}

} // namespace

STEP_BEFORE_INIT(1, calls_before_init_are_refused) { check_refused(); }

STEP_BEFORE_INIT(2, every_status_has_a_name_and_a_meaning)
{
#define SEEN(name, value, text)                             \
    CHECK(std::strcmp(sea_status_name(value), #name) == 0); \
    CHECK(std::strcmp(sea_strerror(value), text) == 0);
    SEA_STATUS_MAP(SEEN)
#undef SEEN
    for (int unknown : {1, 77, -7, -19, -99, -100000, 1 << 30}) {
        CHECK(sea_strerror(unknown) != nullptr);
        CHECK(std::strcmp(sea_status_name(unknown), "SEA_ERR_UNKNOWN") == 0);
    }
}

STEP_BEFORE_INIT(3, time_does_not_go_back)
{
    double before = sea_time();
    for (int i = 0; i < 1000; ++i) {
        double next = sea_time();
        CHECK(next >= before);
        before = next;
    }
    pause_for(0.02);
    CHECK(sea_time() - before >= 0.019 && sea_time() - before < 10);
}

STEP_BEFORE_INIT(4, a_wrong_configuration_is_refused_and_may_be_mended)
{
    sea_config config{};
    for (std::size_t size : {std::size_t(0), std::size_t(4), sizeof config - 1}) {
        config.size = size;
        CHECK_STATUS(SEA_ERR_INVALID, sea_init(&config));
        CHECK_EQ(0, sea_initialized());
    }
}

LIGHT_STEP(10, all_ranks_have_started)
{
    CHECK_EQ(1, sea_initialized());
    CHECK(t.rank >= 0 && t.rank < t.size);
    std::set<std::uint64_t> ranks;
    for (std::uint64_t r : t.exchange(std::uint64_t(t.rank))) ranks.insert(r);
    CHECK_EQ(t.size, ranks.size());
    for (std::uint64_t s : t.exchange(std::uint64_t(t.size))) CHECK_EQ(t.size, s);
}

LIGHT_STEP(11, nodes_are_the_same_for_everybody)
{
    std::vector<std::uint64_t> nodes = t.exchange(std::uint64_t(t.node));
    std::set<std::uint64_t> different(nodes.begin(), nodes.end());
    CHECK_EQ(t.nodes, different.size());
    for (int r = 0; r < t.size; ++r) {
        CHECK_EQ(nodes[std::size_t(r)], sea_node_of(r));
        CHECK_EQ(1, sea_alive(r));
    }
    for (int wrong : {-1, t.size, 1 << 24, -(1 << 30)}) {
        CHECK_STATUS(SEA_ERR_RANK, sea_node_of(wrong));
        CHECK_STATUS(SEA_ERR_RANK, sea_alive(wrong));
        CHECK(sea_transport(wrong) == nullptr);
    }
}

LIGHT_STEP(12, transports_follow_the_nodes)
{
    for (int r = 0; r < t.size; ++r) {
        std::string_view name = sea_transport(r) ? sea_transport(r) : "none";
        if (r == t.rank)
            CHECK(name == "self");
        else if (!t.same_node(r))
            CHECK(name == "net");
        else
            CHECK(name == "shm" || name == "net");
    }
}

LIGHT_STEP(13, a_second_init_is_refused)
{
    CHECK_STATUS(SEA_ERR_STATE, sea_init(nullptr));
    CHECK_EQ(t.rank, sea_rank());
    CHECK_OK(sea_poll());
}

LIGHT_STEP(14, world_barrier_and_allreduce_work)
{
    CHECK_OK(sea_barrier(SEA_TEAM_WORLD));
    std::uint64_t mine = std::uint64_t(t.rank) + 1, sum = 0;
    CHECK_OK(sea_allreduce(SEA_TEAM_WORLD, &mine, &sum, 1, SEA_UINT64, SEA_SUM));
    CHECK_EQ(std::uint64_t(t.size) * std::uint64_t(t.size + 1) / 2, sum);
}

STEP_AFTER_FINALIZE(9001, calls_after_finalize_are_refused)
{
    check_refused();
    CHECK(sea_init(nullptr) != SEA_OK);
    CHECK_EQ(0, sea_initialized());
}
