// SPDX-License-Identifier: Apache-2.0
// The global heap: any rank allocates and frees on any rank.
#include "places.hpp"

#include <algorithm>
#include <cstring>

using namespace proof;

namespace {

std::size_t used_on(int rank)
{
    std::size_t capacity = 0, used = 0;
    REQUIRE_OK(sea_heap_usage(rank, &capacity, &used));
    CHECK(used <= capacity && capacity > 0);
    return used;
}

std::size_t capacity_of(int rank)
{
    std::size_t capacity = 0;
    REQUIRE_OK(sea_heap_usage(rank, &capacity, nullptr));
    return capacity;
}

bool contains(const char *text, const std::string &part) { return std::strstr(text, part.c_str()) != nullptr; }

} // namespace

LIGHT_STEP(100, heap_gives_memory_of_this_rank)
{
    std::size_t before = used_on(t.rank);
    t.sync();
    for (std::size_t bytes : {1, 8, 63, 64, 65, 1000, 4096, 100000}) {
        sea_addr a = SEA_NULL;
        REQUIRE_OK(sea_heap_alloc(t.rank, bytes, &a));
        CHECK_EQ(t.rank, sea_addr_rank(a));
        CHECK_EQ(0, sea_addr_offset(a) % 64);
        CHECK(a != SEA_NULL);
        void *memory = sea_local(a);
        REQUIRE(memory != nullptr);
        CHECK_EQ(0, reinterpret_cast<std::uintptr_t>(memory) % 64);
        fill(memory, bytes, bytes);
        CHECK_DATA(memory, bytes, bytes);
        CHECK_EQ(before + (bytes + 63) / 64 * 64, used_on(t.rank));
        CHECK_OK(sea_heap_free(a));
        CHECK_EQ(before, used_on(t.rank));
    }
}

LIGHT_STEP(101, heap_gives_memory_of_any_rank)
{
    for (int peer : t.peers()) {
        sea_addr a = SEA_NULL;
        REQUIRE_OK(sea_heap_alloc(peer, 1000, &a));
        CHECK_EQ(peer, sea_addr_rank(a));
        CHECK_EQ(0, sea_addr_offset(a) % 64);
        if (peer == t.rank)
            CHECK(sea_local(a) != nullptr);
        else if (!t.same_node(peer))
            CHECK(sea_local(a) == nullptr);
        else if (t.local(peer))
            CHECK(sea_local(a) != nullptr);
        std::uint64_t word = 0x1234 + std::uint64_t(t.rank), back = 0;
        CHECK_OK(sea_put(a + 992, &word, 8, nullptr));
        CHECK_OK(sea_fence(peer));
        CHECK_OK(sea_get(&back, a + 992, 8, nullptr));
        CHECK_EQ(word, back);
        CHECK_OK(sea_heap_free(a));
    }
}

STEP(102, heap_serves_all_ranks_at_once)
{
    std::size_t before = used_on(t.rank);
    t.sync();
    dice d{t.seed * 1000 + std::uint64_t(t.rank)};
    struct block {
        sea_addr at;
        std::size_t bytes;
        std::uint64_t seed;
    };
    std::vector<block> mine;
    std::vector<unsigned char> data(4096);
    for (int i = 0; i < t.times(400); ++i) {
        if (mine.size() < 20 || d.below(2) == 0) {
            block b{SEA_NULL, 1 + d.below(data.size()), d.next()};
            REQUIRE_OK(sea_heap_alloc(int(d.below(std::uint64_t(t.size))), b.bytes, &b.at));
            fill(data.data(), b.bytes, b.seed);
            CHECK_OK(sea_put(b.at, data.data(), b.bytes, nullptr));
            mine.push_back(b);
        } else {
            std::size_t which = d.below(mine.size());
            block b = mine[which];
            mine[which] = mine.back();
            mine.pop_back();
            CHECK_OK(sea_fence(sea_addr_rank(b.at)));
            CHECK_OK(sea_get(data.data(), b.at, b.bytes, nullptr));
            CHECK_DATA(data.data(), b.bytes, b.seed);
            CHECK_OK(sea_heap_free(b.at));
        }
    }
    CHECK_OK(sea_fence_all());
    for (const block &b : mine) {
        CHECK_OK(sea_get(data.data(), b.at, b.bytes, nullptr));
        CHECK_DATA(data.data(), b.bytes, b.seed);
        CHECK_OK(sea_heap_free(b.at));
    }
    t.sync();
    CHECK_EQ(before, used_on(t.rank));
}

