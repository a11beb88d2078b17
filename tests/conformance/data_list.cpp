// SPDX-License-Identifier: Apache-2.0
// Lists that all ranks use at once, with elements on any rank.
#include "data_reference.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

using namespace proof;

namespace {

std::string text_of(sea_list_it it)
{
    char room[64];
    std::size_t bytes = 0;
    if (!CHECK_OK(sea_list_read(it, room, sizeof room, &bytes))) return "?";
    return {room, bytes};
}

std::string texts(sea_list list)
{
    std::vector<sea_list_entry> entries(100);
    std::size_t n = 0;
    sea_list_it first;
    if (!CHECK_OK(sea_list_begin(list, &first))) return "?";
    if (!CHECK_OK(sea_list_fetch(first, entries.data(), entries.size(), &n, nullptr))) return "?";
    std::string all;
    for (std::size_t i = 0; i < n; ++i) all += (i ? " " : "") + text_of(entries[i].it);
    return all;
}

sea_list_it add(sea_list list, int rank, const std::string &text)
{
    sea_list_it it{};
    CHECK_OK(sea_list_push_back(list, rank, text.data(), text.size(), &it));
    return it;
}

sea_list everybodys_list(run &t, int owner)
{
    sea_list l{SEA_NULL};
    if (t.rank == owner) REQUIRE_OK(sea_list_create(owner, &l));
    return {t.exchange(l.at)[std::size_t(owner)]};
}

std::uint64_t resident_pages()
{
    std::uint64_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident;
}

// So much of each heap is in use.
std::vector<std::uint64_t> used(run &t)
{
    std::size_t bytes = 0;
    REQUIRE_OK(sea_heap_usage(t.rank, nullptr, &bytes));
    return t.exchange(bytes);
}

} // namespace

STEP(110, list_keeps_elements_of_any_rank_in_order_and_frees_them_all)
{
    const auto before = used(t);
    t.sync();
    for (int owner : t.peers())
        for (int rank : t.peers()) {
            sea_list l{SEA_NULL};
            REQUIRE_OK(sea_list_create(owner, &l));
            const sea_list_it b = add(l, rank, "bb");
            const sea_list_it d = add(l, owner, "dddd");
            sea_list_it c{}, a{}, next{};
            CHECK_OK(sea_list_insert(d, rank, "ccc", 3, &c));
            CHECK_OK(sea_list_push_front(l, rank, "a", 1, &a));
            CHECK_OK(sea_list_insert(sea_list_end(l), rank, nullptr, 0, nullptr));
            CHECK(texts(l) == "a bb ccc dddd ");
            sea_list_entry e{};
            CHECK_OK(sea_list_get(c, &e));
            CHECK_EQ(rank, sea_addr_rank(e.data));
            CHECK_EQ(3, e.bytes);
            CHECK_OK(sea_list_advance(b, 2, &next));
            CHECK_EQ(d.entry, next.entry);
            CHECK_OK(sea_list_advance(d, -3, &next));
            CHECK_EQ(a.entry, next.entry);
            std::size_t n = 0;
            CHECK_OK(sea_list_distance(a, sea_list_end(l), &n));
            CHECK_EQ(5, n);
            CHECK_STATUS(SEA_ERR_ADDRESS, sea_list_distance(d, a, &n));
            CHECK_OK(sea_list_erase(b, &next));
            CHECK_EQ(c.entry, next.entry);
            CHECK_STATUS(SEA_ERR_HANDLE, sea_list_erase(b, &next));
            CHECK_OK(sea_list_reverse(l));
            CHECK(texts(l) == " dddd ccc a");
            char out[8];
            std::size_t bytes = 0;
            CHECK_OK(sea_list_pop_back(l, out, sizeof out, &bytes));
            CHECK(std::string(out, bytes) == "a");
            CHECK_OK(sea_list_pop_front(l, out, 0, &bytes));
            CHECK_EQ(0, bytes);
            CHECK_STATUS(SEA_ERR_INVALID, sea_list_pop_front(l, out, 3, &bytes));
            CHECK_OK(sea_list_pop_front(l, nullptr, 0, &bytes));
            CHECK_EQ(4, bytes);
            CHECK_OK(sea_list_size(l, &n));
            CHECK_EQ(1, n);
            CHECK_OK(sea_list_destroy(l));
            CHECK_STATUS(SEA_ERR_HANDLE, sea_list_size(l, &n));
        }
    t.sync();
    CHECK(used(t) == before);
}

