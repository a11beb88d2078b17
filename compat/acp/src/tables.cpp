// SPDX-License-Identifier: Apache-2.0
// Set, multiset and map: tables of onesea/table.h. What all three have is written once, as a macro. Iterators that stay
// on the calling process have the lowest bit of the colour in `elem`.
#include "acp/tables.h"

#include "structure.hpp"

#include <onesea/table.h>

#include <algorithm>

namespace acp {
namespace {

constexpr acp_ga_t local_mark = acp_ga_t(1) << colour_shift;
constexpr std::size_t likely_value = std::size_t(1) << 20; // room that is had without asking first

sea_bytes bytes(acp_element_t e) { return sea_remote(address_of(e.ga), e.size); }

template <class Table>
sea_table the(Table t)
{
    return {address_of(t.ga), t.num_ranks, t.num_slots};
}

template <class Table>
Table create(const char *function, sea_table_kind kind, int num_ranks, const int *ranks, int num_slots, int rank)
{
    const Table none{ACP_GA_NULL, 0, 0};
    if (!ready(function)) return none;
    if (num_ranks <= 0 || !ranks || num_slots <= 0) {
        report(function, "%d parts (on the ranks at %p) of %d slots", num_ranks, static_cast<const void *>(ranks),
               num_slots);
        return none;
    }
    std::vector<int> owners;
    for (int i = 0; i < num_ranks; ++i) {
        owners.push_back(checked_rank(function, ranks[i]));
        if (owners.back() < 0) return none;
    }
    const int directory = checked_rank(function, rank);
    sea_table made;
    if (directory < 0 ||
        !good(function, sea_table_create(kind, owners.data(), num_ranks, std::size_t(num_slots), directory, &made)))
        return none;
    return {made.address, made.parts, made.slots};
}

template <class It, class Table>
It end_of(Table t)
{
    return {t, int(t.num_ranks), 0, ACP_GA_NULL};
}

template <class It, class Table>
It place(const char *function, Table t, int status, const sea_table_it &it, sea_table_scope scope)
{
    if (!good(function, status) || it.elem == SEA_NULL) return end_of<It>(t);
    return {t, it.part, it.slot, it.elem | (scope == SEA_TABLE_LOCAL ? local_mark : 0)};
}

template <class It, class Table>
It begin(const char *function, Table t, sea_table_scope scope)
{
    if (!ready(function)) return end_of<It>(t);
    sea_table_it it;
    const int s = sea_table_begin(the(t), scope, &it);
    return place<It>(function, t, s, it, scope);
}

template <class It, class Table>
It next(const char *function, Table t, const It &it)
{
    if (!ready(function)) return end_of<It>(t);
    const sea_table_scope scope = it.elem & local_mark ? SEA_TABLE_LOCAL : SEA_TABLE_ALL;
    sea_table_it at{the(t), it.rank, it.slot, address_of(it.elem)};
    const int s = sea_table_next(&at, scope);
    return place<It>(function, t, s, at, scope);
}

template <class It, class Table>
acp_pair_t entry(const char *function, Table t, const It &it)
{
    const sea_table_it at{the(t), it.rank, it.slot, address_of(it.elem)};
    acp_pair_t pair{{ACP_GA_NULL, 0}, {ACP_GA_NULL, 0}};
    if (ready(function))
        good(function, sea_table_entry(at, &pair.first.ga, &pair.first.size, &pair.second.ga, &pair.second.size));
    return pair;
}

std::size_t size(const char *function, sea_table t, sea_table_scope scope)
{
    std::uint64_t keys = 0;
    if (ready(function)) good(function, sea_table_size(t, scope, &keys));
    return keys;
}

} // namespace
} // namespace acp

using namespace acp;