STEP(103, heap_says_what_is_left_when_it_is_full)
{
    int peer = (t.rank + 1) % t.size;
    std::size_t capacity = capacity_of(peer), part = capacity / 10, before = used_on(peer);
    t.sync();
    sea_addr a = 77;
    for (std::size_t bytes : {capacity + 1, std::size_t(1) << 39, SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2}) {
        CHECK_STATUS(SEA_ERR_MEMORY, sea_heap_alloc(peer, bytes, &a));
        CHECK(contains(sea_last_error(), std::to_string(bytes)));
        CHECK(contains(sea_last_error(), std::to_string(peer)));
    }
    CHECK_EQ(77, a);
    for (int round = 0; round < 2; ++round) { // the second shows that all came back
        std::vector<sea_addr> parts;
        while (sea_heap_alloc(peer, part, &a) == SEA_OK && parts.size() < 11) parts.push_back(a);
        CHECK(parts.size() >= 7 && parts.size() <= 10);
        CHECK_STATUS(SEA_ERR_MEMORY, sea_heap_alloc(peer, part, &a));
        for (sea_addr p : parts) CHECK_OK(sea_heap_free(p));
        CHECK_EQ(before, used_on(peer));
    }
}

STEP(104, heap_joins_free_neighbours)
{
    int peer = (t.rank + 1) % t.size;
    std::size_t before = used_on(peer);
    t.sync();
    std::vector<sea_addr> blocks(std::size_t(t.times(300)));
    for (sea_addr &b : blocks) REQUIRE_OK(sea_heap_alloc(peer, 64 + std::size_t(&b - blocks.data()) * 8, &b));
    for (std::size_t i = 0; i < blocks.size(); i += 2) CHECK_OK(sea_heap_free(blocks[i]));
    for (std::size_t i = 1; i < blocks.size(); i += 2) CHECK_OK(sea_heap_free(blocks[i]));
    CHECK_EQ(before, used_on(peer));
    sea_addr most = SEA_NULL;
    if (CHECK_OK(sea_heap_alloc(peer, (capacity_of(peer) - before) / 4 * 3, &most))) CHECK_OK(sea_heap_free(most));
}

LIGHT_STEP(105, heap_refuses_what_it_did_not_give)
{
    sea_addr local = SEA_NULL, out = 5;
    CHECK_STATUS(SEA_ERR_INVALID, sea_heap_alloc(t.rank, 0, &out));
    CHECK_STATUS(SEA_ERR_INVALID, sea_heap_alloc(t.rank, 64, nullptr));
    for (int wrong : {-1, t.size, 1 << 24, INT32_MIN}) {
        CHECK_STATUS(SEA_ERR_RANK, sea_heap_alloc(wrong, 64, &out));
        CHECK(contains(sea_last_error(), std::to_string(wrong)));
        CHECK_STATUS(SEA_ERR_RANK, sea_heap_usage(wrong, nullptr, nullptr));
    }
    CHECK_EQ(5, out);
    CHECK_OK(sea_heap_free(SEA_NULL));
    for (int peer : t.peers()) {
        sea_addr a = SEA_NULL;
        REQUIRE_OK(sea_heap_alloc(peer, 1000, &a));
        for (sea_addr inside : {a + 1, a + 64, a + 999})
            if (!CHECK_STATUS(SEA_ERR_ADDRESS, sea_heap_free(inside))) abandon();
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_heap_free(a + (UINT64_C(1) << 39)));
        CHECK_OK(sea_heap_free(a));
    }
    // In this rank's own heap nobody else allocates meanwhile, so that the second free cannot meet another's block.
    t.sync();
    if (t.rank == 0) {
        for (int peer : t.peers()) {
            REQUIRE_OK(sea_heap_alloc(peer, 1000, &local));
            CHECK_OK(sea_heap_free(local));
            CHECK_STATUS(SEA_ERR_ADDRESS, sea_heap_free(local));
            CHECK(contains(sea_last_error(), std::to_string(peer)));
        }
    }
    CHECK_STATUS(SEA_ERR_RANK, sea_heap_free((sea_addr(t.size) << SEA_OFFSET_BITS) + 64));
    CHECK_STATUS(SEA_ERR_RANK, sea_heap_free(~sea_addr(0)));
    CHECK_OK(sea_heap_usage(t.rank, nullptr, nullptr));
}