// Where its bytes lie in this process.
static const void *bytes_of(sea_list_it it, std::size_t *bytes)
{
    sea_list_entry e{};
    REQUIRE_OK(sea_list_get(it, &e));
    *bytes = e.bytes;
    return sea_local(e.data);
}

// What is freed is used by somebody else at once.
static void use_what_is_freed(const std::atomic<bool> &over)
{
    while (!over) {
        std::array<sea_addr, 64> all{};
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::size_t bytes = 48 + i;
            REQUIRE_OK(sea_heap_alloc(sea_rank(), bytes, &all[i]));
            std::memset(sea_local(all[i]), 'z', bytes);
        }
        for (sea_addr a : all) CHECK_OK(sea_heap_free(a));
    }
}

STEP(115, elements_equal_to_one_of_the_list_are_removed_with_it)
{
    std::atomic<bool> over{false};
    std::thread other(use_what_is_freed, std::cref(over));
    for (int owner = 0; t.rank == 0 && owner < t.size; ++owner) {
        sea_list list{SEA_NULL};
        REQUIRE_OK(sea_list_create(owner, &list));
        const std::string gone(64, 'x'), stays(64, 'y');
        const auto n = std::size_t(t.times(2000));
        sea_list_it first{};
        for (std::size_t i = 0; i < n; ++i) {
            REQUIRE_OK(sea_list_push_back(list, 0, gone.data(), gone.size(), i ? nullptr : &first));
            REQUIRE_OK(sea_list_push_back(list, 0, stays.data(), stays.size(), nullptr));
        }
        std::size_t bytes = 0, removed = 0, left = 0;
        const void *of_first = bytes_of(first, &bytes);
        REQUIRE(of_first != nullptr);
        CHECK_OK(sea_list_remove(list, of_first, bytes, &removed));
        CHECK_EQ(n, removed);
        CHECK_OK(sea_list_size(list, &left));
        CHECK_EQ(n, left);
        CHECK_OK(sea_list_destroy(list));
    }
    over = true;
    other.join();
    t.sync();
}

STEP(120, list_takes_elements_from_global_addresses)
{
    sea_addr mine = SEA_NULL;
    REQUIRE_OK(sea_heap_alloc(t.rank, 64, &mine));
    fill(sea_local(mine), 64, std::uint64_t(t.rank));
    const auto sources = t.exchange(mine);
    for (int owner : t.peers())
        for (int rank : t.peers())
            for (int source : t.peers()) {
                sea_list l{SEA_NULL};
                REQUIRE_OK(sea_list_create(owner, &l));
                sea_list_it it{};
                CHECK_OK(sea_list_push_front_from(l, rank, sources[std::size_t(source)], 64, &it));
                char out[64];
                std::size_t bytes = 0;
                CHECK_OK(sea_list_read(it, out, sizeof out, &bytes));
                CHECK_EQ(64, bytes);
                CHECK_DATA(out, 64, std::uint64_t(source));
                CHECK_OK(sea_list_pop_back(l, out, sizeof out, &bytes));
                CHECK_DATA(out, 64, std::uint64_t(source));
                CHECK_OK(sea_list_destroy(l));
            }
    t.sync();
    CHECK_OK(sea_heap_free(mine));
}

STEP(130, lists_of_any_owners_are_spliced_swapped_copied_and_compared)
{
    const auto before = used(t);
    t.sync();
    for (int other : t.peers())
        for (int rank : t.peers()) {
            sea_list a{SEA_NULL}, b{SEA_NULL};
            REQUIRE_OK(sea_list_create(t.rank, &a));
            REQUIRE_OK(sea_list_create(other, &b));
            const sea_list_it one = add(a, rank, "1"), two = add(a, t.rank, "2");
            add(a, other, "3");
            const sea_list_it x = add(b, rank, "x");
            add(b, other, "y");
            CHECK_OK(sea_list_splice(x, two, sea_list_end(a)));
            CHECK(texts(a) == "1");
            CHECK(texts(b) == "2 3 x y");
            CHECK_OK(sea_list_swap(a, b));
            CHECK(texts(a) == "2 3 x y");
            CHECK(texts(b) == "1");
            sea_list_it first{}, third{};
            CHECK_OK(sea_list_begin(a, &first));
            CHECK_OK(sea_list_advance(first, 2, &third));
            CHECK_OK(sea_list_insert_range(sea_list_end(b), first, third));
            CHECK(texts(b) == "1 2 3");
            CHECK_OK(sea_list_assign(b, third, sea_list_end(a)));
            CHECK(texts(b) == "x y");
            CHECK_STATUS(SEA_ERR_ADDRESS, sea_list_assign(b, third, first));
            add(a, rank, "y");
            add(a, other, "y");
            add(a, rank, "2");
            std::size_t n = 0;
            CHECK_OK(sea_list_unique(a, &n));
            CHECK_EQ(2, n);
            CHECK(texts(a) == "2 3 x y 2");
            CHECK_OK(sea_list_remove(a, "2", 1, &n));
            CHECK_EQ(2, n);
            CHECK(texts(a) == "3 x y");
            CHECK_OK(sea_list_clear(b));
            CHECK(texts(b).empty());
            CHECK_STATUS(SEA_ERR_HANDLE, sea_list_splice(sea_list_end(b), one, sea_list_end(a)));
            CHECK_OK(sea_list_destroy(a));
            CHECK_OK(sea_list_destroy(b));
        }
    t.sync();
    CHECK(used(t) == before);
}

