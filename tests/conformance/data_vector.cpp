// SPDX-License-Identifier: Apache-2.0
// Vectors and deques that all ranks use at once.
#include "data_reference.hpp"

#include <algorithm>
#include <string>
#include <thread>

using namespace proof;

namespace {

sea_vector everybodys_vector(run &t, int owner)
{
    sea_vector v{SEA_NULL};
    if (t.rank == owner) REQUIRE_OK(sea_vector_create(owner, 0, &v));
    return {t.exchange(v.at)[std::size_t(owner)]};
}

} // namespace

STEP(10, vector_holds_every_element_that_all_ranks_push_once)
{
    for (int owner : owners(t)) {
        const sea_vector v = everybodys_vector(t, owner);
        const int n = t.times(300);
        for (int i = 0; i < n; ++i) {
            const std::uint64_t element = element_of(t.rank, i);
            std::size_t position = 1;
            REQUIRE_OK(sea_vector_push_back(v, &element, sizeof element, &position));
            REQUIRE(position % sizeof element == 0);
        }
        t.sync();
        std::size_t bytes = 0;
        REQUIRE_OK(sea_vector_size(v, &bytes));
        REQUIRE(bytes == std::size_t(t.size) * std::size_t(n) * 8);
        std::vector<std::uint64_t> all(bytes / 8);
        REQUIRE_OK(sea_vector_read(v, 0, all.data(), bytes));
        CHECK(in_order_of_each_rank(all, t.size, n));
        t.sync();
        if (t.rank == owner) CHECK_OK(sea_vector_destroy(v));
    }
}

STEP(20, vector_can_be_made_used_and_freed_on_any_rank)
{
    for (int owner : t.peers()) {
        sea_vector v{SEA_NULL};
        REQUIRE_OK(sea_vector_create(owner, 100, &v));
        std::size_t capacity = 0;
        CHECK_OK(sea_vector_capacity(v, &capacity));
        CHECK(capacity >= 100);
        std::vector<unsigned char> large(300'000), back(large.size());
        fill(large.data(), large.size(), t.seed);
        CHECK_OK(sea_vector_push_back(v, large.data(), large.size(), nullptr));
        CHECK_OK(sea_vector_insert(v, 1000, "middle", 6));
        char six[6];
        CHECK_OK(sea_vector_read(v, 1000, six, 6));
        CHECK(std::string(six, 6) == "middle");
        CHECK_OK(sea_vector_erase(v, 1000, 6));
        CHECK_OK(sea_vector_read(v, 0, back.data(), back.size()));
        CHECK_DATA(back.data(), back.size(), t.seed);
        sea_addr at = SEA_NULL;
        CHECK_OK(sea_vector_at(v, 5000, &at));
        CHECK_EQ(owner, sea_addr_rank(at));
        CHECK_OK(sea_get(back.data(), at, 100, nullptr));
        CHECK_DATA(back.data(), 100, t.seed, 5000);
        CHECK_OK(sea_vector_assign(v, "abcdef", 6));
        CHECK_OK(sea_vector_pop_back(v, six, 2));
        CHECK(std::string(six, 2) == "ef");
        CHECK_OK(sea_vector_write(v, 1, "XY", 2));
        CHECK_OK(sea_vector_read(v, 0, six, 4));
        CHECK(std::string(six, 4) == "aXYd");
        CHECK_OK(sea_vector_clear(v));
        std::size_t size = 1;
        CHECK_OK(sea_vector_size(v, &size));
        CHECK_EQ(0, size);
        CHECK_OK(sea_vector_destroy(v));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_vector_destroy(v));
    }
}

