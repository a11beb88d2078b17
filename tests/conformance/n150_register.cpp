// SPDX-License-Identifier: Apache-2.0
// Memory of the program's own that it lets others reach.
#include "places.hpp"

#include <atomic>
#include <cerrno>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace proof;

STEP(150, memory_of_every_kind_is_reached_by_everybody)
{
    unsigned char frame[5000 + 2 * guard_bytes];
    for (kind k : all_kinds) {
        place p(k, 5000, frame);
        std::vector<sea_addr> all = t.exchange(p.address());
        std::vector<unsigned char> data(5000);
        int right = (t.rank + 1) % t.size, left = (t.rank + t.size - 1) % t.size;
        fill(data.data(), 5000, std::uint64_t(t.rank));
        CHECK_OK(sea_put(all[std::size_t(right)], data.data(), 5000, nullptr));
        CHECK_OK(sea_fence(right));
        t.sync();
        if (!CHECK_DATA(p.memory(), 5000, std::uint64_t(left))) failed(__FILE__, __LINE__, "kind", "", kind_name(k));
        for (int peer : t.peers()) {
            CHECK_OK(sea_get(data.data(), all[std::size_t(peer)], 5000, nullptr));
            CHECK_DATA(data.data(), 5000, std::uint64_t((peer + t.size - 1) % t.size));
        }
        t.sync();
    }
}

STEP(151, read_only_memory_is_read_only)
{
    place p(kind::malloced, 4096, nullptr, SEA_READ_ONLY);
    fill(p.memory(), 4096, 3);
    std::vector<sea_addr> all = t.exchange(p.address());
    for (int peer : t.peers()) {
        sea_addr a = all[std::size_t(peer)];
        unsigned char data[256];
        std::uint64_t old = 0;
        CHECK_OK(sea_get(data, a, 256, nullptr));
        CHECK_DATA(data, 256, 3);
        for (std::size_t bytes : {1, 8, 256}) {
            CHECK_STATUS(SEA_ERR_ACCESS, outcome([&](sea_opts *o) { return sea_put(a, data, bytes, o); }));
            CHECK_STATUS(SEA_ERR_ACCESS, blocking_outcome(peer, [&] { return sea_put(a, data, bytes, nullptr); }));
        }
        CHECK_STATUS(SEA_ERR_ACCESS, sea_fetch_add8(a, 1, &old, nullptr));
        CHECK_STATUS(SEA_ERR_ACCESS, sea_cas4(a, 1, 2, nullptr, nullptr) == SEA_OK ? sea_fence(peer) : SEA_ERR_ACCESS);
        CHECK_STATUS(SEA_ERR_ACCESS,
                     outcome([&](sea_opts *o) { return sea_copy(a, all[std::size_t(t.rank)], 64, o); }));
    }
    t.sync();
    CHECK_DATA(p.memory(), 4096, 3);
}

STEP(152, pages_without_write_permission_do_no_harm)
{
    void *pages = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    sea_addr a = SEA_NULL;
    REQUIRE_OK(sea_register(pages, 8192, SEA_READ_ONLY, &a));
    std::vector<sea_addr> all = t.exchange(a);
    for (int peer : t.peers()) {
        std::uint64_t words[4] = {1, 2, 3, 4};
        CHECK_OK(sea_get(words, all[std::size_t(peer)] + 4096, 32, nullptr));
        CHECK_EQ(0, words[0] | words[1] | words[2] | words[3]);
    }
    t.sync();
    CHECK_OK(sea_unregister(a));
    munmap(pages, 8192);
}