STEP(140, list_gives_out_every_element_of_all_ranks_once)
{
    for (int owner : owners(t)) {
        const sea_list l = everybodys_list(t, owner);
        const int n = t.times(150);
        dice d{t.seed + std::uint64_t(t.rank)};
        std::vector<std::uint64_t> got;
        for (int i = 0; i < n; ++i) {
            const std::uint64_t element = element_of(t.rank, i);
            const int where = i % 4 ? owner : int(d.below(std::uint64_t(t.size)));
            REQUIRE_OK((i % 2 ? sea_list_push_back : sea_list_push_front)(l, where, &element, 8, nullptr));
            if (i % 3 == 0) continue;
            std::uint64_t out = 0;
            REQUIRE_OK((i % 5 < 2 ? sea_list_pop_back : sea_list_pop_front)(l, &out, 8, nullptr));
            got.push_back(out);
        }
        t.sync();
        for (std::uint64_t out = 0; sea_list_pop_front(l, &out, 8, nullptr) == SEA_OK;) got.push_back(out);
        CHECK(each_once(t, got, n));
        if (t.rank == owner) CHECK_OK(sea_list_destroy(l));
        t.sync();
    }
}

// An element's bytes, for as long as it is there, whatever comes to its place afterwards.
static void read_front_twice(sea_list l)
{
    sea_list_it first{};
    std::uint64_t one = 0, again = 0;
    std::size_t bytes = 0;
    REQUIRE_OK(sea_list_begin(l, &first));
    const int s = sea_list_read(first, &one, sizeof one, &bytes);
    REQUIRE(s == SEA_OK || s == SEA_ERR_HANDLE || s == SEA_ERR_ADDRESS);
    if (s != SEA_OK || sea_list_read(first, &again, sizeof again, &bytes) != SEA_OK) return;
    CHECK_EQ(8, bytes);
    CHECK_EQ(one, again);
}

STEP(145, what_is_read_of_a_list_is_the_bytes_of_that_element_while_others_come_and_go)
{
    const int owner = 0;
    const sea_list l = everybodys_list(t, owner);
    std::atomic<std::uint64_t> &over = t.shared->flags[0];
    const std::uint64_t all_over = over + std::uint64_t(t.size - 1);
    t.sync();
    if (t.rank == owner) {
        for (std::uint64_t i = 0; over < all_over; ++i) {
            REQUIRE_OK(sea_list_push_back(l, owner, &i, sizeof i, nullptr));
            REQUIRE_OK(sea_list_pop_front(l, nullptr, 0, nullptr));
        }
    } else {
        for (int i = t.times(2000); i > 0; --i) read_front_twice(l);
        ++over;
    }
    t.sync();
    if (t.rank == owner) CHECK_OK(sea_list_destroy(l));
    t.sync();
}