STEP(30, vector_takes_bytes_from_global_addresses_of_any_rank)
{
    sea_addr mine = SEA_NULL;
    REQUIRE_OK(sea_heap_alloc(t.rank, 5000, &mine));
    fill(sea_local(mine), 5000, std::uint64_t(t.rank) + 7);
    sea_addr registered = SEA_NULL;
    std::vector<unsigned char> own(5000);
    fill(own.data(), 5000, std::uint64_t(t.rank) + 7);
    REQUIRE_OK(sea_register(own.data(), 5000, SEA_READ_ONLY, &registered));
    const auto sources = t.exchange(mine), registrations = t.exchange(registered);
    for (int owner : t.peers())
        for (int source : t.peers()) {
            sea_vector v{SEA_NULL};
            REQUIRE_OK(sea_vector_create(owner, 0, &v));
            const sea_addr from =
                (owner + source) % 2 ? sources[std::size_t(source)] : registrations[std::size_t(source)];
            CHECK_OK(sea_vector_push_back_from(v, from, 5000, nullptr));
            CHECK_OK(sea_vector_insert_from(v, 0, from + 10, 20));
            std::vector<unsigned char> back(5020);
            CHECK_OK(sea_vector_read(v, 0, back.data(), 5020));
            CHECK_DATA(back.data(), 20, std::uint64_t(source) + 7, 10);
            CHECK_DATA(back.data() + 20, 5000, std::uint64_t(source) + 7);
            CHECK_OK(sea_vector_assign_from(v, from, 10));
            CHECK_STATUS(SEA_ERR_ADDRESS, sea_vector_push_back_from(v, from, 1 << 20, nullptr));
            std::size_t size = 0;
            CHECK_OK(sea_vector_size(v, &size));
            CHECK_EQ(10, size);
            CHECK_OK(sea_vector_destroy(v));
        }
    t.sync();
    CHECK_OK(sea_heap_free(mine));
    CHECK_OK(sea_unregister(registered));
}

STEP(40, vectors_of_two_owners_exchange_and_copy_contents)
{
    for (int other : t.peers()) {
        sea_vector a{SEA_NULL}, b{SEA_NULL};
        REQUIRE_OK(sea_vector_create(t.rank, 0, &a));
        REQUIRE_OK(sea_vector_create(other, 0, &b));
        CHECK_OK(sea_vector_assign(a, "first", 5));
        CHECK_OK(sea_vector_assign(b, "second", 6));
        CHECK_OK(sea_vector_swap(a, b));
        char out[12];
        CHECK_OK(sea_vector_read(a, 0, out, 6));
        CHECK(std::string(out, 6) == "second");
        CHECK_OK(sea_vector_insert_range(a, 6, b, 1, SEA_REST));
        CHECK_OK(sea_vector_read(a, 0, out, 10));
        CHECK(std::string(out, 10) == "secondirst");
        CHECK_OK(sea_vector_assign_range(b, a, 3, 3));
        CHECK_OK(sea_vector_read(b, 0, out, 3));
        CHECK(std::string(out, 3) == "ond");
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_vector_assign_range(b, a, 11, SEA_REST));
        CHECK_OK(sea_vector_destroy(a));
        CHECK_OK(sea_vector_destroy(b));
    }
}

STEP(50, deque_gives_everything_out_once_to_ranks_that_pop_at_both_ends)
{
    for (int owner : owners(t)) {
        sea_deque d{SEA_NULL};
        if (t.rank == owner) REQUIRE_OK(sea_deque_create(owner, 0, &d));
        d.at = t.exchange(d.at)[std::size_t(owner)];
        const int n = t.times(200);
        std::vector<std::uint64_t> got;
        for (int i = 0; i < n; ++i) {
            const std::uint64_t element = element_of(t.rank, i);
            if (i % 2)
                REQUIRE_OK(sea_deque_push_back(d, &element, 8));
            else
                REQUIRE_OK(sea_deque_push_front(d, &element, 8));
            if (i % 3 == 0) continue;
            std::uint64_t out = 0;
            const int status = i % 4 < 2 ? sea_deque_pop_front(d, &out, 8) : sea_deque_pop_back(d, &out, 8);
            REQUIRE_OK(status); // everybody has pushed more than popped
            got.push_back(out);
        }
        t.sync();
        std::uint64_t out = 0;
        while (sea_deque_pop_front(d, &out, 8) == SEA_OK) got.push_back(out);
        CHECK(each_once(t, got, n));
        if (t.rank == owner) CHECK_OK(sea_deque_destroy(d));
        t.sync();
    }
}

STEP(60, threads_and_ranks_together_lose_nothing)
{
    const int owner = t.size - 1, threads = 3, n = t.times(100);
    const sea_vector v = everybodys_vector(t, owner);
    std::vector<std::thread> all;
    for (int k = 0; k < threads; ++k)
        all.emplace_back([&, k] {
            for (int i = 0; i < n; ++i) {
                const std::uint64_t element = element_of(t.rank * threads + k, i);
                CHECK_OK(sea_vector_push_back(v, &element, 8, nullptr));
            }
        });
    for (auto &one : all) one.join();
    t.sync();
    std::vector<std::uint64_t> elements(std::size_t(t.size * threads * n));
    REQUIRE_OK(sea_vector_read(v, 0, elements.data(), elements.size() * 8));
    CHECK(in_order_of_each_rank(elements, t.size * threads, n));
    t.sync();
    if (t.rank == owner) CHECK_OK(sea_vector_destroy(v));
}

