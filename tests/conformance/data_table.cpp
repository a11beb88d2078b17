// SPDX-License-Identifier: Apache-2.0
// Hash tables over all ranks, used by all of them at once.
#include "table_place.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

using namespace proof;

STEP(500, of_racing_inserts_of_a_key_exactly_one_wins)
{
    for (sea_table_kind kind : {SEA_TABLE_SET, SEA_TABLE_MAP}) {
        const sea_table table = shared_table(t, kind, 50);
        const int n = t.times(1000);
        std::uint64_t won = 0;
        for (int i = 0; i < n; ++i) {
            const std::string key = "key " + std::to_string((i + t.rank * 37) % n);
            int inserted = -1;
            REQUIRE_OK(sea_table_insert(table, of(key), of(std::uint64_t(t.rank)), &inserted));
            won += std::uint64_t(inserted);
        }
        CHECK_EQ(n, sum_over_ranks(t, won));
        std::uint64_t keys = 0, local = 0, total = 0;
        CHECK_OK(sea_table_size(table, SEA_TABLE_ALL, &keys));
        CHECK_OK(sea_table_size(table, SEA_TABLE_LOCAL, &local));
        CHECK_OK(sea_table_total(table, SEA_TABLE_ALL, &total));
        CHECK_EQ(n, keys);
        CHECK_EQ(n, total);
        CHECK_EQ(n, sum_over_ranks(t, local));
        drop_table(t, table);
    }
}

namespace {

// By rank 0: destroys tables and makes others until one has the handle of the first.
sea_table successor(sea_table first, sea_table_kind kind, std::vector<int> ranks)
{
    sea_table made = first;
    for (int i = 0; i < 630; ++i) {
        REQUIRE_OK(sea_table_destroy(made));
        REQUIRE_OK(sea_table_create(kind, ranks.data(), int(ranks.size()), first.slots, 0, &made));
        if (made.address == first.address) return made;
    }
    CHECK(!"the handle came again");
    return made;
}

// All ranks have used a table of that kind, then another one lies there.
sea_table replaced(run &t, sea_table_kind before, sea_table_kind now)
{
    std::vector<int> ranks;
    for (int r = 0; r < t.size; ++r) ranks.push_back(r);
    sea_table table{};
    if (t.rank == 0) REQUIRE_OK(sea_table_create(before, ranks.data(), t.size, 16, 0, &table));
    CHECK_OK(sea_broadcast(SEA_TEAM_WORLD, 0, &table, sizeof table));
    for (int i = 0; i < 20 * t.size; ++i)
        CHECK_OK(sea_table_insert(table, of("key " + std::to_string(i)), of("value"), nullptr));
    t.sync();
    std::reverse(ranks.begin(), ranks.end());
    if (t.rank == 0) table = successor(table, now, ranks);
    t.sync();
    return table;
}

} // namespace

STEP(502, table_that_came_to_lie_where_another_was_is_not_taken_for_it)
{
    const std::string key = "key " + std::to_string(t.rank);
    sea_table table = replaced(t, SEA_TABLE_MULTISET, SEA_TABLE_MAP);
    int inserted = 0;
    CHECK_OK(sea_table_insert(table, of(key), of("value"), &inserted));
    CHECK_EQ(1, inserted);
    CHECK(value_of(table, key) == "value");
    t.sync();
    std::uint64_t keys = 0;
    CHECK_OK(sea_table_size(table, SEA_TABLE_LOCAL, &keys));
    CHECK_EQ(t.size, sum_over_ranks(t, keys));
    drop_table(t, table);

    table = replaced(t, SEA_TABLE_SET, SEA_TABLE_MAP);
    CHECK_OK(sea_table_store(table, of(key), of("value"), nullptr));
    CHECK(value_of(table, key) == "value");
    drop_table(t, table);

    table = replaced(t, SEA_TABLE_SET, SEA_TABLE_MULTISET);
    std::uint64_t before = 1;
    CHECK_OK(sea_table_add(table, of(key), 5, &before));
    CHECK_EQ(0, before);
    drop_table(t, table);

    table = replaced(t, SEA_TABLE_MAP, SEA_TABLE_SET);
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_store(table, of(key), of("value"), nullptr));
    CHECK_OK(sea_table_insert(table, of(key), of("value"), &inserted));
    std::size_t bytes = 1;
    CHECK_OK(sea_table_get(table, of(key), nullptr, 0, &bytes, nullptr));
    CHECK_EQ(0, bytes);
    drop_table(t, table);
}