STEP(106, freed_memory_is_out_of_reach_until_it_is_given_again)
{
    t.sync();
    if (t.rank == 0) {
        for (int peer : t.peers()) {
            sea_addr a = SEA_NULL, b = SEA_NULL;
            std::uint64_t word = 1;
            char many[256] = {};
            REQUIRE_OK(sea_heap_alloc(peer, 4096, &a));
            CHECK_OK(sea_heap_free(a));
            CHECK_STATUS(SEA_ERR_ADDRESS, blocking_outcome(peer, [&] { return sea_put(a, &word, 8, nullptr); }));
            CHECK_STATUS(SEA_ERR_ADDRESS, sea_get(&word, a + 8, 8, nullptr));
            CHECK_STATUS(SEA_ERR_ADDRESS, sea_get(many, a, 256, nullptr));
            CHECK_STATUS(SEA_ERR_ADDRESS, sea_fetch_add8(a, 1, &word, nullptr));
            CHECK_STATUS(SEA_ERR_ADDRESS, outcome([&](sea_opts *o) { return sea_put(a, many, 256, o); }));
            CHECK(sea_local(a) == nullptr);
            REQUIRE_OK(sea_heap_alloc(peer, 4096, &b));
            CHECK_OK(sea_put(b, &word, 8, nullptr));
            CHECK_OK(sea_fence(peer));
            CHECK_OK(sea_heap_free(b));
        }
    }
}

LIGHT_STEP(107, heap_tells_what_is_allocated_in_it)
{
    std::vector<sea_addr> mine(5);
    t.sync();
    for (sea_addr &a : mine) REQUIRE_OK(sea_heap_alloc(t.rank, 3000, &a));
    REQUIRE_OK(sea_heap_free(mine[2]));
    mine.erase(mine.begin() + 2);
    std::size_t found = 0;
    sea_addr a = SEA_NULL;
    for (sea_addr from = SEA_NULL; sea_heap_next(from, &a) == SEA_OK && a != SEA_NULL; from = a + 1) {
        CHECK(a >= from);
        CHECK(sea_local(a) != nullptr);
        found += std::size_t(std::count(mine.begin(), mine.end(), a));
    }
    CHECK_EQ(mine.size(), found);
    const sea_addr start = sea_addr(t.rank) << SEA_OFFSET_BITS;
    CHECK_OK(sea_heap_next(start + capacity_of(t.rank), &a));
    CHECK_EQ(SEA_NULL, a);
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_heap_next(start + capacity_of(t.rank) + 1, &a));
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_heap_next(sea_addr(t.rank + 1) << SEA_OFFSET_BITS, &a));
    CHECK_STATUS(SEA_ERR_INVALID, sea_heap_next(SEA_NULL, nullptr));
    for (sea_addr one : mine) CHECK_OK(sea_heap_free(one));
    t.sync();
}