STEP(70, wrong_use_of_vectors_is_an_error_everywhere)
{
    for (int owner : t.peers()) {
        sea_vector v{SEA_NULL};
        CHECK_STATUS(SEA_ERR_HANDLE, sea_vector_clear(v));
        CHECK_STATUS(SEA_ERR_RANK, sea_vector_create(t.size, 0, &v));
        CHECK_STATUS(SEA_ERR_RANK, sea_vector_create(-1, 0, &v));
        CHECK_STATUS(SEA_ERR_INVALID, sea_vector_create(owner, 0, nullptr));
        CHECK_STATUS(SEA_ERR_MEMORY, sea_vector_create(owner, SIZE_MAX, &v));
        CHECK_STATUS(SEA_ERR_MEMORY, sea_vector_create(owner, std::size_t(1) << 40, &v));
        CHECK_EQ(0, v.at);
        REQUIRE_OK(sea_vector_create(owner, 0, &v));
        CHECK_STATUS(SEA_ERR_INVALID, sea_vector_push_back(v, nullptr, 8, nullptr));
        CHECK_STATUS(SEA_ERR_MEMORY, sea_vector_push_back(v, &v, SIZE_MAX, nullptr));
        CHECK_STATUS(SEA_ERR_MEMORY, sea_vector_push_back_from(v, v.at, SIZE_MAX, nullptr));
        CHECK_STATUS(SEA_ERR_RANK, sea_vector_push_back_from(v, ~sea_addr(0), 8, nullptr));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_vector_push_back_from(v, SEA_NULL, 8, nullptr));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_vector_pop_back(v, nullptr, 1));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_vector_insert(v, 1, "x", 1));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_vector_erase(v, 0, 1));
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_vector_write(v, 0, "x", 1));
        char out;
        CHECK_STATUS(SEA_ERR_ADDRESS, sea_vector_read(v, 0, &out, 1));
        CHECK_STATUS(SEA_ERR_INVALID, sea_vector_size(v, nullptr));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_vector_clear({v.at + 64}));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_vector_clear({v.at ^ 1}));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_vector_clear({v.at ^ (1ull << 38)}));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_deque_clear({v.at}));
        CHECK_OK(sea_vector_push_back(v, nullptr, 0, nullptr));
        CHECK_OK(sea_vector_destroy(v));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_vector_push_back(v, "x", 1, nullptr));
        sea_vector again{SEA_NULL};
        REQUIRE_OK(sea_vector_create(owner, 0, &again));
        CHECK_STATUS(SEA_ERR_HANDLE, sea_vector_push_back(v, "x", 1, nullptr));
        CHECK_OK(sea_vector_destroy(again));
    }
}

// A rank that was stopped while it held the lock: here its word is written by hand (src/data/control.hpp: holder).
STEP(80, lock_that_its_holder_does_not_give_back_ends_calls_in_time_and_holds_up_nobody_else)
{
    for (int owner : t.peers()) {
        sea_vector v{SEA_NULL}, other{SEA_NULL};
        REQUIRE_OK(sea_vector_create(owner, 0, &v));
        REQUIRE_OK(sea_vector_create(owner, 0, &other));
        const sea_addr holder = (v.at & ~sea_addr(63)) + 8;
        const std::uint32_t me = std::uint32_t(t.rank) + 1, nobody = 0;
        REQUIRE_OK(sea_put(holder, &me, sizeof me, nullptr));
        CHECK_OK(sea_fence(owner));
        CHECK_OK(sea_set_timeout(0.1));
        const double began = sea_time();
        CHECK_STATUS(SEA_ERR_TIMEOUT, sea_vector_push_back(v, "x", 1, nullptr));
        CHECK(std::string(sea_last_error()).find("locked") != std::string::npos);
        CHECK(sea_time() - began >= 0.09);
        CHECK_OK(sea_set_timeout(SEA_FOREVER));
        CHECK_OK(sea_vector_push_back(other, "x", 1, nullptr));
        CHECK_OK(sea_fence(owner)); // what was given up may be sent again: it finds the lock held, too
        CHECK_OK(sea_put(holder, &nobody, sizeof nobody, nullptr));
        CHECK_OK(sea_fence(owner));
        std::size_t size = 1;
        CHECK_OK(sea_vector_size(v, &size));
        CHECK_EQ(0, size);
        CHECK_OK(sea_vector_destroy(v));
        CHECK_OK(sea_vector_destroy(other));
    }
}