LIGHT_STEP(153, registration_refuses_what_is_not_there)
{
    sea_addr a = 5;
    char word[8];
    void *hole = mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(hole != MAP_FAILED);
    munmap(static_cast<char *>(hole) + 4096, 4096);
    CHECK_STATUS(SEA_ERR_ACCESS, sea_register(static_cast<char *>(hole) + 4096, 64, 0, &a));
    CHECK_STATUS(SEA_ERR_ACCESS, sea_register(hole, 3 * 4096, 0, &a));
    CHECK_STATUS(SEA_ERR_ACCESS, sea_register(hole, 4097, SEA_READ_ONLY, &a));
    CHECK_STATUS(SEA_ERR_ACCESS, sea_register(reinterpret_cast<void *>(64), 64, 0, &a));
    CHECK_STATUS(SEA_ERR_INVALID, sea_register(nullptr, 8, 0, &a));
    CHECK_STATUS(SEA_ERR_INVALID, sea_register(word, 0, 0, &a));
    CHECK_STATUS(SEA_ERR_INVALID, sea_register(word, 8, 2, &a));
    CHECK_STATUS(SEA_ERR_INVALID, sea_register(word, 8, ~1u, &a));
    CHECK_STATUS(SEA_ERR_INVALID, sea_register(word, 8, 0, nullptr));
    CHECK(sea_register(word, SIZE_MAX, 0, &a) != SEA_OK);
    CHECK(sea_register(word, std::size_t(1) << 41, 0, &a) != SEA_OK);
    CHECK_EQ(5, a);
    munmap(hole, 4096);
    munmap(static_cast<char *>(hole) + 8192, 4096);
}

STEP(154, overlapping_registrations_live_apart)
{
    std::vector<std::uint64_t> words(64, 11);
    sea_addr whole = SEA_NULL, half = SEA_NULL, found = SEA_NULL;
    REQUIRE_OK(sea_register(words.data(), 512, 0, &whole));
    REQUIRE_OK(sea_register(words.data() + 32, 256, 0, &half));
    CHECK(whole != half && half != whole + 256);
    CHECK_OK(sea_global(words.data() + 40, &found));
    CHECK_EQ(half + 64, found);
    CHECK_OK(sea_global(words.data() + 3, &found));
    CHECK_EQ(whole + 24, found);
    CHECK(sea_local(whole + 256) == words.data() + 32);
    CHECK(sea_local(half) == words.data() + 32);
    std::vector<sea_addr> wholes = t.exchange(whole), halves = t.exchange(half);
    int right = (t.rank + 1) % t.size;
    std::uint64_t value = 99, back = 0;
    CHECK_OK(sea_put(halves[std::size_t(right)], &value, 8, nullptr));
    CHECK_OK(sea_fence(right));
    CHECK_OK(sea_get(&back, wholes[std::size_t(right)] + 256, 8, nullptr));
    CHECK_EQ(99, back);
    t.sync();
    CHECK_OK(sea_unregister(half));
    t.sync();
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_get(&back, halves[std::size_t(right)], 8, nullptr));
    CHECK_OK(sea_get(&back, wholes[std::size_t(right)] + 256, 8, nullptr));
    CHECK_EQ(99, back);
    CHECK_OK(sea_global(words.data() + 40, &found));
    CHECK_EQ(whole + 320, found);
    t.sync();
    CHECK_OK(sea_unregister(whole));
}

LIGHT_STEP(155, global_and_local_are_inverse)
{
    place heap(kind::heap, 1000), own(kind::malloced, 1000);
    sea_addr a = 5;
    for (place *p : {&heap, &own}) {
        for (std::size_t i : {0, 1, 63, 64, 999}) {
            CHECK_OK(sea_global(p->memory() + i, &a));
            CHECK_EQ(p->address() + i, a);
            CHECK(sea_local(p->address() + i) == p->memory() + i);
        }
    }
    a = 5;
    int elsewhere = 0;
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_global(&elsewhere, &a));
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_global(own.memory() + 1000, &a));
    CHECK(sea_global(nullptr, &a) != SEA_OK);
    CHECK_STATUS(SEA_ERR_INVALID, sea_global(own.memory(), nullptr));
    CHECK_EQ(5, a);
    CHECK(sea_local(SEA_NULL) == nullptr);
    CHECK(sea_local(own.address() + 1000) == nullptr);
    CHECK(sea_local(~sea_addr(0)) == nullptr);
    std::vector<sea_addr> owns = t.exchange(own.address());
    for (int peer : t.peers())
        if (peer != t.rank) CHECK(sea_local(owns[std::size_t(peer)]) == nullptr);
    t.sync();
}

