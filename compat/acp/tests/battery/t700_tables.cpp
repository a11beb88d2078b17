// SPDX-License-Identifier: Apache-2.0
// Set, multiset, map.
#include "battery.hpp"
#include "random.hpp"

#include <map>
#include <set>

using namespace battery;

namespace {

constexpr std::size_t key_desk = 4096, value_desk = 6000, in_desk = 8000; // words of the starter memory

acp_element_t key(const std::string &text)
{
    std::memcpy(&words()[key_desk], text.data(), text.size());
    return {word_of(self.me, key_desk), text.size()};
}

acp_pair_t pair(const std::string &k, const std::string &v)
{
    std::memcpy(&words()[value_desk], v.data(), v.size());
    return {key(k), {word_of(self.me, value_desk), v.size()}};
}

std::string get(acp_element_t e)
{
    if (e.ga == ACP_GA_NULL) return "nothing";
    do_copy(word_of(self.me, in_desk), e.ga, e.size);
    return {reinterpret_cast<char *>(&words()[in_desk]), e.size};
}

std::vector<int> all_ranks()
{
    std::vector<int> ranks;
    for (int r = 0; r < self.n; ++r) ranks.push_back(r);
    return ranks;
}

// One that the first process makes and all use.
acp_map_t shared_map(int slots)
{
    acp_map_t m{};
    if (self.me == 0) m = acp_create(map, self.n, all_ranks().data(), slots, self.n - 1);
    m.ga = everywhere(m.ga)[0];
    m.num_ranks = std::uint64_t(self.n);
    m.num_slots = std::uint64_t(slots);
    CHECK(m.ga != ACP_GA_NULL);
    return m;
}

std::set<std::string> keys_of(acp_set_t s)
{
    std::set<std::string> keys;
    for (acp_set_it_t it = acp_begin(set, s); it.elem != ACP_GA_NULL; it = acp_increment(set_it, it))
        CHECK(keys.insert(get(acp_dereference(set_it, it))).second);
    return keys;
}

} // namespace

STEP(a_set_has_each_key_once)
{
    const std::vector<int> ranks = all_ranks();
    acp_set_t s = acp_create(set, self.n, ranks.data(), 16, self.right());
    CHECK(s.ga != ACP_GA_NULL);
    EQUAL(s.num_ranks, std::uint64_t(self.n));
    EQUAL(s.num_slots, 16u);
    EQUAL(acp_empty(set, s), 1);
    EQUAL(acp_begin(set, s).elem, ACP_GA_NULL);
    for (const char *text : {"one", "two", "three"}) EQUAL(acp_insert(set, s, key(text)), 1);
    EQUAL(acp_insert(set, s, key("two")), 0);
    EQUAL(acp_size(set, s), 3u);
    CHECK(keys_of(s) == (std::set<std::string>{"one", "two", "three"}));
    const acp_set_it_t it = acp_find(set, s, key("three"));
    CHECK(it.rank >= 0 && it.rank < self.n && it.slot >= 0 && it.slot < 16);
    EQUAL(get(acp_dereference(set_it, it)), "three");
    EQUAL(acp_find(set, s, key("four")).elem, ACP_GA_NULL);
    acp_remove(set, s, key("one"));
    acp_remove(set, s, key("four"));
    acp_set_t t = acp_create(set, 1, &ranks[std::size_t(self.me)], 3, self.me);
    acp_insert(set, t, key("four"));
    acp_merge(set, t, s);
    CHECK(keys_of(t) == (std::set<std::string>{"four", "two", "three"}));
    EQUAL(acp_size_local_set(t), 3u);
    EQUAL(acp_empty_local_set(t), 0);
    acp_assign(set, s, t);
    EQUAL(acp_size(set, s), 3u);
    acp_clear(set, t);
    EQUAL(acp_empty(set, t), 1);
    acp_move_set(t, s);
    EQUAL(acp_size(set, s), 0u);
    acp_swap(set, s, t);
    EQUAL(acp_size(set, s), 3u);
    acp_assign_local_set(t, s);
    acp_merge_local_set(t, s);
    EQUAL(acp_size(set, t), acp_size_local_set(s));
    acp_move_local_set(t, s);
    EQUAL(acp_size_local_set(s), 0u);
    acp_destroy(set, s);
    acp_destroy(set, t);
    acp_sync();
}

