// SPDX-License-Identifier: Apache-2.0
// Calls that give up (sea_set_timeout()) while their data is on its way to the owner, or to them.
#include "data_reference.hpp"
#include "stop_rank.hpp"
#include "table_place.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <thread>

using namespace proof;

namespace {

constexpr std::size_t large = 12 << 20; // on its way for longer than the shortest limits

// The first rank of another node, but not this one; -1 if there is none.
int far_rank(const run &t, int but = -1)
{
    for (int r = 0; r < t.size; ++r)
        if (!t.same_node(r) && r != but) return r;
    return -1;
}

bool all_are(const std::vector<char> &bytes, char what)
{
    return std::all_of(bytes.begin(), bytes.end(), [what](char c) { return c == what; });
}

// Makes the call with time limits of which the short ones end it somewhere on the way. The memory that it freed then is
// used for something else at once: neither may the call store that, nor an answer come into it.
void with_short_limits(const std::function<int()> &call, const std::function<void()> &look)
{
    for (double limit : {0.0005, 0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.014, 0.02, 60.0}) {
        CHECK_OK(sea_set_timeout(limit));
        const int s = call();
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
        CHECK(s == SEA_OK || (s == SEA_ERR_TIMEOUT && limit < 1));
        const std::vector<char> other(large, 'B');
        CHECK_OK(sea_fence_all());
        CHECK(all_are(other, 'B'));
        look();
    }
}

// Each of its elements is `large` bytes of 'A'.
void look_at(sea_vector v)
{
    std::size_t bytes = 0;
    REQUIRE_OK(sea_vector_size(v, &bytes));
    CHECK(bytes % large == 0);
    std::vector<char> in(bytes);
    if (bytes) CHECK_OK(sea_vector_read(v, 0, in.data(), bytes));
    CHECK(all_are(in, 'A'));
    CHECK_OK(sea_vector_clear(v));
}

void look_at(sea_list l)
{
    std::vector<char> in(large);
    for (std::size_t bytes = 0; sea_list_pop_front(l, in.data(), large, &bytes) == SEA_OK;)

        CHECK(bytes == large && all_are(in, 'A'));
    CHECK_OK(sea_list_clear(l));
}

} // namespace

STEP(90, vector_call_that_gave_up_stores_what_it_was_given_or_nothing)
{
    const int far = t.rank == 0 ? far_rank(t) : -1;
    if (far >= 0) {
        sea_vector from{}, to{};
        REQUIRE_OK(sea_vector_create(0, large, &from));
        REQUIRE_OK(sea_vector_create(far, large, &to));
        REQUIRE_OK(sea_vector_assign(from, std::vector<char>(large, 'A').data(), large));
        with_short_limits([=] { return sea_vector_assign_range(to, from, 0, SEA_REST); }, [=] { look_at(to); });
        with_short_limits([=] { return sea_vector_insert_range(to, 0, from, 0, SEA_REST); }, [=] { look_at(to); });
        CHECK_OK(sea_vector_destroy(from));
        CHECK_OK(sea_vector_destroy(to));
    }
    t.sync();
}

STEP(92, call_that_gave_up_to_fetch_from_a_third_rank_is_written_by_no_answer)
{
    const int far = t.rank == 0 ? far_rank(t) : -1, third = t.rank == 0 ? far_rank(t, far) : -1;
    if (third >= 0) {
        sea_addr from = SEA_NULL;
        sea_vector to{};
        REQUIRE_OK(sea_heap_alloc(third, large, &from));
        REQUIRE_OK(sea_put(from, std::vector<char>(large, 'A').data(), large, nullptr));
        REQUIRE_OK(sea_fence(third));
        REQUIRE_OK(sea_vector_create(far, large, &to));
        with_short_limits([=] { return sea_vector_assign_from(to, from, large); }, [=] { look_at(to); });
        CHECK_OK(sea_vector_destroy(to));
        CHECK_OK(sea_heap_free(from));
    }
    t.sync();
}

STEP(195, list_call_that_gave_up_stores_what_it_was_given_or_nothing)
{
    const int far = t.rank == 0 ? far_rank(t) : -1;
    if (far >= 0) {
        sea_list from{}, to{};
        REQUIRE_OK(sea_list_create(0, &from));
        REQUIRE_OK(sea_list_create(far, &to));
        REQUIRE_OK(sea_list_push_back(from, far, std::vector<char>(large, 'A').data(), large, nullptr));
        with_short_limits(
            [=] {
                sea_list_it first;
                const int s = sea_list_begin(from, &first);
                return s ? s : sea_list_insert_range(sea_list_end(to), first, sea_list_end(from));
            },
            [=] { look_at(to); });
        CHECK_OK(sea_list_destroy(from));
        CHECK_OK(sea_list_destroy(to));
    }
    t.sync();
}

// What is in the list, each as often as it is there; the list is empty then.
static std::multiset<std::uint64_t> taken_out_of(sea_list l)
{
    std::multiset<std::uint64_t> all;
    for (std::uint64_t element = 0; sea_list_pop_front(l, &element, sizeof element, nullptr) == SEA_OK;)
        all.insert(element);
    return all;
}

// Splices all of a list, whose owner is stopped when some have gone, and goes on when the splice has given up.
static void splice_from_a_stopped_owner(run &t, sea_list to, sea_list from)
{
    std::thread stopper([&] {
        for (std::size_t n = 0; n < 20;)
            if (!CHECK_OK(sea_list_size(to, &n))) return;
        stop_rank(t, 1);
    });
    sea_list_it first{};
    REQUIRE_OK(sea_list_begin(from, &first));
    REQUIRE_OK(sea_set_timeout(0.5));
    CHECK_STATUS(SEA_ERR_TIMEOUT, sea_list_splice(sea_list_end(to), first, sea_list_end(from)));
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
    stopper.join();
    let_go_on(t, 1);
    CHECK_OK(sea_fence_all());
}

