// SPDX-License-Identifier: Apache-2.0
// Hash tables whose ranks die in the middle of calls (--on-death continue): the other parts go on.
#include "table_place.hpp"

#include <algorithm>
#include <csignal>
#include <thread>
#include <unistd.h>

using namespace proof;

namespace {

// Calls on everything until the kill comes.
[[noreturn]] void work_until_killed(run &t, sea_table map, sea_table counts)
{
    std::thread([&t] {
        pause_for(0.2);
        leave(*t.shared);
        kill(getpid(), SIGKILL);
    }).detach();
    table_model own{map, "victim ", {t.seed}, {}, {}};
    dice random{t.seed};
    while (true) {
        own.act();
        CHECK_OK(sea_table_insert(counts, of(std::to_string(random.below(50))), {}, nullptr));
    }
}

// A value that a model stores: one letter again and again, or a number.
bool is_whole(const std::string &value)
{
    return value.size() == 8 || std::ranges::all_of(value, [&](char c) { return c == value[0]; });
}

void wait_for_death(int rank)
{
    for (const double until = now() + 20; sea_alive(rank) && now() < until;) pause_for(0.001);
    REQUIRE(!sea_alive(rank));
}

} // namespace

LONE_STEP(595, parts_of_the_living_go_on_when_a_rank_is_killed_in_the_middle)
{
    REQUIRE(t.size >= 3);
    const int victim = t.size - 1; // has a part of each, and the directory of none
    const sea_table map = shared_table(t, SEA_TABLE_MAP, 20), counts = shared_table(t, SEA_TABLE_MULTISET, 20);
    t.sync();
    if (t.rank == victim) work_until_killed(t, map, counts);
    table_model own{map, std::to_string(t.rank) + ".", {t.seed + 7}, {}, {victim}};
    std::map<std::string, std::uint64_t> counted;
    for (int i = 0; sea_alive(victim) || i % 1000; ++i) { // and some more after it has died
        own.act();
        const std::string key = std::to_string(t.rank) + " counts " + std::to_string(i % 50);
        const int s = sea_table_insert(counts, of(key), {}, nullptr);
        CHECK(s == SEA_OK || s == SEA_ERR_DEAD);
        counted[key] += s == SEA_OK;
    }
    wait_for_death(victim);
    for (int i = 0; i < 1000; ++i) own.act();
    own.compare();
    CHECK(!own.lost.empty());
    CHECK(!own.model.empty());
    for (auto &[key, n] : counted) {
        std::uint64_t told = 0;
        const int s = sea_table_count(counts, of(key), &told);
        CHECK(s == SEA_ERR_DEAD || (s == SEA_OK && told == n));
    }
    t.sync();
    // what the victim had not removed is whole, and no entry of a living rank's part is missing
    const auto all = contents(map, SEA_TABLE_ALL);
    CHECK(std::ranges::includes(all, own.model));
    CHECK(std::ranges::all_of(all, [&](auto &e) { return is_whole(e.second); }));
    std::uint64_t n = 0, sum = 0;
    CHECK_STATUS(SEA_ERR_DEAD, sea_table_size(map, SEA_TABLE_ALL, &n));
    CHECK_STATUS(SEA_ERR_DEAD, sea_table_clear(counts, SEA_TABLE_ALL));
    sea_table_it it;
    CHECK_OK(sea_table_begin(map, SEA_TABLE_ALL, &it));
    for (; it.elem != SEA_NULL; ++sum) {
        CHECK(sea_addr_rank(it.elem) != victim);
        REQUIRE_OK(sea_table_next(&it, SEA_TABLE_ALL));
    }
    CHECK_EQ(all.size(), sum);
    CHECK_OK(sea_table_size(map, SEA_TABLE_LOCAL, &n));
    std::uint64_t keys = 0;
    const auto local = t.exchange(n);
    for (int r = 0; r < victim; ++r) keys += local[std::size_t(r)];
    CHECK_EQ(all.size(), keys);
    t.sync();
    if (t.rank == 0) {
        CHECK_OK(sea_table_destroy(map));
        CHECK_OK(sea_table_destroy(counts));
    }
    t.sync();
}