STEP(505, counts_of_all_ranks_and_threads_add_up)
{
    const sea_table counts = shared_table(t, SEA_TABLE_MULTISET, 7, t.size - 1);
    const sea_table map = shared_table(t, SEA_TABLE_MAP, 7);
    const int n = t.times(500);
    const auto work = [&](std::uint64_t seed) {
        dice random{seed};
        for (int i = 0; i < n; ++i) {
            const std::string key = std::to_string(random.below(20));
            CHECK_OK(sea_table_insert(counts, of(key), {}, nullptr));
            CHECK_OK(sea_table_add(map, of(key), 2, nullptr));
        }
    };
    std::thread other(work, t.seed + std::uint64_t(t.rank) * 2);
    work(t.seed + std::uint64_t(t.rank) * 2 + 1);
    other.join();
    t.sync();
    std::uint64_t total = 0, sum = 0, doubled = 0;
    CHECK_OK(sea_table_total(counts, SEA_TABLE_ALL, &total));
    CHECK_EQ(n * 2 * t.size, total);
    for (int i = 0; i < 20; ++i) {
        const std::string key = std::to_string(i);
        std::uint64_t count = 0, value = 0;
        std::size_t bytes = 0;
        CHECK_OK(sea_table_count(counts, of(key), &count));
        CHECK_OK(sea_table_get(map, of(key), &value, sizeof value, &bytes, nullptr));
        CHECK_EQ(2 * count, value);
        sum += count;
        doubled += value;
    }
    CHECK_EQ(total, sum);
    CHECK_EQ(2 * total, doubled);
    t.sync();
    std::uint64_t taken = 0, before = 1;
    while (CHECK_OK(sea_table_remove(counts, of("7"), &before)) && before) ++taken; // who takes one takes it alone
    std::uint64_t seven = 0;
    std::size_t bytes = 0;
    CHECK_OK(sea_table_get(map, of("7"), &seven, sizeof seven, &bytes, nullptr));
    CHECK_EQ(seven / 2, sum_over_ranks(t, taken));
    drop_table(t, map);
    drop_table(t, counts);
}

STEP(510, random_calls_of_all_ranks_and_threads_agree_with_models)
{
    const sea_table table = shared_table(t, SEA_TABLE_MAP, 40);
    const int n = t.times(2000);
    const auto work = [&](std::string own, std::uint64_t seed, std::map<std::string, std::string> *model) {
        table_model m{table, own, {seed}, {}, {}};
        for (int i = 0; i < n; ++i) m.act();
        m.compare();
        *model = m.model;
    };
    std::map<std::string, std::string> one, other;
    const std::string name = std::to_string(t.rank);
    std::thread second(work, name + "b", t.seed + 1000 + std::uint64_t(t.rank), &other);
    work(name + "a", t.seed + std::uint64_t(t.rank), &one);
    second.join();
    one.merge(other);
    const std::uint64_t entries = sum_over_ranks(t, one.size());
    const auto all = contents(table, SEA_TABLE_ALL);
    CHECK_EQ(entries, all.size());
    CHECK(std::ranges::includes(all, one));
    CHECK_EQ(entries, sum_over_ranks(t, contents(table, SEA_TABLE_LOCAL).size()));
    drop_table(t, table);
}