STEP(local_places_stay_on_this_process)
{
    acp_set_t s{};
    if (self.me == 0) s = acp_create(set, self.n, all_ranks().data(), 8, 0);
    s.ga = everywhere(s.ga)[0];
    s.num_ranks = std::uint64_t(self.n);
    s.num_slots = 8;
    for (int i = self.me; i < 60; i += self.n) EQUAL(acp_insert(set, s, key("key " + std::to_string(i))), 1);
    acp_sync();
    std::size_t mine = 0;
    const acp_set_it_t end = acp_end_local_set(s);
    for (acp_set_it_t it = acp_begin_local_set(s); it.elem != end.elem; it = acp_increment(set_it, it)) {
        EQUAL(acp_query_rank(acp_dereference(set_it, it).ga), self.me);
        EQUAL(acp_query_color(acp_dereference(set_it, it).ga), 0);
        ++mine;
    }
    EQUAL(mine, acp_size_local_set(s));
    EQUAL(acp_size(set, s), 60u);
    acp_sync();
    if (self.me == 0) acp_destroy(set, s);
    acp_sync();
}

STEP(a_multiset_counts)
{
    const std::vector<int> ranks = all_ranks();
    acp_multiset_t m = acp_create(multiset, self.n, ranks.data(), 5, self.me);
    for (int i = 0; i < 5; ++i) EQUAL(acp_insert(multiset, m, key("often")), 1);
    EQUAL(acp_insert(multiset, m, key("once")), 1);
    EQUAL(acp_retrieve_multiset(m, key("often")), 5u);
    EQUAL(acp_retrieve_multiset(m, key("never")), 0u);
    EQUAL(acp_size(multiset, m), 2u);
    acp_remove(multiset, m, key("often"));
    acp_remove(multiset, m, key("once"));
    EQUAL(acp_retrieve_multiset(m, key("often")), 4u);
    EQUAL(acp_find(multiset, m, key("once")).elem, ACP_GA_NULL);
    acp_multiset_it_t it = acp_begin(multiset, m);
    EQUAL(it.set.ga, m.ga);
    EQUAL(get(acp_dereference(multiset_it, it)), "often");
    EQUAL(acp_increment(multiset_it, it).elem, acp_end(multiset, m).elem);
    acp_multiset_t o = acp_create(multiset, self.n, ranks.data(), 7, self.right());
    acp_insert(multiset, o, key("often"));
    acp_merge(multiset, o, m);
    EQUAL(acp_retrieve_multiset(o, key("often")), 5u);
    acp_move_multiset(o, m);
    EQUAL(acp_retrieve_multiset(o, key("often")), 9u);
    EQUAL(acp_empty(multiset, m), 1);
    acp_assign(multiset, m, o);
    acp_swap(multiset, m, o);
    EQUAL(acp_retrieve_multiset(m, key("often")), 9u);
    acp_remove_all_multiset(m, key("often"));
    EQUAL(acp_size(multiset, m), 0u);
    acp_assign_local_multiset(m, o);
    acp_merge_local_multiset(m, o);
    acp_move_local_multiset(m, o);
    EQUAL(acp_size_local_multiset(o), 0u);
    EQUAL(acp_empty_local_multiset(o), 1);
    EQUAL(acp_begin_local_multiset(o).elem, acp_end_local_multiset(o).elem);
    acp_clear(multiset, m);
    acp_destroy(multiset, m);
    acp_destroy(multiset, o);
    acp_sync();
}

STEP(a_map_keeps_values)
{
    const std::vector<int> ranks = all_ranks();
    acp_map_t m = acp_create(map, self.n, ranks.data(), 9, self.right());
    EQUAL(acp_insert(map, m, pair("key", "the value")), 1);
    EQUAL(acp_insert(map, m, pair("key", "another")), 0);
    EQUAL(acp_insert(map, m, pair("empty", "")), 1);
    acp_pair_t p = pair("key", std::string(20, '-'));
    EQUAL(acp_retrieve_map(m, p), 9u);
    EQUAL(get({p.second.ga, 12}), "the value---");
    p.second.size = 3;
    std::memcpy(&words()[value_desk], "-----", 5);
    EQUAL(acp_retrieve_map(m, p), 9u);
    EQUAL(get({p.second.ga, 5}), "the--");
    acp_pair_t there = pair("key", "");
    there.second = {word_of(self.right(), in_desk + 100 + std::size_t(self.me)), 8}; // to memory of another
    EQUAL(acp_retrieve_map(m, there), 9u);
    EQUAL(get(there.second), "the valu");
    there.second.size = ~std::size_t(0); // as much as there is
    EQUAL(acp_retrieve_map(m, there), 9u);
    EQUAL(get({there.second.ga, 9}), "the value");
    EQUAL(acp_retrieve_map(m, pair("absent", "----")), 0u);
    const acp_map_it_t it = acp_find(map, m, key("key"));
    EQUAL(get(acp_dereference(map_it, it).first), "key");
    EQUAL(get(acp_dereference(map_it, it).second), "the value");
    acp_map_t o = acp_create(map, 1, &ranks[0], 1, 0);
    acp_assign(map, o, m);
    EQUAL(acp_size(map, o), 2u);
    std::size_t seen = 0;
    for (acp_map_it_t at = acp_begin(map, o); at.elem != acp_end(map, o).elem; at = acp_increment(map_it, at)) ++seen;
    EQUAL(seen, 2u);
    acp_remove(map, o, key("key"));
    acp_merge(map, o, m);
    acp_move_map(o, m);
    EQUAL(acp_empty(map, m), 1);
    acp_swap(map, m, o);
    EQUAL(acp_size(map, m), 2u);
    acp_assign_local_map(o, m);
    acp_merge_local_map(o, m);
    EQUAL(acp_size(map, o), acp_size_local_map(m));
    acp_clear_local_map(m);
    EQUAL(acp_empty_local_map(m), 1);
    EQUAL(acp_begin_local_map(m).elem, acp_end_local_map(m).elem);
    acp_move_local_map(m, o);
    acp_clear(map, m);
    acp_destroy(map, m);
    acp_destroy(map, o);
    acp_sync();
}