#define ACP_WHOLE(verb, kind, call)                                                                               \
    void acp_##verb##_##kind(acp_##kind##_t to, acp_##kind##_t from)                                              \
    {                                                                                                             \
        if (ready("acp_" #verb "_" #kind)) good("acp_" #verb "_" #kind, call(the(to), the(from), SEA_TABLE_ALL)); \
    }                                                                                                             \
    void acp_##verb##_local_##kind(acp_##kind##_t to, acp_##kind##_t from)                                        \
    {                                                                                                             \
        const char *const function = "acp_" #verb "_local_" #kind;                                                \
        if (ready(function)) good(function, call(the(to), the(from), SEA_TABLE_LOCAL));                           \
    }

#define ACP_TABLE(kind, member, number)                                                                               \
    acp_##kind##_t acp_create_##kind(int num_ranks, const int *ranks, int num_slots, int rank)                        \
    {                                                                                                                 \
        return create<acp_##kind##_t>("acp_create_" #kind, number, num_ranks, ranks, num_slots, rank);                \
    }                                                                                                                 \
    void acp_destroy_##kind(acp_##kind##_t t)                                                                         \
    {                                                                                                                 \
        if (ready("acp_destroy_" #kind)) good("acp_destroy_" #kind, sea_table_destroy(the(t)));                       \
    }                                                                                                                 \
    ACP_WHOLE(assign, kind, sea_table_assign)                                                                         \
    ACP_WHOLE(merge, kind, sea_table_merge)                                                                           \
    ACP_WHOLE(move, kind, sea_table_move)                                                                             \
    void acp_swap_##kind(acp_##kind##_t a, acp_##kind##_t b)                                                          \
    {                                                                                                                 \
        if (ready("acp_swap_" #kind)) good("acp_swap_" #kind, sea_table_swap(the(a), the(b)));                        \
    }                                                                                                                 \
    void acp_clear_##kind(acp_##kind##_t t)                                                                           \
    {                                                                                                                 \
        if (ready("acp_clear_" #kind)) good("acp_clear_" #kind, sea_table_clear(the(t), SEA_TABLE_ALL));              \
    }                                                                                                                 \
    size_t acp_size_##kind(acp_##kind##_t t) { return size("acp_size_" #kind, the(t), SEA_TABLE_ALL); }               \
    size_t acp_size_local_##kind(acp_##kind##_t t) { return size("acp_size_local_" #kind, the(t), SEA_TABLE_LOCAL); } \
    int acp_empty_##kind(acp_##kind##_t t) { return acp_size_##kind(t) == 0; }                                        \
    int acp_empty_local_##kind(acp_##kind##_t t) { return acp_size_local_##kind(t) == 0; }                            \
    acp_##kind##_it_t acp_find_##kind(acp_##kind##_t t, acp_element_t key)                                            \
    {                                                                                                                 \
        if (!ready("acp_find_" #kind)) return end_of<acp_##kind##_it_t>(t);                                           \
        sea_table_it it;                                                                                              \
        const int s = sea_table_find(the(t), bytes(key), &it);                                                        \
        return place<acp_##kind##_it_t>("acp_find_" #kind, t, s, it, SEA_TABLE_ALL);                                  \
    }                                                                                                                 \
    void acp_remove_##kind(acp_##kind##_t t, acp_element_t key)                                                       \
    {                                                                                                                 \
        if (ready("acp_remove_" #kind)) good("acp_remove_" #kind, sea_table_remove(the(t), bytes(key), nullptr));     \
    }                                                                                                                 \
    acp_##kind##_it_t acp_begin_##kind(acp_##kind##_t t)                                                              \
    {                                                                                                                 \
        return begin<acp_##kind##_it_t>("acp_begin_" #kind, t, SEA_TABLE_ALL);                                        \
    }                                                                                                                 \
    acp_##kind##_it_t acp_begin_local_##kind(acp_##kind##_t t)                                                        \
    {                                                                                                                 \
        return begin<acp_##kind##_it_t>("acp_begin_local_" #kind, t, SEA_TABLE_LOCAL);                                \
    }                                                                                                                 \
    acp_##kind##_it_t acp_end_##kind(acp_##kind##_t t) { return end_of<acp_##kind##_it_t>(t); }                       \
    acp_##kind##_it_t acp_end_local_##kind(acp_##kind##_t t) { return end_of<acp_##kind##_it_t>(t); }                 \
    acp_##kind##_it_t acp_increment_##kind##_it(acp_##kind##_it_t it)                                                 \
    {                                                                                                                 \
        return next("acp_increment_" #kind "_it", it.member, it);                                                     \
    }

ACP_TABLE(set, set, SEA_TABLE_SET)
ACP_TABLE(multiset, set, SEA_TABLE_MULTISET)
ACP_TABLE(map, map, SEA_TABLE_MAP)

int acp_insert_set(acp_set_t set, acp_element_t key)
{
    int inserted = 0;
    if (ready("acp_insert_set"))
        good("acp_insert_set", sea_table_insert(the(set), bytes(key), sea_memory("", 0), &inserted));
    return inserted;
}

int acp_insert_multiset(acp_multiset_t set, acp_element_t key)
{
    int inserted = 0;
    if (ready("acp_insert_multiset"))
        good("acp_insert_multiset", sea_table_insert(the(set), bytes(key), sea_memory("", 0), &inserted));
    return inserted;
}

void acp_remove_all_multiset(acp_multiset_t set, acp_element_t key)
{
    if (ready("acp_remove_all_multiset"))
        good("acp_remove_all_multiset", sea_table_remove_all(the(set), bytes(key), nullptr));
}

uint64_t acp_retrieve_multiset(acp_multiset_t set, acp_element_t key)
{
    std::uint64_t count = 0;
    if (ready("acp_retrieve_multiset")) good("acp_retrieve_multiset", sea_table_count(the(set), bytes(key), &count));
    return count;
}

void acp_clear_local_map(acp_map_t map)
{
    if (ready("acp_clear_local_map")) good("acp_clear_local_map", sea_table_clear(the(map), SEA_TABLE_LOCAL));
}

int acp_insert_map(acp_map_t map, acp_pair_t pair)
{
    int inserted = 0;
    if (ready("acp_insert_map"))
        good("acp_insert_map", sea_table_insert(the(map), bytes(pair.first), bytes(pair.second), &inserted));
    return inserted;
}

size_t acp_retrieve_map(acp_map_t map, acp_pair_t pair)
{
    const char *const function = "acp_retrieve_map";
    if (!ready(function)) return 0;
    std::size_t room = pair.second.size;
    const sea_addr to = address_of(pair.second.ga);
    std::vector<char> fetched;
    void *buffer = room > 0 ? own_memory(to, room) : nullptr;
    const bool elsewhere = room > 0 && !buffer;
    std::size_t length = 0;
    int found = 0;
    char nothing;
    if (elsewhere && room > likely_value) { // "as much as there is": that is asked first
        if (!good(function, sea_table_get(the(map), bytes(pair.first), &nothing, 0, &length, &found)) || !found)
            return 0;
        room = std::min(room, length);
    }
    if (elsewhere) {
        if (!make_room(function, &fetched, room)) return 0;
        buffer = fetched.data();
    }
    if (!good(function, sea_table_get(the(map), bytes(pair.first), buffer ? buffer : &nothing, room, &length, &found)))
        return 0;
    if (elsewhere && found) {
        sea_op op = SEA_OP_NONE;
        sea_opts opts = SEA_OPTS_INIT;
        opts.op = &op;
        int s = sea_put(to, buffer, std::min(room, length), &opts);
        if (s == SEA_OK) s = sea_wait(op, SEA_FOREVER);
        if (!good(function, s)) return 0;
    }
    return found ? length : 0;
}

acp_element_t acp_dereference_set_it(acp_set_it_t it) { return entry("acp_dereference_set_it", it.set, it).first; }

acp_element_t acp_dereference_multiset_it(acp_multiset_it_t it)
{
    return entry("acp_dereference_multiset_it", it.set, it).first;
}

acp_pair_t acp_dereference_map_it(acp_map_it_t it) { return entry("acp_dereference_map_it", it.map, it); }