STEP(515, iterators_go_by_part_slot_and_insertion_on_every_rank)
{
    const sea_table table = shared_table(t, SEA_TABLE_SET, 3);
    std::vector<std::string> keys;
    for (int i = 0; i < 40; ++i) keys.push_back("k" + std::to_string(i));
    if (t.rank == t.size - 1)
        for (auto &k : keys) CHECK_OK(sea_table_insert(table, of(k), {}, nullptr));
    t.sync();
    std::vector<std::string> seen;
    sea_table_it it, last{};
    CHECK_OK(sea_table_begin(table, SEA_TABLE_ALL, &it));
    while (it.elem != SEA_NULL) {
        CHECK(std::make_pair(last.part, last.slot) <= std::make_pair(it.part, it.slot));
        sea_addr key = SEA_NULL, value = 1;
        std::size_t bytes = 0;
        REQUIRE_OK(sea_table_entry(it, &key, &bytes, &value, nullptr));
        CHECK_EQ(SEA_NULL, value);
        std::string k(bytes, ' ');
        CHECK_OK(sea_get(k.data(), key, bytes, nullptr));
        if (last.elem != SEA_NULL && last.part == it.part && last.slot == it.slot)
            CHECK(std::ranges::find(keys, seen.back()) < std::ranges::find(keys, k));
        sea_table_it found{};
        CHECK_OK(sea_table_find(table, of(k), &found));
        CHECK_EQ(it.elem, found.elem);
        CHECK_EQ(it.slot, found.slot);
        seen.push_back(k);
        last = it;
        CHECK_OK(sea_table_next(&it, SEA_TABLE_ALL));
    }
    CHECK_EQ(40, std::set<std::string>(seen.begin(), seen.end()).size());
    CHECK_EQ(40, seen.size());
    CHECK_STATUS(SEA_ERR_HANDLE, sea_table_next(&it, SEA_TABLE_ALL));
    std::uint64_t local = 0;
    CHECK_OK(sea_table_begin(table, SEA_TABLE_LOCAL, &it));
    for (; it.elem != SEA_NULL; ++local) {
        CHECK_EQ(t.rank, sea_addr_rank(it.elem));
        REQUIRE_OK(sea_table_next(&it, SEA_TABLE_LOCAL));
    }
    CHECK_EQ(40, sum_over_ranks(t, local));
    drop_table(t, table);
}

STEP(520, scans_meet_what_stays_once_while_others_come_and_go)
{
    const sea_table table = shared_table(t, SEA_TABLE_SET, 4);
    const int n = t.times(200);
    for (int i = 0; i < n; ++i)
        CHECK_OK(sea_table_insert(table, of(std::to_string(t.rank) + " stays " + std::to_string(i)), {}, nullptr));
    t.sync();
    for (int round = 0; round < 5; ++round) {
        if (t.rank % 2) {
            for (int i = 0; i < n; ++i) {
                const std::string key = std::to_string(t.rank) + " goes " + std::to_string(i);
                CHECK_OK(sea_table_insert(table, of(key), {}, nullptr));
                CHECK_OK(sea_table_remove(table, of(key), nullptr));
            }
        } else {
            auto all = contents(table, SEA_TABLE_ALL, 1000);
            std::erase_if(all, [](auto &e) { return e.first.find("goes") != std::string::npos; });
            CHECK_EQ(n * t.size, all.size());
        }
    }
    drop_table(t, table);
}