LIGHT_STEP(156, a_registration_ends_once)
{
    std::uint64_t words[16] = {}, back;
    sea_addr a = SEA_NULL;
    REQUIRE_OK(sea_register(words, sizeof words, 0, &a));
    std::vector<sea_addr> all = t.exchange(a);
    int right = (t.rank + 1) % t.size;
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_unregister(a + 8));
    if (t.size > 1) CHECK_STATUS(SEA_ERR_ADDRESS, sea_unregister(all[std::size_t(right)]));
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_unregister(SEA_NULL));
    t.sync();
    CHECK_OK(sea_unregister(a));
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_unregister(a));
    t.sync();
    CHECK_STATUS(SEA_ERR_ADDRESS, sea_get(&back, all[std::size_t(right)], 8, nullptr));
    CHECK_STATUS(SEA_ERR_ADDRESS,
                 blocking_outcome(right, [&] { return sea_put(all[std::size_t(right)], words, 64, nullptr); }));
    t.sync();
    CHECK_EQ(0, peek8(words));
}

STEP(157, thousands_of_registrations_are_found)
{
    std::size_t n = t.size > 16 ? 100 : 2000;
    std::vector<std::uint64_t> words(n);
    std::vector<sea_addr> addresses(n);
    for (std::size_t i = 0; i < n; ++i) {
        words[i] = i;
        if (sea_register(&words[i], 8, 0, &addresses[i]) != SEA_OK) {
            failed(__FILE__, __LINE__, "sea_register", "2000 registrations", std::to_string(i) + sea_last_error());
            n = i;
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        std::uint64_t back = 0;
        CHECK_OK(sea_get(&back, addresses[i], 8, nullptr));
        CHECK_EQ(i, back);
        sea_addr found = SEA_NULL;
        CHECK_OK(sea_global(&words[i], &found));
        CHECK_EQ(addresses[i], found);
    }
    for (std::size_t i = 0; i < n; ++i) CHECK_OK(sea_unregister(addresses[i]));
    for (int i = 0; i < t.times(5000); ++i) { // used again and again
        sea_addr a = SEA_NULL;
        if (!CHECK_OK(sea_register(words.data(), 64, 0, &a))) break;
        CHECK_OK(sea_unregister(a));
    }
}

STEP(158, a_registration_ends_while_others_read)
{
    for (int round = 0; round < t.times(30); ++round) {
        constexpr std::size_t bytes = 200000;
        place *p = new place(kind::anonymous, bytes); // unmapped right after unregistering
        fill(p->memory(), bytes, std::uint64_t(t.rank));
        std::vector<sea_addr> all = t.exchange(p->address());
        std::vector<unsigned char> in(bytes);
        int right = (t.rank + 1) % t.size;
        if (t.rank % 2 == 0) {
            pause_for(0.0001 * double(round % 10));
            delete p;
        }
        if (right % 2 == 0 && right != t.rank) {
            int status = SEA_OK;
            while (status == SEA_OK) {
                status = sea_get(in.data(), all[std::size_t(right)], bytes, nullptr);
                if (status == SEA_OK && !CHECK_DATA(in.data(), bytes, std::uint64_t(right))) break;
            }
            CHECK_EQ(SEA_ERR_ADDRESS, status);
        }
        t.sync();
        if (t.rank % 2 != 0) delete p;
    }
}

STEP(159, memory_is_found_while_other_registrations_come_and_go)
{
    std::vector<std::uint64_t> kept(512), others(4 * (std::size_t(1) << 20) / 8);
    sea_addr mine = SEA_NULL;
    REQUIRE_OK(sea_register(kept.data(), 8 * kept.size(), 0, &mine));
    std::atomic<bool> stop{false};
    std::thread registers([&] {
        for (std::size_t n = 1; !stop; n = n % 4 + 1) {
            sea_addr a = SEA_NULL, b = SEA_NULL;
            if (!CHECK_OK(sea_register(others.data(), n << 20, 0, &a)) ||
                !CHECK_OK(sea_register(others.data(), 8 * n, 0, &b)))
                return;
            CHECK_EQ(static_cast<void *>(others.data() + n - 1), sea_local(b + 8 * (n - 1)));
            CHECK_OK(sea_unregister(a));
            CHECK_OK(sea_unregister(b));
        }
    });
    for (int i = 0; i < 100 * t.times(30); ++i) {
        const std::size_t at = std::size_t(i) % kept.size();
        if (!CHECK_EQ(static_cast<void *>(&kept[at]), sea_local(mine + 8 * at))) break;
    }
    stop = true;
    registers.join();
    CHECK_OK(sea_unregister(mine));
    CHECK_EQ(static_cast<void *>(nullptr), sea_local(mine));
    t.sync();
}

LIGHT_STEP(160, a_range_is_local_only_if_one_allocation_or_registration_holds_it)
{
    std::vector<unsigned char> own(2000);
    sea_addr heap = SEA_NULL, next = SEA_NULL, registered = SEA_NULL;
    REQUIRE_OK(sea_heap_alloc(t.rank, 640, &heap)); // a multiple of every granule: nothing is behind it
    REQUIRE_OK(sea_heap_alloc(t.rank, 640, &next));
    REQUIRE_OK(sea_register(own.data(), 1000, 0, &registered));
    const std::vector<sea_addr> heaps = t.exchange(heap), owns = t.exchange(registered);
    for (int peer : t.peers()) {
        for (auto [a, n] : {std::pair(heaps[std::size_t(peer)], 640), std::pair(owns[std::size_t(peer)], 1000)}) {
            const std::size_t bytes = std::size_t(n);
            void *const first = sea_local(a);
            CHECK_EQ(first, sea_local_range(a, bytes));
            CHECK_EQ(first, sea_local_range(a, 0));
            CHECK_EQ(sea_local(a + bytes - 1), sea_local_range(a + bytes - 1, 1));
            for (std::size_t from : {std::size_t(0), std::size_t(1), bytes - 1}) {
                CHECK(!sea_local_range(a + from, bytes - from + 1));
                CHECK(!sea_local_range(a + from, ~std::size_t(0)));
            }
        }
        CHECK_EQ(peer == t.rank, sea_local_range(owns[std::size_t(peer)], 1000) != nullptr);
        CHECK_EQ(t.local(peer), sea_local_range(heaps[std::size_t(peer)], 640) != nullptr);
    }
    t.sync();
    for (sea_addr a : {heap, next}) CHECK_OK(sea_heap_free(a));
    CHECK_OK(sea_unregister(registered));
    CHECK(!sea_local_range(heap, 640) && !sea_local_range(heap, 0) && !sea_local_range(registered, 1));
}

// An earlier call of the program may have left any error number behind.
LIGHT_STEP(161, a_hole_is_found_whatever_has_failed_before)
{
    constexpr std::size_t page = 4096;
    auto *memory =
        static_cast<char *>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    CHECK_EQ(0, munmap(memory + page, page));
    for (int error : {0, EPERM, ENOSYS, EFAULT}) {
        sea_addr a = SEA_NULL;
        errno = error;
        const int status = sea_register(memory, 4 * page, 0, &a);
        CHECK_STATUS(SEA_ERR_ACCESS, status);
        if (status == SEA_OK) CHECK_OK(sea_unregister(a));
    }
    CHECK_EQ(0, munmap(memory, page));
    CHECK_EQ(0, munmap(memory + 2 * page, 2 * page));
}