STEP(all_processes_fill_one_map)
{
    acp_map_t m = shared_map(64);
    random_numbers random(seed * 100 + std::uint64_t(self.me));
    std::map<std::string, std::string> mine;
    for (int i = 0; i < 400; ++i) {
        const std::string k = std::to_string(self.me) + "/" + std::to_string(random.below(100));
        if (random.below(3) == 0) {
            acp_remove(map, m, key(k));
            mine.erase(k);
        } else {
            const std::string v(random.below(200), char('a' + i % 26));
            EQUAL(acp_insert(map, m, pair(k, v)), int(mine.emplace(k, v).second));
        }
    }
    std::size_t won = 0; // of racing inserts of one key one succeeds
    for (int i = 0; i < 50; ++i) won += std::size_t(acp_insert(map, m, pair("race " + std::to_string(i), "x")));
    acp_sync();
    for (const auto &[k, v] : mine) {
        acp_pair_t p = pair(k, std::string(200, '?'));
        EQUAL(acp_retrieve_map(m, p), v.size());
        EQUAL(get({p.second.ga, v.size()}), v);
    }
    fill_words(2, won);
    std::size_t all = 0, keys = 0;
    for (int rank = 0; rank < self.n; ++rank) {
        do_copy(word_of(self.me, 1), word_of(rank, 0), 8);
        all += words()[1];
    }
    EQUAL(all, 50u);
    fill_words(2, mine.size());
    for (int rank = 0; rank < self.n; ++rank) {
        do_copy(word_of(self.me, 1), word_of(rank, 0), 8);
        keys += words()[1];
    }
    EQUAL(acp_size(map, m), keys + 50);
    acp_sync();
    if (self.me == 0) acp_destroy(map, m);
    acp_sync();
}

STEP(wrong_uses_of_tables_are_told)
{
    const std::vector<int> ranks = all_ranks();
    const int bad = self.n;
    ERROR_OF("0 parts", EQUAL(acp_create(set, 0, ranks.data(), 4, 0).ga, ACP_GA_NULL));
    ERROR_OF("of 0 slots", EQUAL(acp_create(set, 1, ranks.data(), 0, 0).ga, ACP_GA_NULL));
    ERROR_OF("no rank", EQUAL(acp_create(set, 1, &bad, 4, 0).ga, ACP_GA_NULL));
    ERROR_OF("no rank", EQUAL(acp_create(set, 1, ranks.data(), 4, -1).ga, ACP_GA_NULL));
    acp_set_t s = acp_create(set, self.n, ranks.data(), 4, self.right());
    ERROR_OF("acp_insert_set", EQUAL(acp_insert(set, s, acp_element_t{word_of(self.me, 0), 0}), 0));
    ERROR_OF("acp_insert_set", EQUAL(acp_insert(set, s, acp_element_t{word_of(self.me, 0), std::size_t(1) << 30}), 0));
    ERROR_OF("acp_insert_set", EQUAL(acp_insert(set, s, acp_element_t{ACP_GA_NULL, 8}), 0));
    ERROR_OF("", EQUAL(acp_increment(set_it, acp_end(set, s)).elem, ACP_GA_NULL));
    acp_destroy(set, s);
    ERROR_OF("acp_size_set", EQUAL(acp_size(set, s), 0u));
    ERROR_OF("acp_destroy_set", acp_destroy(set, s));
    ERROR_OF("acp_find_map", EQUAL(acp_find(map, acp_map_t{ACP_GA_NULL, 1, 1}, key("k")).elem, ACP_GA_NULL));
    acp_sync();
}

STEP(a_thousand_tables_leave_nothing_behind)
{
    const std::vector<int> ranks = all_ranks();
    const auto round = [&](int times) {
        for (int i = 0; i < times; ++i) {
            acp_map_t m = acp_create(map, self.n, ranks.data(), 4, self.right());
            acp_insert(map, m, pair("k", "v"));
            acp_destroy(map, m);
        }
        acp_sync();
    };
    round(often(200));
    const std::size_t before = allocated_bytes();
    round(often(1000));
    CHECK(allocated_bytes() < before + (64 << 10));
}