STEP(525, keys_and_values_of_any_length_from_any_memory)
{
    const sea_table table = shared_table(t, SEA_TABLE_MAP, 5);
    const std::string mine = std::to_string(t.rank);
    for (std::size_t length : {1, 100, 511, 513, 5000, 100'000}) {
        std::string key(length, 'k'), value(300'000, 'v');
        key += mine;
        value += mine;
        CHECK_OK(sea_table_store(table, of(key), of(value), nullptr));
        CHECK(value_of(table, key) == value);
        char part[5] = "....";
        std::size_t bytes = 0;
        CHECK_OK(sea_table_get(table, of(key), part, 3, &bytes, nullptr));
        CHECK_EQ(value.size(), bytes);
        CHECK(std::string(part) == "vvv.");
        CHECK_OK(sea_table_store(table, of(key), of(""), nullptr));
        CHECK(value_of(table, key).empty());
    }
    CHECK(contents(table, SEA_TABLE_ALL).size() >= 6);
    // bytes that lie on the next rank, and under a registration of this one
    sea_addr heap = SEA_NULL, own = SEA_NULL;
    char word[16] = "a local word";
    REQUIRE_OK(sea_heap_alloc((t.rank + 1) % t.size, 64, &heap));
    REQUIRE_OK(sea_put(heap, ("a far word " + mine).data(), 11 + mine.size(), nullptr));
    CHECK_OK(sea_fence_all());
    REQUIRE_OK(sea_register(word, sizeof word, 0, &own));
    CHECK_OK(sea_table_insert(table, sea_remote(heap, 11 + mine.size()), sea_remote(own, 7), nullptr));
    CHECK(value_of(table, "a far word " + mine) == "a local");
    CHECK_OK(sea_heap_free(heap));
    const sea_addr nothing = sea_addr(sea_addr_rank(heap)) << SEA_OFFSET_BITS | 64; // is never given out
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_table_insert(table, sea_remote(nothing, 8), {}, nullptr));
    CHECK_OK(sea_unregister(own));
    drop_table(t, table);
}

STEP(530, entry_gives_addresses_that_others_can_read_and_update)
{
    const sea_table table = shared_table(t, SEA_TABLE_MAP, 5);
    CHECK_OK(sea_table_add(table, of("shared"), 1, nullptr));
    t.sync();
    sea_table_it it;
    sea_addr key = SEA_NULL, value = SEA_NULL;
    std::size_t key_bytes = 0, value_bytes = 0;
    REQUIRE_OK(sea_table_find(table, of("shared"), &it));
    REQUIRE_OK(sea_table_entry(it, &key, &key_bytes, &value, &value_bytes));
    CHECK_EQ(6, key_bytes);
    CHECK_EQ(8, value_bytes);
    for (int i = 0; i < 20; ++i) {
        CHECK_OK(sea_fetch_add8(value, 1, nullptr, nullptr));
        CHECK_OK(sea_table_add(table, of("shared"), 1, nullptr));
    }
    CHECK_OK(sea_fence_all());
    t.sync();
    std::uint64_t sum = 0;
    std::size_t bytes = 0;
    CHECK_OK(sea_table_get(table, of("shared"), &sum, sizeof sum, &bytes, nullptr));
    CHECK_EQ(41 * t.size, sum);
    drop_table(t, table);
}

STEP(535, whole_tables_of_different_shapes_are_copied_merged_moved_and_swapped)
{
    const int ranks[] = {t.rank, (t.rank + 1) % t.size, t.rank};
    sea_table a, b;
    REQUIRE_OK(sea_table_create(SEA_TABLE_MAP, ranks, 3, 5, t.rank, &a));
    REQUIRE_OK(sea_table_create(SEA_TABLE_MAP, ranks + 1, 1, 17, (t.rank + 1) % t.size, &b));
    std::map<std::string, std::string> one, two;
    for (int i = 0; i < 300; ++i) {
        const std::string key = std::to_string(i), large(i == 77 ? 70'000 : std::size_t(i), 'x');
        if (i < 200) one[key] = "one" + large;
        if (i >= 100) two[key] = "two" + large;
    }
    for (auto &[k, v] : one) CHECK_OK(sea_table_insert(a, of(k), of(v), nullptr));
    for (auto &[k, v] : two) CHECK_OK(sea_table_insert(b, of(k), of(v), nullptr));
    CHECK_OK(sea_table_swap(a, b));
    CHECK(contents(a, SEA_TABLE_ALL) == two);
    CHECK(contents(b, SEA_TABLE_ALL) == one);
    CHECK_OK(sea_table_merge(a, b, SEA_TABLE_ALL));
    auto both = two;
    both.insert(one.begin(), one.end());
    CHECK(contents(a, SEA_TABLE_ALL) == both);
    CHECK(contents(b, SEA_TABLE_ALL) == one);
    CHECK_OK(sea_table_assign(b, a, SEA_TABLE_ALL));
    CHECK(contents(b, SEA_TABLE_ALL) == both);
    CHECK_OK(sea_table_clear(a, SEA_TABLE_ALL));
    CHECK(contents(a, SEA_TABLE_ALL).empty());
    CHECK_OK(sea_table_move(a, b, SEA_TABLE_ALL));
    CHECK(contents(a, SEA_TABLE_ALL) == both);
    CHECK(contents(b, SEA_TABLE_ALL).empty());
    CHECK_OK(sea_table_assign(a, a, SEA_TABLE_ALL));
    CHECK_OK(sea_table_swap(a, a));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_merge(a, a, SEA_TABLE_ALL));
    CHECK(contents(a, SEA_TABLE_ALL) == both);
    CHECK_OK(sea_table_destroy(a));
    CHECK_OK(sea_table_destroy(b));
}

STEP(540, each_rank_moves_its_own_parts_at_the_same_time)
{
    const sea_table from = shared_table(t, SEA_TABLE_MULTISET, 11),
                    to = shared_table(t, SEA_TABLE_MULTISET, 6, t.size - 1);
    const int n = t.times(300);
    for (int i = 0; i < n; ++i) {
        CHECK_OK(sea_table_add(from, of(std::to_string(i)), 2, nullptr));
        CHECK_OK(sea_table_insert(to, of(std::to_string(i)), {}, nullptr));
    }
    t.sync();
    CHECK_OK(sea_table_move(to, from, SEA_TABLE_LOCAL));
    t.sync();
    std::uint64_t left = 1, total = 0, keys = 0;
    CHECK_OK(sea_table_total(from, SEA_TABLE_ALL, &left));
    CHECK_OK(sea_table_total(to, SEA_TABLE_ALL, &total));
    CHECK_OK(sea_table_size(to, SEA_TABLE_ALL, &keys));
    CHECK_EQ(0, left);
    CHECK_EQ(3 * n * t.size, total);
    CHECK_EQ(n, keys);
    t.sync();
    CHECK_OK(sea_table_assign(from, to, SEA_TABLE_LOCAL));
    t.sync();
    CHECK(contents(from, SEA_TABLE_ALL).size() <= std::size_t(n));
    CHECK_OK(sea_table_clear(to, SEA_TABLE_LOCAL));
    t.sync();
    CHECK_OK(sea_table_size(to, SEA_TABLE_ALL, &keys));
    CHECK_EQ(0, keys);
    drop_table(t, from);
    drop_table(t, to);
}

namespace {

void check_bad_arguments(sea_table set, sea_table map)
{
    const std::string huge = "only its length matters";
    std::uint64_t n = 0;
    std::size_t bytes = 5;
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_insert(set, sea_memory("x", 0), {}, nullptr));
    CHECK(std::strstr(sea_last_error(), "0 bytes"));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_insert(set, sea_memory(huge.data(), std::size_t(1) << 30), {}, nullptr));
    CHECK(std::strstr(sea_last_error(), "1073741824"));
    CHECK_STATUS(SEA_ERR_INVALID,
                 sea_table_store(map, of("k"), sea_memory(huge.data(), std::size_t(1) << 30), nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_insert(set, sea_memory(nullptr, 5), {}, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_store(set, of("k"), of("v"), nullptr));
    CHECK(std::strstr(sea_last_error(), "set"));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_add(set, of("k"), 1, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_merge(set, map, SEA_TABLE_ALL));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_get(map, of("k"), nullptr, 10, &bytes, nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_count(map, of("k"), nullptr));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_size(map, sea_table_scope(7), &n));
    CHECK_OK(sea_table_store(map, of("text"), of("no number"), nullptr));
    CHECK_STATUS(SEA_ERR_ALIGN, sea_table_add(map, of("text"), 1, nullptr));
    CHECK(std::strstr(sea_last_error(), "9 bytes"));
    CHECK(value_of(map, "text") == "no number");
    CHECK_EQ(5, bytes);
}

void check_bad_handles(sea_table map)
{
    std::uint64_t n = 0;
    sea_table_it it, stale;
    CHECK_OK(sea_table_insert(map, of("gone"), of("v"), nullptr));
    CHECK_OK(sea_table_find(map, of("gone"), &stale));
    CHECK_OK(sea_table_remove(map, of("gone"), nullptr));
    it = stale;
    CHECK_STATUS(SEA_ERR_HANDLE, sea_table_next(&it, SEA_TABLE_ALL));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_table_entry(stale, nullptr, nullptr, nullptr, nullptr));
    for (auto [part, slot] : {std::pair{-1, 0}, {1 << 20, 0}, {0, -1}, {0, 1 << 20}}) {
        it.part = part;
        it.slot = slot;
        CHECK_STATUS(SEA_ERR_HANDLE, sea_table_next(&it, SEA_TABLE_ALL));
    }
    sea_table bad = map;
    bad.slots += 1;
    CHECK_STATUS(SEA_ERR_HANDLE, sea_table_count(bad, of("k"), &n));
    bad = map;
    bad.parts += 1;
    CHECK_STATUS(SEA_ERR_HANDLE, sea_table_count(bad, of("k"), &n));
    for (sea_addr a : {SEA_NULL, map.address + 64, map.address + 1, map.address + 4096}) {
        bad = map;
        bad.address = a;
        CHECK_STATUS(SEA_ERR_HANDLE, sea_table_count(bad, of("k"), &n));
    }
    bad.address = sea_addr(5000) << SEA_OFFSET_BITS | 4096;
    CHECK_STATUS(SEA_ERR_RANK, sea_table_count(bad, of("k"), &n));
}

} // namespace