STEP(150, list_is_sorted_by_its_callers_while_others_add_to_it)
{
    const int owner = t.size - 1, n = t.times(40);
    const sea_list l = everybodys_list(t, owner);
    dice d{t.seed * 7 + std::uint64_t(t.rank)};
    for (int i = 0; i < n; ++i) {
        const std::uint64_t element = d.next();
        REQUIRE_OK(sea_list_push_back(l, owner, &element, 8, nullptr));
        if (i % 8) continue;
        std::vector<sea_list_entry> entries(std::size_t(n * t.size));
        for (int status = SEA_ERR_STATE; status == SEA_ERR_STATE;) {
            sea_list_it first;
            std::size_t count = 0;
            std::uint64_t version = 0;
            REQUIRE_OK(sea_list_begin(l, &first));
            REQUIRE_OK(sea_list_fetch(first, entries.data(), entries.size(), &count, &version));
            std::vector<std::pair<std::uint64_t, sea_addr>> order;
            for (std::size_t k = 0; k < count; ++k) {
                std::uint64_t value = 0;
                REQUIRE_OK(sea_get(&value, entries[k].data, 8, nullptr));
                order.emplace_back(value, entries[k].it.entry);
            }
            std::sort(order.begin(), order.end());
            std::vector<sea_addr> names;
            for (auto &o : order) names.push_back(o.second);
            status = sea_list_reorder(l, version, names.data(), names.size());
            REQUIRE(status == SEA_OK || status == SEA_ERR_STATE || status == SEA_ERR_INVALID);
            if (status == SEA_ERR_INVALID) status = SEA_ERR_STATE; // begin and fetch saw different first elements
        }
    }
    t.sync();
    std::size_t size = 0;
    CHECK_OK(sea_list_size(l, &size));
    CHECK_EQ(n * t.size, size);
    t.sync();
    if (t.rank == owner) CHECK_OK(sea_list_destroy(l));
}

STEP(160, wrong_use_of_lists_is_an_error_everywhere)
{
    for (int owner : t.peers()) {
        sea_list l{SEA_NULL};
        CHECK_STATUS(SEA_ERR_RANK, sea_list_create(t.size, &l));
        REQUIRE_OK(sea_list_create(owner, &l));
        char out[8];
        std::size_t n = 0;
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_list_pop_front(l, out, 8, &n));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_list_erase(sea_list_end(l), nullptr));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_list_read(sea_list_end(l), out, 8, &n));
        CHECK_STATUS(SEA_ERR_RANK, sea_list_push_back(l, t.size, "x", 1, nullptr));
        CHECK_STATUS(SEA_ERR_INVALID, sea_list_push_back(l, owner, nullptr, 1, nullptr));
        CHECK_STATUS(SEA_ERR_MEMORY, sea_list_push_back(l, owner, out, std::size_t(1) << 40, nullptr));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_list_push_back_from(l, owner, SEA_NULL, 1, nullptr));
        sea_list_it it = add(l, owner, "x");
        sea_list_it bad = it;
        bad.entry += 64;
        CHECK_STATUS(SEA_ERR_HANDLE, sea_list_erase(bad, nullptr));
        bad = it;
        bad.stamp ^= 64;
        CHECK_STATUS(SEA_ERR_HANDLE, sea_list_erase(bad, nullptr));
        bad.entry = SEA_NULL;
        CHECK_STATUS(SEA_ERR_HANDLE, sea_list_erase(bad, nullptr));
        it.stamp = 0;
        CHECK_OK(sea_list_erase(it, nullptr));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_list_erase(it, nullptr));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_vector_clear({l.at}));
        CHECK_OK(sea_list_destroy(l));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_list_push_back(l, owner, "x", 1, nullptr));
    }
}

STEP(170, making_and_freeing_many_structures_leaves_all_memory_as_it_was)
{
    const auto before = used(t);
    [[maybe_unused]] const auto pages = resident_pages(); // sanitizers keep what is freed for a while
    t.sync();
    const int n = t.times(2000);
    for (int i = 0; i < n; ++i) {
        const int owner = (t.rank + i) % t.size;
        sea_vector v{SEA_NULL};
        sea_deque d{SEA_NULL};
        sea_list l{SEA_NULL};
        sea_queue q{SEA_NULL};
        REQUIRE_OK(sea_vector_create(owner, 10, &v));
        REQUIRE_OK(sea_deque_create(owner, 10, &d));
        REQUIRE_OK(sea_list_create(owner, &l));
        REQUIRE_OK(sea_queue_create(owner, 0, &q));
        add(l, t.rank, "x");
        REQUIRE_OK(sea_queue_push(q, &i, sizeof i, 0));
        REQUIRE_OK(sea_queue_destroy(q));
        REQUIRE_OK(sea_list_destroy(l));
        REQUIRE_OK(sea_deque_destroy(d));
        REQUIRE_OK(sea_vector_destroy(v));
    }
    t.sync();
    CHECK(used(t) == before);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(resident_pages() < pages + 512); // 2 MiB: of the heaps that are looked at for the first time, too
#endif
}