// The bytes of the elements lie at the caller: nothing but the removals from the old list is asked of the one that is
// stopped, and it does the last of them when it goes on.
LONE_STEP(197, splice_that_gave_up_loses_no_element_and_none_shares_its_bytes_with_another)
{
    REQUIRE(t.size == 2 && t.nodes == 2);
    std::atomic<std::uint64_t> &outside = t.shared->flags[0], &over = t.shared->flags[1];
    constexpr std::uint64_t n = 3000;
    t.sync();
    if (t.rank == 1) { // who is stopped while it opens the board's gate would wake nobody
        outside = 1;
        CHECK(comes_true(over, 1));
    } else {
        CHECK(comes_true(outside, 1));
        sea_list from{}, to{};
        REQUIRE_OK(sea_list_create(1, &from));
        REQUIRE_OK(sea_list_create(0, &to));
        for (std::uint64_t i = 0; i < n; ++i) REQUIRE_OK(sea_list_push_back(from, 0, &i, sizeof i, nullptr));
        splice_from_a_stopped_owner(t, to, from);
        auto all = taken_out_of(to);
        all.merge(taken_out_of(from));
        CHECK(all.size() == n || all.size() == n + 1);
        CHECK_EQ(n, std::set(all.begin(), all.end()).size());
        CHECK_OK(sea_list_destroy(from));
        CHECK_OK(sea_list_destroy(to));
        over = 1;
    }
    t.sync();
}

// The call gives up while that rank is stopped, then the rank does what it was asked.
static void give_up(run &t, int rank, const std::function<int()> &call)
{
    stop_rank(t, rank);
    REQUIRE_OK(sea_set_timeout(0.3));
    CHECK_STATUS(SEA_ERR_TIMEOUT, call());
    CHECK_OK(sea_set_timeout(SEA_FOREVER));
    let_go_on(t, rank);
    CHECK_OK(sea_fence_all());
}

// Each call on a list of rank 1 whose elements lie on rank 2, given up. What is not in the list then is free.
static void give_up_each_call(run &t)
{
    std::size_t before = 0, used = 0, n = 0;
    REQUIRE_OK(sea_heap_usage(2, nullptr, &before));
    const auto all_is_free = [&] {
        for (const double until = now() + 10; now() < until; pause_for(0.01))
            if (CHECK_OK(sea_heap_usage(2, nullptr, &used)) && used == before) return true;
        return false;
    };
    sea_list l{};
    REQUIRE_OK(sea_list_create(1, &l));
    sea_list_it it{};
    std::uint64_t element = 7;
    const auto push = [&] { return sea_list_push_back(l, 2, &element, sizeof element, &it); };
    const auto pop = [&] { return sea_list_pop_front(l, &element, sizeof element, nullptr); };
    const auto erase = [&] { return sea_list_erase(it, nullptr); };
    const auto erase_all = [&] { return sea_list_erase_range(it, sea_list_end(l), nullptr); };
    const auto clear = [&] { return sea_list_clear(l); };
    for (const std::function<int()> &call : {std::function<int()>(pop), {erase}, {erase_all}, {clear}}) {
        REQUIRE_OK(push());
        give_up(t, 1, call);
        CHECK(all_is_free());
    }
    REQUIRE_OK(push());
    give_up(t, 2, pop);
    CHECK(all_is_free());
    give_up(t, 2, push); // the bytes come there, and no element
    CHECK(all_is_free());
    give_up(t, 1, push); // it comes
    CHECK_OK(sea_list_size(l, &n));
    CHECK_EQ(1, n);
    CHECK_OK(sea_list_destroy(l));
    CHECK(all_is_free());
    REQUIRE_OK(sea_list_create(1, &l));
    give_up(t, 1, [&] { return sea_list_destroy(l); });
    give_up(t, 1, push); // there is no list for it any more
    CHECK(all_is_free());
}

LONE_STEP(198, list_call_that_gave_up_leaves_nothing_allocated_that_is_not_in_the_list)
{
    REQUIRE(t.size == 3 && t.nodes == 3);
    std::atomic<std::uint64_t> &outside = t.shared->flags[0], &over = t.shared->flags[1];
    t.sync();
    if (t.rank == 0) {
        CHECK(comes_true(outside, 2));
        give_up_each_call(t);
        over = 1;
    } else { // who is stopped while it opens the board's gate would wake nobody
        ++outside;
        CHECK(comes_true(over, 1));
    }
    t.sync();
}

STEP(552, table_call_that_gave_up_stores_what_it_was_given_or_nothing)
{
    const int far = t.rank == 0 ? far_rank(t) : -1;
    if (far >= 0) {
        sea_table table{};
        REQUIRE_OK(sea_table_create(SEA_TABLE_MAP, &far, 1, 16, far, &table));
        const std::string key(600, 'k'), value(large, 'A'); // a long key: they are sent as one
        with_short_limits([&] { return sea_table_store(table, of(key), of(value), nullptr); },
                          [&] {
                              const std::string got = value_of(table, key);
                              CHECK(got == value || got == "absent");
                              CHECK_OK(sea_table_remove(table, of(key), nullptr));
                          });
        CHECK_OK(sea_table_destroy(table));
    }
    t.sync();
}