// Alone at that rank: where another one makes a table at the place of one that was destroyed, the handles may be equal.
static void check_wrong_use(run &t, sea_table set, int peer)
{
    sea_table map;
    REQUIRE_OK(sea_table_create(SEA_TABLE_MAP, &peer, 1, 9, peer, &map));
    check_bad_arguments(set, map);
    check_bad_handles(map);
    CHECK_OK(sea_table_destroy(map));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_table_destroy(map));
    CHECK_STATUS(SEA_ERR_HANDLE, sea_table_insert(map, of("k"), of("v"), nullptr));
    const int wrong = t.size;
    CHECK_STATUS(SEA_ERR_RANK, sea_table_create(SEA_TABLE_MAP, &wrong, 1, 9, peer, &map));
    CHECK_STATUS(SEA_ERR_RANK, sea_table_create(SEA_TABLE_MAP, &peer, 1, 9, -1, &map));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_create(SEA_TABLE_MAP, &peer, 0, 9, peer, &map));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_create(SEA_TABLE_MAP, &peer, 1, 0, peer, &map));
    CHECK_STATUS(SEA_ERR_INVALID, sea_table_create(sea_table_kind(3), &peer, 1, 9, peer, &map));
}

STEP(545, wrong_use_is_an_error_that_names_the_thing)
{
    const sea_table set = shared_table(t, SEA_TABLE_SET, 4);
    for (int turn = 0; turn < t.size; ++turn) {
        for (int peer : t.peers())
            if (turn == t.rank) check_wrong_use(t, set, peer);
        t.sync();
    }
    drop_table(t, set);
    std::uint64_t n = 0;
    CHECK_STATUS(SEA_ERR_HANDLE, sea_table_size(set, SEA_TABLE_ALL, &n)); // what this rank remembers is out of date
}

