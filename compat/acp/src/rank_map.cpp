// SPDX-License-Identifier: Apache-2.0
#include "rank_map.hpp"

#include <cstring>
#include <vector>

namespace acp {
namespace {

sea_addr at_rank(int rank, sea_addr word) { return sea_addr(rank) << SEA_OFFSET_BITS | sea_addr_offset(word); }

int first_of_node(int rank)
{
    const int node = sea_node_of(rank);
    while (rank > 0 && sea_node_of(rank - 1) == node) --rank;
    return rank;
}

// What the first process tells all others: how it went, and where its table is.
struct outcome {
    std::int64_t status;
    sea_addr table;
};

// table[0 .. n): the rank of onesea.h of each of ACP; table[n .. 2n): the other way round, as gathered.
bool invert(std::int32_t *table, int n)
{
    std::memset(table, 0xff, std::size_t(n) * sizeof *table);
    for (int rank = 0; rank < n; ++rank) {
        std::int32_t &place = table[table[n + rank]];
        if (place >= 0) return false;
        place = rank;
    }
    return true;
}

// At the first process: everybody's wish, gathered behind the place for the inverse.
outcome gather_at_first(int me, int n, std::int32_t wish)
{
    outcome result{SEA_OK, SEA_NULL};
    const std::size_t bytes = 2 * std::size_t(n) * sizeof(std::int32_t);
    if (me == 0) result.status = sea_heap_alloc(0, bytes, &result.table);
    std::vector<std::int32_t> spare; // if there is no room everybody still gathers
    auto *table = static_cast<std::int32_t *>(result.table ? sea_local(result.table) : nullptr);
    if (me == 0 && !table) {
        spare.resize(2 * std::size_t(n));
        table = spare.data();
    }
    int s = sea_gather(SEA_TEAM_WORLD, 0, &wish, me == 0 ? table + n : nullptr, sizeof wish);
    if (me == 0 && s == SEA_OK && !invert(table, n)) s = SEA_ERR_INVALID;
    if (result.status == SEA_OK) result.status = s;
    return result;
}

} // namespace

int rank_map::make(int acp_rank, sea_addr word, std::unique_ptr<rank_map> *map)
{
    const int me = sea_rank(), n = sea_team_size(SEA_TEAM_WORLD);
    const std::int32_t own[2] = {acp_rank != me, acp_rank < 0 || acp_rank >= n};
    std::int32_t all[2];
    if (int s = sea_allreduce(SEA_TEAM_WORLD, own, all, 2, SEA_INT32, SEA_MAX)) return s;
    if (all[1]) return SEA_ERR_INVALID;
    map->reset();
    if (!all[0]) return SEA_OK;

    outcome result = gather_at_first(me, n, acp_rank);
    const sea_addr at_first = result.table;
    if (int s = sea_broadcast(SEA_TEAM_WORLD, 0, &result, sizeof result)) return s;
    if (result.status != SEA_OK) {
        if (me == 0) sea_heap_free(at_first);
        return int(result.status);
    }

    const std::size_t bytes = 2 * std::size_t(n) * sizeof(std::int32_t);
    const int first = first_of_node(me);
    auto made = std::unique_ptr<rank_map>(new rank_map);
    sea_addr table = at_first; // elsewhere SEA_NULL: then this node has none
    if (me == first) {
        if (me != 0 && sea_heap_alloc(me, bytes, &table) != SEA_OK) table = SEA_NULL;
        made->table_ = table;
        if (me != 0 && table)
            if (int s = sea_get(sea_local(table), result.table, bytes, nullptr)) return s;
        if (int s = sea_put(at_rank(me, word), &table, sizeof table, nullptr)) return s;
    }
    if (int s = sea_barrier(SEA_TEAM_WORLD)) return s;
    if (me != first)
        if (int s = sea_get(&table, at_rank(first, word), sizeof table, nullptr)) return s;
    auto *memory = static_cast<const std::int32_t *>(table ? sea_local(table) : nullptr);
    if (!memory) {
        made->own_ = std::make_unique<std::int32_t[]>(2 * std::size_t(n));
        if (int s = sea_get(made->own_.get(), result.table, bytes, nullptr)) return s;
        memory = made->own_.get();
    }
    made->from_acp_ = memory;
    made->to_acp_ = memory + n;
    if (int s = sea_barrier(SEA_TEAM_WORLD)) return s;
    const std::uint64_t zero = 0;
    if (me == first) sea_put(at_rank(me, word), &zero, sizeof zero, nullptr);
    *map = std::move(made);
    return SEA_OK;
}

rank_map::~rank_map()
{
    if (table_ && sea_initialized()) sea_heap_free(table_);
}

} // namespace acp