namespace {

std::atomic<int> called{0};

// Calls of a table inside a handler, whose parts may be on other nodes.
void *insert_what_came(const sea_am *message, sea_am_complete_fn *, void **context)
{
    const auto *table = static_cast<const sea_table *>(message->context);
    std::uint64_t count = 0;
    CHECK_OK(sea_table_insert(*table, sea_memory(message->header, message->header_bytes), {}, nullptr));
    CHECK_OK(sea_table_count(*table, sea_memory(message->header, message->header_bytes), &count));
    CHECK(count > 0);
    *context = nullptr;
    called += 1;
    return nullptr;
}

} // namespace

STEP(548, tables_are_used_inside_handlers_of_active_messages)
{
    sea_table counts = shared_table(t, SEA_TABLE_MULTISET, 3);
    CHECK_OK(sea_am_register(40, insert_what_came, &counts));
    t.sync();
    const int n = t.times(50);
    for (int i = 0; i < n; ++i)
        for (int r : t.peers()) {
            const std::string key = "from a handler " + std::to_string(i % 7);
            CHECK_OK(sea_am_send(r, 40, key.data(), key.size(), nullptr, 0, nullptr));
        }
    CHECK_OK(sea_fence_all());
    t.sync();
    std::uint64_t total = 0;
    CHECK_OK(sea_table_total(counts, SEA_TABLE_ALL, &total));
    CHECK_EQ(sum_over_ranks(t, std::uint64_t(called.load())), total);
    CHECK_EQ(sum_over_ranks(t, std::uint64_t(n) * t.peers().size()), total);
    CHECK_OK(sea_am_register(40, nullptr, nullptr));
    drop_table(t, counts);
}

// With --heap 32M.
LONE_STEP(590, what_has_no_room_is_an_error_and_changes_nothing)
{
    const std::string large(40 << 20, 'x');
    for (int peer : t.peers()) {
        t.sync();
        sea_table map;
        CHECK_STATUS(SEA_ERR_MEMORY, sea_table_create(SEA_TABLE_MAP, &peer, 1, 5'000'000, peer, &map));
        CHECK(std::strstr(sea_last_error(), "40000"));
        const int both[] = {t.rank, peer};
        REQUIRE_OK(sea_table_create(SEA_TABLE_MAP, both, 2, 9, peer, &map));
        CHECK_OK(sea_table_store(map, of("text"), of("small"), nullptr));
        CHECK_STATUS(SEA_ERR_MEMORY, sea_table_store(map, of("text"), of(large), nullptr));
        CHECK_STATUS(SEA_ERR_MEMORY, sea_table_insert(map, of(large), {}, nullptr));
        CHECK_STATUS(SEA_ERR_MEMORY, sea_table_add(map, of(large), 1, nullptr));
        CHECK(value_of(map, "text") == "small");
        int i = 0, s = SEA_OK; // until all is full
        for (; s == SEA_OK; ++i)
            s = sea_table_store(map, of(std::to_string(i)), sea_memory(large.data(), 1 << 20), nullptr);
        CHECK_STATUS(SEA_ERR_MEMORY, s);
        CHECK(value_of(map, "text") == "small");
        CHECK_EQ(i, contents(map, SEA_TABLE_ALL).size());
        CHECK_OK(sea_table_destroy(map));
        t.sync();
    }
}

STEP(550, tables_made_and_freed_leave_nothing_behind)
{
    const int n = t.times(300);
    std::vector<std::size_t> before(std::size_t(t.size)), after(before.size());
    t.sync();
    for (int r = 0; r < t.size; ++r) CHECK_OK(sea_heap_usage(r, nullptr, &before[std::size_t(r)]));
    t.sync();
    std::vector<int> ranks;
    for (int r = 0; r < t.size; ++r) ranks.push_back(r);
    for (int i = 0; i < n; ++i) {
        sea_table table;
        REQUIRE_OK(sea_table_create(SEA_TABLE_MULTISET, ranks.data(), t.size, 10, i % t.size, &table));
        for (int k = 0; k < 10; ++k) CHECK_OK(sea_table_insert(table, of(std::to_string(k)), {}, nullptr));
        std::uint64_t total = 0;
        CHECK_OK(sea_table_total(table, SEA_TABLE_ALL, &total));
        CHECK_EQ(10, total);
        REQUIRE_OK(sea_table_destroy(table));
    }
    t.sync();
    for (int r = 0; r < t.size; ++r) CHECK_OK(sea_heap_usage(r, nullptr, &after[std::size_t(r)]));
    CHECK(before == after);
    t.sync();
}

// PROOF_OPERATIONS: how many in all; half of them on keys of the rank's own, half on keys that all share.
STEP(560, many_random_operations_agree_with_models)
{
    const char *wanted = std::getenv("PROOF_OPERATIONS");
    const std::uint64_t all = wanted ? std::strtoull(wanted, nullptr, 10) : std::uint64_t(t.times(20000));
    const std::uint64_t n = all / std::uint64_t(t.size);
    const sea_table map = shared_table(t, SEA_TABLE_MAP, 100), counts = shared_table(t, SEA_TABLE_MULTISET, 30);
    table_model own{map, std::to_string(t.rank) + ".", {t.seed + std::uint64_t(t.rank)}, {}, {}};
    dice random{t.seed * 77 + std::uint64_t(t.rank)};
    std::uint64_t added = 0, taken = 0, before = 0;
    for (std::uint64_t i = 0; i < n; i += 2) {
        own.act();
        const std::string word = "word " + std::to_string(random.below(500));
        switch (random.below(3)) {
        case 0:
            CHECK_OK(sea_table_remove(counts, of(word), &before));
            taken += before > 0;
            break;
        case 1:
            CHECK_OK(sea_table_insert(counts, of(word), {}, nullptr));
            added += 1;
            break;
        default:
            CHECK_OK(sea_table_add(counts, of(word), 3, nullptr));
            added += 3;
        }
        if (i % 1000 == 0) restart_watchdog();
    }
    own.compare();
    t.sync();
    std::uint64_t total = 0, entries = 0;
    CHECK_OK(sea_table_total(counts, SEA_TABLE_ALL, &total));
    CHECK_OK(sea_table_size(map, SEA_TABLE_ALL, &entries));
    CHECK_EQ(sum_over_ranks(t, added) - sum_over_ranks(t, taken), total);
    CHECK_EQ(sum_over_ranks(t, own.model.size()), entries);
    drop_table(t, counts);
    drop_table(t, map);
}
